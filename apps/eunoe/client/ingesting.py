"""Many lines at once, in order: keys are fetched ahead, records are sent one after the other, outcomes gathered last.

A line that cannot be sent fails by itself; the others go on. Only what keeps every line from being sent is raised.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from eunoe.client.line_problems import BadLine
from eunoe.client.lines import Line, idempotency_of, parse_line
from eunoe.client.memory import Memory
from eunoe.crypto.errors import CryptoCallerError
from eunoe.producers.client import Sent
from eunoe.producers.errors import CallerError, KeyRefused, NotSent
from eunoe.producers.proposal import Placed
from eunoe.readmodels.errors import NoOutcome
from eunoe.schemas.outcomes import Outcome, OutcomeStatus

AHEAD: Final = 2_000
"""Lines whose keys are asked for before their turn. A key takes tens of milliseconds; this many lines hide it."""
IN_FLIGHT: Final = 20_000
"""Commands sent whose outcomes are not known yet: bounds memory, and tells a stopped decider from a slow one."""

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class LineProblem:
    """``problem`` repeats nothing of the line. ``line`` counts from 1."""

    line: int
    problem: str


@dataclass(slots=True)
class Report:
    """What became of a file. ``failed``: lines that were not sent, or have no outcome; ``refused``: by the decider."""

    published: int = 0
    accepted: int = 0
    quarantined: int = 0
    duplicate: int = 0
    observed: int = 0
    done: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    failed: list[LineProblem] = field(default_factory=list)
    refused: list[LineProblem] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not self.failed and not self.refused

    def count(self, number: int, outcome: Outcome) -> None:
        match outcome.status:
            case OutcomeStatus.ACCEPTED:
                self.accepted += 1
            case OutcomeStatus.QUARANTINED:
                self.quarantined += 1
            case OutcomeStatus.DUPLICATE:
                self.duplicate += 1
            case OutcomeStatus.OBSERVED:
                self.observed += 1
            case OutcomeStatus.DONE:
                self.done += 1
            case OutcomeStatus.REJECTED:
                reason = outcome.reason or "unknown"
                self.rejected[reason] += 1
                where = f" ({outcome.field})" if outcome.field else ""
                self.refused.append(LineProblem(number, f"rejected: {reason}{where}"))

    def fail(self, number: int, problem: str) -> None:
        self.failed.append(LineProblem(number, problem))


@dataclass(frozen=True, slots=True)
class _Next:
    """A line whose keys are on their way."""

    number: int
    line: Line
    key: str
    ready: Placed | None
    keys: "asyncio.Task[None] | None"


async def ingest(
    memory: Memory,
    lines: Iterable[bytes],
    *,
    wait: bool = True,
    timeout: float = 60.0,
    progress: Progress = lambda _: None,
) -> Report:
    """Send every line in order; with ``wait`` also gather the outcomes, each within ``timeout`` seconds of being sent.

    Empty lines are passed over. ``progress`` is told of each line that is finished. Raises `NoKeyYet` and other errors
    of the world that are not one line's; lines that had been sent are then still decided.
    """
    report = Report()
    room = asyncio.Semaphore(IN_FLIGHT)
    waiting: set[asyncio.Task[None]] = set()

    async def finish(number: int, sent: Sent) -> None:
        try:
            if wait:
                report.count(number, await sent.outcome(timeout))
            else:
                await sent.written()
        except NotSent as error:
            report.fail(number, str(error))
        except NoOutcome:
            report.fail(number, f"no_outcome within {timeout:g} s")
        finally:
            progress(1)
            room.release()

    try:
        async for each in _ahead(memory, lines, report, progress):
            sent = await _sent(memory, each, report, progress)
            if sent is None:
                continue
            report.published += 1
            await room.acquire()
            task = asyncio.create_task(finish(each.number, sent))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        while waiting:
            await asyncio.wait(waiting)
    finally:
        for task in waiting:
            task.cancel()
    report.failed.sort(key=lambda problem: problem.line)
    report.refused.sort(key=lambda problem: problem.line)
    return report


async def _ahead(memory: Memory, lines: Iterable[bytes], report: Report, progress: Progress) -> AsyncIterator[_Next]:
    """The lines in order, each with its keys being fetched for `AHEAD` lines before its turn."""
    queue: list[_Next] = []
    first = 0
    try:
        for number, text in enumerate(lines, start=1):
            each = _read(memory, number, text, report, progress)
            if each is None:
                continue
            queue.append(each)
            if len(queue) - first > AHEAD:
                yield queue[first]
                first += 1
            if first > AHEAD:
                del queue[:first]
                first = 0
            if number % 200 == 0:
                await asyncio.sleep(0)  # reading a file must not keep the loop from sending
        for each in queue[first:]:
            yield each
            first += 1
    finally:
        unused = [each.keys for each in queue[first:] if each.keys is not None]
        for task in unused:
            task.cancel()
        await asyncio.gather(*unused, return_exceptions=True)


def _read(memory: Memory, number: int, text: bytes, report: Report, progress: Progress) -> _Next | None:
    if not text.strip():
        return None
    try:
        line = parse_line(text)
        ready = memory.place(line)
    except (BadLine, CallerError) as bad:
        report.fail(number, str(bad))
        progress(1)
        return None
    keys = None if ready is None or memory.has_keys(ready) else asyncio.ensure_future(memory.prefetch(ready))
    return _Next(number, line, idempotency_of(line, text), ready, keys)


async def _sent(memory: Memory, each: _Next, report: Report, progress: Progress) -> Sent | None:
    try:
        if each.keys is not None:
            await each.keys
        return await memory.send(each.line, idempotency_key=each.key, ready=each.ready)
    except KeyRefused as refused:
        report.count(each.number, refused.outcome)
    except (CallerError, CryptoCallerError) as error:
        report.fail(each.number, str(error))
    progress(1)
    return None
