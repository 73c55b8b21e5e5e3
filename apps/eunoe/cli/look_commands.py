"""`eunoe why`, `inspect-memory` and `traces`: looking changes nothing, neither ranking nor counters."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.look_showing import (
    inspection_document,
    inspection_table,
    traces_document,
    traces_table,
    why_document,
    why_text,
)
from eunoe.cli.options import Call, common, run, tenant_option
from eunoe.cli.record_reference import RecordId
from eunoe.cli.scope_options import MEMORY_CLASS, Instant, Member, limits_of, scope_options

if TYPE_CHECKING:
    from eunoe.client.traces import Traces
    from eunoe.readmodels.recall.inspecting import Inspection
    from eunoe.readmodels.recall.why import Why

_STATUS = Member("STATUS", "eunoe.readmodels.recall.inspecting", "Status")
_KIND = Member("KIND", "eunoe.schemas.traces", "TraceKind")


@click.command()
@click.argument("memory_id", type=RecordId())
@click.option("--query", required=True, help="What was, or would be, searched for.")
@scope_options
@common
def why(call: Call, memory_id: str, query: str, **given: Any) -> None:
    """Why that search selects MEMORY_ID or does not. Exits 0 when it does, 1 when it does not.

    Of a memory outside the scope the answer is not_found, as of one that is not there.
    """
    found = run(_why(call, memory_id, query, limits_of(given)))
    call.show(why_document(found), lambda: why_text(found))
    raise SystemExit(Exit.SUCCESS if found.selected else Exit.REFUSED)


async def _why(call: Call, memory_id: str, query: str, given: dict[str, Any]) -> "Why":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.why(memory_id, query, **given)


@click.command("inspect-memory")
@tenant_option
@click.option("--class", "classes", type=MEMORY_CLASS, multiple=True, help="Only of this class; repeatable.")
@click.option("--kind", "kinds", multiple=True, help="Only of this kind; repeatable.")
@click.option("--status", "statuses", type=_STATUS, multiple=True, help="active, expired or quarantined; repeatable.")
@click.option("--agent", help="Only what this agent wrote. Required of whoever may neither review nor operate.")
@click.option("--purpose", help="Only what serves this purpose. Required likewise.")
@click.option("--subject", help="Only about this person.")
@click.option("--limit", type=click.IntRange(0, 1_000), default=50, show_default=True)
@click.option("--after", help="A token: wait until that write is in.")
@common
def inspect_memory(call: Call, tenant: str, **given: Any) -> None:
    """What is held, newest first: provenance, revision, trust, confirmation, expiry. Quarantined: reviewers only.

    What has ended otherwise (superseded, retracted, rejected) is in `eunoe history MEMORY_ID`.
    """
    given |= {name: given[name] or None for name in ("classes", "kinds", "statuses")}
    found = run(_inspect(call, tenant, given))
    call.show(inspection_document(found), lambda: inspection_table(found))


async def _inspect(call: Call, tenant: str, given: dict[str, Any]) -> "Inspection":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.inspect(tenant=tenant, **given)


@click.command()
@tenant_option
@click.option("--since", type=Instant(), help="Only reads from then on.")
@click.option("--trace-id", help="Only this one.")
@click.option("--session-id", help="Only reads of this conversation.")
@click.option("--memory", "memory_id", type=RecordId(), help="Only searches that delivered this memory.")
@click.option("--kind", type=_KIND, help="searched or inspected.  [default: both; with --memory: searched]")
@common
def traces(call: Call, tenant: str, **given: Any) -> None:
    """What was delivered to whom, and why; kept for 30 days, without content.

    Everybody sees their own reads; reviewers and operators see all of the tenant. What was asked is shown to whoever
    asked it, and to operators.
    """
    found = run(_traces(call, tenant, given))
    call.show(traces_document(found), lambda: traces_table(found))


async def _traces(call: Call, tenant: str, given: dict[str, Any]) -> "Traces":
    from eunoe.client.memory import Memory
    from eunoe.schemas.traces import TraceKind

    if given["memory_id"] is not None and given["kind"] is None:
        given["kind"] = TraceKind.SEARCHED
    async with Memory.connect(call.settings()) as memory:
        return await memory.traces(tenant, **given)
