"""`eunoe policy reevaluate`: what is stored and would no longer be let in."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, common, run, tenant_option

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.client.reevaluating import Found, Report


@click.command()
@tenant_option
@click.option("--apply", is_flag=True, help="Retract what the policy in force would refuse.")
@click.option(
    "--waiting",
    type=click.Choice(("suspend", "retract")),
    help="With --apply: what becomes of records in use that would wait: sent back to waiting, or retracted.",
)
@common
def reevaluate(call: Call, tenant: str, apply: bool, waiting: str | None) -> None:
    """Judge every stored record of TENANT by the policy in force, and list those that it would not let in as they are.

    Without --apply nothing is written. Each retraction or suspension is a command of whoever calls, needs the right
    `review`, and carries the reason. Begun again after it stopped, it goes on with what is left. Exits 1 while
    anything is left.
    """
    if waiting is not None and not apply:
        raise click.UsageError("--waiting says what --apply does with records that would wait: give both")
    found = run(_reevaluated(call, tenant, apply, waiting))
    call.show(_document(found), lambda: _text(found))
    if found.left:
        raise SystemExit(Exit.REFUSED)


async def _reevaluated(call: Call, tenant: str, apply: bool, waiting: str | None) -> "Report":
    from rich.progress import Progress, TextColumn

    from eunoe.client.memory import Memory
    from eunoe.client.reevaluating import Waiting
    from eunoe.client.reevaluating import reevaluate as judge_again

    how = None if waiting is None else Waiting(waiting)
    column = TextColumn("{task.description} {task.completed}")
    with Progress(column, console=call.aside, disable=not call.aside.is_terminal) as bar:
        task = bar.add_task("records", total=None)
        async with Memory.connect(call.settings()) as memory:
            return await judge_again(memory, tenant, apply=apply, waiting=how, progress=lambda: bar.advance(task))


def _document(found: "Report") -> dict[str, Any]:
    return {
        "policy": {"version": found.policy_version, "hash": found.policy_hash},
        "position": found.position,
        "judged": found.judged,
        "closed": found.closed,
        "erased": found.erased,
        "left": found.left,
        "counts": found.counts(),
        "found": [_one(each) for each in found.found],
    }


def _one(found: "Found") -> dict[str, Any]:
    return {
        "memory_id": found.memory_id,
        "version": found.version,
        "status": found.lifecycle.value,
        "let_in_by": found.judged_under,
        "standing": found.judgement.standing.value,
        "reasons": list(found.judgement.reasons),
        "field": found.judgement.field,
        "outcome": found.outcome,
    }


def _text(found: "Report") -> "RenderableType":
    from rich.console import Group
    from rich.table import Table

    table = Table(title=f"Policy version {found.policy_version} over {found.judged} stored records")
    table.add_column("memory", no_wrap=True, min_width=36)
    for heading in ("status", "would be", "why", "let in by", "done"):
        table.add_column(heading)
    for each in found.found:
        table.add_row(
            f"{each.memory_id}@{each.version}",
            each.lifecycle.value,
            each.judgement.standing.value,
            ", ".join(each.judgement.reasons),
            f"version {each.judged_under}",
            each.outcome or "nothing",
        )
    said = (
        f"{found.left} left as they are. {found.erased} forgotten ones were not opened; of {found.closed} the key is "
        "gone, and only what is in the clear was judged."
    )
    return Group(table if found.found else "All of them would be let in.", said)
