"""`eunoe rollback`: withdraw a record and list every read that was given it."""

from typing import TYPE_CHECKING

import click

from eunoe.cli.failures import Exit
from eunoe.cli.look_showing import traces_document, traces_table
from eunoe.cli.options import Call, common, run, tenant_option, timeout_option
from eunoe.cli.record_reference import Reference
from eunoe.cli.showing import outcome_document, outcome_text

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.client.traces import Traces
    from eunoe.schemas.outcomes import Outcome


@click.command()
@click.argument("reference", metavar="MEMORY_ID@REVISION", type=Reference())
@tenant_option
@timeout_option
@common
def rollback(call: Call, reference: tuple[str, int | None], tenant: str, timeout: float) -> None:
    """Take MEMORY_ID back, which `rollback_ref` names, and list every search that delivered it.

    Its author or a reviewer may; reviewers and operators see all reads of the tenant, others their own. Exits 1 where
    it was refused; the reads are listed all the same. Repeating it after a refusal is safe.
    """
    memory_id, revision = reference
    if revision is None:
        raise click.UsageError(f"say which revision: {memory_id}@REVISION")
    outcome, traces = run(_rolled_back(call, memory_id, revision, tenant, timeout))
    document = {"outcome": outcome_document(outcome), **traces_document(traces)}
    call.show(document, lambda: _text(outcome, traces))
    if outcome.refused:
        raise SystemExit(Exit.REFUSED)


async def _rolled_back(
    call: Call, memory_id: str, revision: int, tenant: str, timeout: float
) -> "tuple[Outcome, Traces]":
    from eunoe.client.memory import Memory
    from eunoe.schemas.traces import TraceKind

    async with Memory.connect(call.settings()) as memory:
        outcome = await memory.retract(memory_id, tenant=tenant, expected_version=revision, timeout=timeout)
        # After it is out: who read it meanwhile is in the list as well.
        return outcome, await memory.traces(tenant, memory_id=memory_id, kind=TraceKind.SEARCHED)


def _text(outcome: "Outcome", traces: "Traces") -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    table = traces_table(traces)
    used = table if traces.traces else "No read that you may see was given it."
    return Group(Text(outcome_text(outcome)), used)
