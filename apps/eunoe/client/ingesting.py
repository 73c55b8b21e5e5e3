"""Many lines at once, in order: keys are fetched ahead, records are sent one after the other, outcomes gathered last.

A line that fails, whatever the reason, fails by itself and is in the report; the others go on. Where Kafka has stopped
answering, nothing more is sent, and the report says of each line whether Kafka has it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from eunoe.client.lines import Line, idempotency_of, parse_line
from eunoe.client.memory import Memory
from eunoe.producers.checks import seconds
from eunoe.producers.client import Sent
from eunoe.producers.errors import KeyRefused
from eunoe.producers.pace import TooFast
from eunoe.producers.proposal import Placed
from eunoe.readmodels.errors import NoOutcome
from eunoe.runtime.errors import BrokerAway
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
    """What became of a file. ``published``: lines that Kafka has confirmed. ``failed``: lines that it has not, or that
    have no outcome; ``refused``: by the decider."""

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

    Empty lines are passed over. ``progress`` is told of each line that is finished. Raises `CallerError` for
    ``timeout`` alone: whatever becomes of a line is in the report.
    """
    return await _Ingestion(memory, wait, seconds("timeout", timeout), progress).run(lines)


@dataclass(slots=True)
class _Ingestion:
    """One file on its way. ``away``: why nothing more is sent."""

    memory: Memory
    wait: bool
    timeout: float
    progress: Progress
    report: Report = field(default_factory=Report)
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(IN_FLIGHT))
    waiting: set[asyncio.Task[None]] = field(default_factory=set)
    away: str | None = None

    async def run(self, lines: Iterable[bytes]) -> Report:
        try:
            async for each in self._ahead(lines):
                sent = await self._sent(each)
                if sent is None:
                    self.progress(1)
                    continue
                await self.room.acquire()
                task = asyncio.create_task(self._finish(each.number, sent))
                self.waiting.add(task)
                task.add_done_callback(self.waiting.discard)
            while self.waiting:
                await asyncio.wait(self.waiting)
        finally:
            for task in self.waiting:
                task.cancel()
        for problems in (self.report.failed, self.report.refused):
            problems.sort(key=lambda problem: problem.line)
        return self.report

    async def _ahead(self, lines: Iterable[bytes]) -> AsyncIterator[_Next]:
        """The lines in order, each with its keys being fetched for `AHEAD` lines before its turn."""
        queue: deque[_Next] = deque()
        try:
            for number, text in enumerate(lines, start=1):
                each = self._read(number, text) if text.strip() else None
                if each is not None:
                    queue.append(each)
                if len(queue) > AHEAD:
                    yield queue.popleft()
                if number % 200 == 0:
                    await asyncio.sleep(0)  # reading a file must not keep the loop from sending
            while queue:
                yield queue.popleft()
        finally:
            unused = [each.keys for each in queue if each.keys is not None]
            for task in unused:
                task.cancel()
            await asyncio.gather(*unused, return_exceptions=True)

    def _read(self, number: int, text: bytes) -> _Next | None:
        try:
            line = parse_line(text)
            ready = self.memory.place(line)
        except Exception as error:  # noqa: BLE001 - one line of many: it is reported, and the rest goes on
            self._fail(number, error)
            self.progress(1)
            return None
        asks = ready is not None and self.away is None and not self.memory.has_keys(ready)
        keys = asyncio.ensure_future(self.memory.prefetch(ready)) if ready is not None and asks else None
        return _Next(number, line, idempotency_of(line, text), ready, keys)

    async def _sent(self, each: _Next) -> Sent | None:
        """The line on its way; None where that failed."""
        if self.away is not None:
            if each.keys is not None:
                each.keys.cancel()
            self.report.fail(each.number, self.away)
            return None
        try:
            if each.keys is not None:
                await each.keys
            return await self._at_its_pace(each)
        except KeyRefused as refused:
            self.report.count(each.number, refused.outcome)
        except Exception as error:  # noqa: BLE001 - as in `_read`
            self._fail(each.number, error)
        return None

    async def _at_its_pace(self, each: _Next) -> Sent:
        """Where the policy limits what is written in a minute, an import takes as many minutes as it needs."""
        while True:
            try:
                return await self.memory.send(each.line, idempotency_key=each.key, ready=each.ready)
            except TooFast as full:
                await asyncio.sleep(full.retry_after / 1_000)

    async def _finish(self, number: int, sent: Sent) -> None:
        try:
            await sent.written()
            self.report.published += 1
            if self.wait:
                self.report.count(number, await sent.outcome(self.timeout))
        except NoOutcome:
            self.report.fail(number, f"no_outcome within {self.timeout:g} s")
        except Exception as error:  # noqa: BLE001 - as in `_read`
            self._fail(number, error)
        finally:
            self.progress(1)
            self.room.release()

    def _fail(self, number: int, error: Exception) -> None:
        """A library's text may hold what it was given, so its errors are named by type alone."""
        ours = type(error).__module__.startswith("eunoe.")
        self.report.fail(number, str(error) if ours else f"failed unexpectedly ({type(error).__name__})")
        if isinstance(error, BrokerAway) and error.after_seconds != 0 and self.away is None:
            # Each further line would wait as long as this one did.
            self.away = f"not sent: Kafka had stopped answering at line {number}"
