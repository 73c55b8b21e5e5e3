"""`eunoe decisions`: what became of each candidate for memory, for a trace or an export of a session."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.options import Call, common, run, tenant_option
from eunoe.cli.record_reference import RecordId
from eunoe.cli.scope_options import Instant
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from rich.table import Table

    from eunoe.client.write_decisions import Decided


@click.command()
@tenant_option
@click.option("--since", type=Instant(), help="Only what was decided since then.")
@click.option("--session-id", help="Only of what was asked for in this conversation.")
@click.option("--memory", "memory_id", type=RecordId(), help="Only about this memory.")
@common
def decisions(call: Call, tenant: str, **given: Any) -> None:
    """Each write decision: allowed, kept in quarantine or rejected, and why; without content, from the log.

    Everybody sees what they asked for and wrote; reviewers and operators see all of the tenant.
    """
    found = run(_decisions(call, tenant, given))
    call.show(
        {"decisions": [decision_document(each) for each in found]},
        lambda: decisions_table(found) if found else "No decisions.",
    )


async def _decisions(call: Call, tenant: str, given: dict[str, Any]) -> "tuple[Decided, ...]":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.decisions(tenant, **given)


def decision_document(found: "Decided") -> dict[str, Any]:
    source = None if found.source_kind is None else found.source_kind.value
    return {
        "position": found.position,
        "at": instant(found.at),
        "principal": found.principal,
        "command_id": found.command_id,
        "memory_write_decision": found.decision.value,
        "memory_persisted": found.persisted,
        "memory_id": found.memory_id,
        "memory_class": None if found.memory_class is None else found.memory_class.value,
        "provenance": {"agent": found.agent, "source_kind": source},
        "revision": found.revision,
        "reasons": list(found.reasons),
        "session": None if found.session is None else found.session.hex(),
        "policy_version": found.policy_version,
    }


def decisions_table(found: "tuple[Decided, ...]") -> "Table":
    from rich.table import Table

    table = Table("when, decision", "why", "by")
    table.add_column("memory", no_wrap=True, min_width=36)
    for each in found:
        memory = each.memory_id or ""
        named = memory if each.revision is None else f"{memory}@{each.revision}"
        when = f"{instant(each.at)}\n{each.decision.value}"
        table.add_row(when, "\n".join(each.reasons), each.principal, named)
    return table
