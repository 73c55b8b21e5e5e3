"""`eunoe search`, `outcome` and `history`."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run, tenant_option
from eunoe.cli.performing import NO_OUTCOME
from eunoe.cli.showing import (
    history_document,
    history_table,
    instant,
    outcome_document,
    outcome_text,
    search_document,
    search_table,
)

if TYPE_CHECKING:
    from eunoe.client.dead_letters import Letter
    from eunoe.readmodels.history_reader import History
    from eunoe.readmodels.recall.result import SearchResult
    from eunoe.schemas.ids import Millis
    from eunoe.schemas.outcomes import Outcome


class _Instant(click.ParamType):
    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from eunoe.client.lines import millis

        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail("must be RFC 3339, such as 2026-11-30T09:00:00Z", param, ctx)
        if at.tzinfo is None:
            self.fail("has no offset: nobody knows when that is; end it with Z or +01:00", param, ctx)
        return millis(at)


@click.command()
@click.argument("query")
@tenant_option
@click.option("--agent", required=True, help="Who asks.")
@click.option("--purpose", required=True, help="What for.")
@click.option("--subject", help="Only about this person.")
@click.option("--surface", help="Where the answer will be shown.")
@click.option("--limit", type=click.IntRange(0, 100), default=10, show_default=True)
@click.option("--budget", type=click.IntRange(0), help="Tokens; what does not fit is skipped.")
@click.option("--as-of", type=_Instant(), help="Judge expiry and validity at that time.")
@click.option("--after", help="A token: wait until that write is in.")
@click.option("--timeout", type=Seconds(), default=5.0, show_default=True, help="How long to wait for --after.")
@common
def search(call: Call, query: str, **given: Any) -> None:
    """What this agent may use now for this purpose, ranked. Exits 0 when nothing is found."""
    result = run(_search(call, query, given))
    call.show(search_document(result), lambda: search_table(result))


async def _search(call: Call, query: str, given: dict[str, Any]) -> "SearchResult":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.search(query, **given)


@click.command()
@click.argument("command_id")
@tenant_option
@common
def outcome(call: Call, command_id: str, tenant: str) -> None:
    """What became of COMMAND_ID. Without an outcome, dead letters that claim this id are named."""
    found, letters = run(_outcome(call, tenant, command_id))
    if found is not None:
        call.show(outcome_document(found), lambda: outcome_text(found))
        raise SystemExit(Exit.REFUSED if found.refused else Exit.SUCCESS)
    document = {
        "command_id": command_id,
        "status": NO_OUTCOME,
        "dead_letters": [{"reason": each.reason, "origin": each.origin} for each in letters],
    }
    call.show(document, lambda: _no_outcome(command_id, letters))
    raise SystemExit(Exit.REFUSED)


async def _outcome(call: Call, tenant: str, command_id: str) -> "tuple[Outcome | None, tuple[Letter, ...]]":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        found = await memory.outcome(tenant, command_id)
        return (found, ()) if found is not None else (None, await memory.dead_letters(command_id))


def _no_outcome(command_id: str, letters: "tuple[Letter, ...]") -> str:
    said = f"No outcome of {command_id}: not decided yet, never received, or too long ago."
    for each in letters:
        said += f"\nA record that claims this id lies in the dead letters: {each.reason} (was {each.origin})"
    return said


@click.command()
@click.argument("memory_id")
@tenant_option
@click.option("--as-of", type=_Instant(), help="As it was known then.")
@common
def history(call: Call, memory_id: str, tenant: str, as_of: "Millis | None") -> None:
    """How MEMORY_ID came to be what it is. Exits 1 where nothing is known of it."""
    found = run(_history(call, tenant, memory_id, as_of))
    call.show(history_document(found) | {"as_of": instant(as_of)}, lambda: history_table(found))
    raise SystemExit(Exit.SUCCESS if found.entries else Exit.REFUSED)


async def _history(call: Call, tenant: str, memory_id: str, as_of: "Millis | None") -> "History":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.history(tenant, memory_id, as_of)
