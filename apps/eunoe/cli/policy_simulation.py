"""`eunoe policy simulate`: what a policy would have decided, without deciding anything."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from eunoe.cli.options import Call, common, run
from eunoe.cli.read_commands import InstantType
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.schemas.ids import Millis
    from eunoe.schemas.policy import Policy
    from eunoe.worker.simulated_report import Change, Decision, Simulation

_SHOWN: Final = 50
"""Changes in the table for people; JSON has all of them."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--since", type=InstantType(), help="Judge what was appended since then.  [default: all that is kept]")
@click.option("--tenant", help="Only this tenant's commands.")
@common
def simulate(call: Call, file: Path, since: "Millis | None", tenant: str | None) -> None:
    """What FILE would have decided over the logged commands: counts, and each decision that would differ.

    It writes nothing. What was forgotten since is not opened, and counted apart. Needs the right to operate on every
    tenant, or with --tenant to operate on that one or review it, under the policy in force; the read models `keys` and
    `subjects` up to date; and what `eunoe worker` needs to open records.
    """
    from eunoe.schemas.policy_file import read_policy

    policy = read_policy(file.read_bytes(), str(file))
    found = run(_simulate(call, policy, since, tenant))
    for each in found.missing:
        call.aside.print(f"a secret is missing, so what it signs counts as dead letter: {each}", markup=False)
    if tenant is not None and not found.judged + found.forgotten + found.unreadable:
        call.aside.print(f"no command of tenant {tenant} was found: is that its name?", markup=False)
    call.show(_document(policy, found), lambda: _tables(found))


async def _simulate(call: Call, policy: "Policy", since: "Millis | None", tenant: str | None) -> "Simulation":
    from rich.progress import Progress, TextColumn

    from eunoe.client.simulating import may_simulate
    from eunoe.schemas.ids import TenantId
    from eunoe.worker.simulation import opened_simulator

    column = TextColumn("{task.description} {task.completed}")
    with Progress(column, console=call.aside, disable=not call.aside.is_terminal) as bar:
        task = bar.add_task("commands", total=None)
        of = None if tenant is None else TenantId(tenant)
        async with opened_simulator(call.settings(), policy, may_simulate, of) as simulator:
            return await simulator.run(since, lambda steps: bar.advance(task, steps))


def _document(policy: "Policy", found: "Simulation") -> dict[str, Any]:
    return {
        "policy": {"version": policy.version, "title": policy.title, "hash": policy.hash},
        "judged": found.judged,
        "skipped": {"forgotten": found.forgotten, "unreadable": found.unreadable},
        "then": dict(sorted(found.then.items())),
        "now": dict(sorted(found.now.items())),
        "reasons": {"then": _by_outcome(found.reasons_then), "now": _by_outcome(found.reasons_now)},
        "changes": [_change(each) for each in found.changes],
        "missing_secrets": list(found.missing),
    }


def _by_outcome(reasons: "Counter[tuple[str, str]]") -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (outcome, reason), count in sorted(reasons.items()):
        found.setdefault(outcome, {})[reason] = count
    return found


def _change(change: "Change") -> dict[str, Any]:
    return {
        "tenant": change.tenant,
        "memory_id": change.memory_id,
        "command": change.command,
        "command_id": change.command_id,
        "at": instant(change.at),
        "then": _decision(change.then),
        "now": _decision(change.now),
    }


def _decision(decision: "Decision") -> dict[str, Any]:
    """Only what it says."""
    values = {name: getattr(decision, name) for name in decision.__dataclass_fields__}
    return {name: value for name, value in values.items() if value not in (None, ())}


def _tables(found: "Simulation") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    counts = Table("decision", "then", "now", title=f"{found.judged} commands")
    for outcome in sorted({*found.then, *found.now}):
        counts.add_row(outcome, str(found.then[outcome]), str(found.now[outcome]))
        for reason in sorted({code for of, code in (*found.reasons_then, *found.reasons_now) if of == outcome}):
            pair = (outcome, reason)
            counts.add_row(f"  {reason}", str(found.reasons_then[pair]), str(found.reasons_now[pair]))
    changes = Table(title="Decided otherwise")
    changes.add_column("memory", no_wrap=True, min_width=36)  # an id that is cut off cannot be asked about
    for heading in ("command", "decided then", "under this policy"):
        changes.add_column(heading)
    for each in found.changes[:_SHOWN]:
        memory = f"{each.tenant}\n{each.memory_id or ''}"
        changes.add_row(memory, each.command, _said(each.then, each.now), _said(each.now, each.then))
    said = (
        f"Not judged: {found.forgotten} forgotten since, {found.unreadable} whose keys are gone. Nothing was written."
    )
    if len(found.changes) > _SHOWN:
        said = f"{len(found.changes) - _SHOWN} more changes: see --json. {said}"
    return Group(counts, changes if found.changes else "No decision would be another.", said)


def _said(decision: "Decision", other: "Decision") -> str:
    """The outcome with its reasons, and what else differs from the other."""
    said = [decision.outcome, *decision.reasons]
    if decision.field is not None:
        said.append(f"({decision.field})")
    for name in ("trust", "confirmation", "supersedes", "conflicts"):
        value = getattr(decision, name)
        if value not in (None, ()) and value != getattr(other, name):
            said.append(f"{name} {', '.join(value) if isinstance(value, tuple) else value}")
    return "\n".join(said)
