"""One command, sent and answered: what every writing command of the command line ends in."""

from typing import TYPE_CHECKING, Any

from eunoe.cli.failures import Exit
from eunoe.cli.options import Call, run
from eunoe.cli.showing import outcome_document, outcome_text

if TYPE_CHECKING:
    from eunoe.schemas.outcomes import Outcome


def perform(call: Call, fields: dict[str, Any], timeout: float) -> None:
    """Send the line that ``fields`` make, show its outcome, and exit 1 where it is a refusal."""
    outcome = run(send(call, fields, timeout))
    call.show(outcome_document(outcome), lambda: outcome_text(outcome))
    if outcome.refused:
        raise SystemExit(Exit.REFUSED)


async def send(call: Call, fields: dict[str, Any], timeout: float) -> "Outcome":
    """The outcome of the line. Raises `BadLine` before anything is connected, and what `Memory.perform` raises."""
    from eunoe.client.memory import Memory

    from eunoe.client.lines import line_of

    line = line_of(fields)
    async with Memory.connect(call.settings()) as memory:
        return await memory.perform(line, timeout=timeout)
