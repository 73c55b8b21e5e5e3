"""One command, sent and answered: what every writing command of the command line ends in."""

from typing import TYPE_CHECKING, Any, Final, TypeVar

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, run
from eunoe.cli.showing import outcome_document, outcome_text

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from eunoe.schemas.outcomes import Outcome

T = TypeVar("T")
NO_OUTCOME: Final = "no_outcome"


def perform(call: Call, fields: dict[str, Any], timeout: float) -> None:
    """Send the line that ``fields`` make, show its outcome, and exit 1 where it is a refusal."""
    outcome = answered(call, fields, timeout)
    call.show(outcome_document(outcome), lambda: outcome_text(outcome))
    if outcome.refused:
        raise SystemExit(Exit.REFUSED)


def answered(call: Call, fields: dict[str, Any], timeout: float) -> "Outcome":
    """The outcome of the line; as `outcome_or_end`."""
    return outcome_or_end(call, fields["tenant"], send(call, fields, timeout))


def outcome_or_end(call: Call, tenant: str, sending: "Coroutine[Any, Any, T]") -> T:
    """What came of what is sent. Without an outcome in time that is what is shown, and the call ends with 1."""
    from eunoe.readmodels.errors import NoOutcome

    try:
        return run(sending)
    except NoOutcome as none:
        ask = f"it may still be decided; ask with `eunoe outcome {none.command_id} --tenant {tenant}`"
        said = f"{none}; {ask}"
        call.show({"command_id": none.command_id, "status": NO_OUTCOME, "message": said}, lambda: said)
        raise SystemExit(Exit.REFUSED) from None


async def send(call: Call, fields: dict[str, Any], timeout: float) -> "Outcome":
    """The outcome of the line. Raises `BadLine` before anything is connected, and what `Memory.perform` raises."""
    from eunoe.client.lines import line_of
    from eunoe.client.memory import Memory

    line = line_of(fields)
    async with Memory.connect(call.settings()) as memory:
        return await memory.perform(line, timeout=timeout)
