"""One gatherer for all viewers: every part is looked at by a task of its own, within a deadline, for as long as the
console runs. What does not answer costs its own part of the page, and nothing else.

A look that takes too long is cancelled and left behind (aiokafka swallows a cancellation now and then, and a client may
take its time to close); its part begins anew. So few may be left behind that memory stays bounded.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Protocol

from eunoe.console.board import Board, PartName
from eunoe.console.problems import Unanswered, problem_of
from eunoe.console.snapshot import Service
from eunoe.runtime.lane import heed_cancellation

log = logging.getLogger(__name__)

OPEN_S: Final = 10.0
_PUBLISH_S: Final = 1.0
_PAUSES_S: Final = (0.5, 1.0, 2.0, 3.0)
_PATIENCE_S: Final = 3.0
_CHECK_S: Final = 0.5
_LEAVE_S: Final = 1.5
_LEFT_BEHIND: Final = 3
_STOP_S: Final = 1.0
_STOP_TRIES: Final = 4
"""A cancellation that was swallowed is repeated: at its end the process waits for every task."""


class Source(Protocol):
    """Looks at one part. ``every``: seconds between looks; ``deadline``: seconds that one may take."""

    @property
    def name(self) -> PartName: ...
    @property
    def asks(self) -> tuple[Service, ...]: ...
    @property
    def every(self) -> float: ...
    @property
    def deadline(self) -> float: ...
    def open(self) -> AbstractAsyncContextManager[Callable[[], Awaitable[Any]]]:
        """Connects; what it gives is called for each look. May raise anything."""
        ...


class _Attempt:
    """One life of a source, from its opening to its end."""

    def __init__(self) -> None:
        self._began = 0.0
        self._deadline: float | None = None
        self.answered = False
        self.error: Exception | None = None

    def must_end_within(self, seconds: float | None) -> None:
        """None: nothing is due."""
        self._began = asyncio.get_running_loop().time()
        self._deadline = None if seconds is None else self._began + seconds

    def overdue(self, hopeless: bool) -> bool:
        """``hopeless``: whom it asks is known to be silent, so it is given no more than the usual."""
        if self._deadline is None:
            return False
        now = asyncio.get_running_loop().time()
        return now >= self._deadline or (hopeless and now - self._began >= _PATIENCE_S)


class Gatherer:
    def __init__(self, board: Board, sources: Sequence[Source]) -> None:
        self._board = board
        self._sources = tuple(sources)
        self._left_behind: dict[str, set[asyncio.Task[None]]] = {each.name: set() for each in sources}

    async def run(self) -> None:
        """Until cancelled."""
        keepers = [asyncio.create_task(self._keep(each), name=f"console-{each.name}") for each in self._sources]
        try:
            while True:
                await asyncio.sleep(_PUBLISH_S)
                await self._board.publish()
        finally:
            for _ in range(_STOP_TRIES):
                abandoned = [each for tasks in self._left_behind.values() for each in tasks]
                ending = [each for each in (*keepers, *abandoned) if not each.done()]
                for task in ending:
                    task.cancel()
                if ending:
                    await asyncio.wait(ending, timeout=_STOP_S)

    async def _keep(self, source: Source) -> None:
        failures = 0
        while True:
            attempt = _Attempt()
            error = await self._try(source, attempt)
            failures = 1 if attempt.answered else failures + 1
            since = self._board.answered_at(source.name)
            self._board.failed(source.name, problem_of(error, source.asks, self._silent, since))
            log.debug("%s: %s", source.name, type(error).__name__)
            await asyncio.sleep(_PAUSES_S[min(failures, len(_PAUSES_S)) - 1])
            if len(behind := self._left_behind[source.name]) >= _LEFT_BEHIND:
                await asyncio.wait(behind, return_when=asyncio.FIRST_COMPLETED)

    @property
    def _silent(self) -> list[Service]:
        return [service for service, part in _PROBES if self._board.part(part).problem is not None]

    async def _try(self, source: Source, attempt: _Attempt) -> Exception:
        """Looks until something goes wrong; what it was."""
        attempt.must_end_within(OPEN_S)
        task = asyncio.create_task(self._look(source, attempt), name=f"console-look-{source.name}")
        try:
            while not task.done() and not attempt.overdue(hopeless=bool({*source.asks} & {*self._silent})):
                await asyncio.wait({task}, timeout=_CHECK_S)
            # What went wrong first, even where closing then takes for ever.
            return attempt.error or Unanswered()
        finally:
            await self._leave(source, task)

    async def _leave(self, source: Source, task: asyncio.Task[None]) -> None:
        if task.done():
            return
        kept = self._left_behind[source.name]
        kept.add(task)
        task.add_done_callback(kept.discard)
        task.cancel()
        await asyncio.wait({task}, timeout=_LEAVE_S)

    async def _look(self, source: Source, attempt: _Attempt) -> None:
        try:
            async with source.open() as look:
                try:
                    await self._again_and_again(source, attempt, look)
                except Exception as error:
                    attempt.error = error
                    raise
        except Exception as error:  # noqa: BLE001 - an edge: whatever a part does, the page goes on and says so
            attempt.error = attempt.error or error

    async def _again_and_again(self, source: Source, attempt: _Attempt, look: Callable[[], Awaitable[Any]]) -> None:
        while True:
            attempt.must_end_within(source.deadline)
            self._board.found(source.name, await look())
            attempt.answered = True
            attempt.must_end_within(None)
            heed_cancellation()
            await asyncio.sleep(source.every)


_PROBES: Final[tuple[tuple[Service, PartName], ...]] = ((Service.KAFKA, "throughput"), (Service.REDIS, "store"))
"""The parts that ask nobody but one service, often and shortly: who is silent there is silent."""


@asynccontextmanager
async def gathering(board: Board, sources: Sequence[Source]) -> AsyncIterator[None]:
    """Gathers in the background for the length of the block."""
    task = asyncio.create_task(Gatherer(board, sources).run(), name="console-gatherer")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
