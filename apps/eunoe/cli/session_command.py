"""`eunoe session`: what one conversation asked memory for and what it was given, as one document."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.decisions_command import decision_document, decisions_table
from eunoe.cli.look_showing import traces_document, traces_table
from eunoe.cli.options import Call, common, run, tenant_option
from eunoe.cli.scope_options import Instant

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eunoe.client.traces import Traces
    from eunoe.client.write_decisions import Decided


@click.command()
@click.argument("session_id")
@tenant_option
@click.option("--since", type=Instant(), help="Only from then on.")
@common
def session(call: Call, session_id: str, tenant: str, **given: Any) -> None:
    """What was decided about memory in the conversation SESSION_ID, and what its reads delivered; without content.

    The decisions are kept for ever, the reads for 30 days. Everybody sees their own; reviewers and operators see all
    of the tenant.
    """
    decisions, reads = run(_session(call, session_id, tenant, given))
    document = {
        "tenant": tenant,
        "session_id": session_id,
        "decisions": [decision_document(each) for each in decisions],
        **traces_document(reads),
    }
    call.show(document, lambda: _text(decisions, reads))


async def _session(
    call: Call, session_id: str, tenant: str, given: dict[str, Any]
) -> "tuple[tuple[Decided, ...], Traces]":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        decisions = await memory.decisions(tenant, session_id=session_id, **given)
        return decisions, await memory.traces(tenant, session_id=session_id, **given)


def _text(decisions: "tuple[Decided, ...]", reads: "Traces") -> "RenderableType":
    from rich.console import Group

    return Group(decisions_table(decisions) if decisions else "No decisions.", traces_table(reads))
