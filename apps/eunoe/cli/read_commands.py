"""`eunoe search`, `outcome` and `history`."""

from typing import TYPE_CHECKING, Any

import click

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, Seconds, common, run, tenant_option
from eunoe.cli.performing import NO_OUTCOME
from eunoe.cli.record_reference import RecordId
from eunoe.cli.scope_options import Instant, limits_of, scope_options
from eunoe.cli.showing import (
    history_document,
    history_table,
    no_memory_document,
    no_memory_text,
    outcome_document,
    outcome_text,
    search_document,
    search_table,
)
from eunoe.cli.terminal import visible
from eunoe.schemas.instants import instant

if TYPE_CHECKING:
    from eunoe.client.dead_letters import Letter
    from eunoe.client.no_memory import NoMemory
    from eunoe.readmodels.history_reader import History
    from eunoe.readmodels.recall.result import SearchResult
    from eunoe.schemas.outcomes import Outcome

InstantType = Instant


@click.command()
@click.argument("query")
@scope_options
@click.option("--trace-id", help="A name for the trace of this read.  [default: a fresh id]")
@click.option("--session-id", help="A name for the conversation it is part of.")
@click.option("--generation", type=click.IntRange(1), help="Of `recall`, such as one as of then (`eunoe rebuild`).")
@click.option("--timeout", type=Seconds(), default=5.0, show_default=True, help="How long to wait for --after.")
@common
def search(call: Call, query: str, **given: Any) -> None:
    """What this agent may use now for this purpose, ranked. Exits 0 when nothing is found.

    Where memory is switched off it says so, with what the policy says to do without it, and exits 1; where it is away,
    it exits 3.
    """
    from eunoe.client.no_memory import NoMemory

    result = run(_search(call, query, limits_of(given)))
    if isinstance(result, NoMemory):
        call.show(no_memory_document(result), lambda: no_memory_text(result))
        raise SystemExit(Exit.UNREACHABLE if result.retryable else Exit.REFUSED)
    call.show(search_document(result), lambda: search_table(result))


async def _search(call: Call, query: str, given: dict[str, Any]) -> "SearchResult | NoMemory":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.try_search(query, **given)


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
        of = f"{visible(each.reason)} (was {visible(each.origin)})"
        said += f"\nA record that claims this id lies in the dead letters: {of}"
    return said


@click.command()
@click.argument("memory_id", type=RecordId())
@tenant_option
@click.option("--agent", help="Who asks; not needed by whoever may review or operate.")
@click.option("--purpose", help="What for; not needed by whoever may review or operate.")
@click.option("--as-of", type=Instant(), help="As it was known then.")
@common
def history(call: Call, memory_id: str, **given: Any) -> None:
    """How MEMORY_ID came to be what it is. Exits 1 where nothing is known of it.

    Nothing is known to whoever could not read it in this scope, and may neither review nor operate.
    """
    found = run(_history(call, memory_id, given))
    call.show(history_document(found) | {"as_of": instant(given["as_of"])}, lambda: history_table(found))
    raise SystemExit(Exit.SUCCESS if found.entries else Exit.REFUSED)


async def _history(call: Call, memory_id: str, given: dict[str, Any]) -> "History":
    from eunoe.client.memory import Memory

    async with Memory.connect(call.settings()) as memory:
        return await memory.history(memory_id=memory_id, **given)
