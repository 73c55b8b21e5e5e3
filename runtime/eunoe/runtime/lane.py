"""One task per owned partition, started and stopped by group membership, restarted when the world fails it.

A lane is a coroutine that works on one partition until it is cancelled. It raises `LaneStalled` when going on needs a
person; whatever else it raises is taken for the world's fault, reported by type, and the lane starts again from its
durable marks after a pause.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.membership import GroupTimes, Membership
from eunoe.schemas.ids import Partition

log = logging.getLogger(__name__)

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class LaneStalled(Exception):
    """The partition cannot go on by itself. Subclasses say what, where and what to do; nothing is skipped."""


class LaneState(StrEnum):
    RUNNING = "running"
    WAITING = "waiting"
    """The world failed it; it starts again by itself."""
    STALLED = "stalled"
    """It needs a person."""


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """What a health page says of one partition. ``problem`` is free of content."""

    state: LaneState
    problem: str | None = None
    restarts: int = 0


class Lanes:
    """Runs ``work(partition)`` for every partition of ``topic`` that the group gives this process.

    ``patience`` (seconds) is how long a lane may take to finish or abandon its batch when its partition is revoked; it
    must stay well below the session time, for no heartbeat runs meanwhile.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        topic: str,
        group: str,
        work: Callable[[Partition], Awaitable[None]],
        *,
        times: GroupTimes | None = None,
        patience: float = 3.0,
    ) -> None:
        self._work = work
        self._patience = patience
        self._tasks: dict[Partition, asyncio.Task[None]] = {}
        self._status: dict[Partition, LaneStatus] = {}
        self._name = group
        self.membership = Membership(bootstrap, topic, group, gained=self._start, lost=self._stop, times=times)

    async def start(self) -> None:
        await self.membership.start()

    async def stop(self) -> None:
        """Stop every lane and leave the group."""
        await self.membership.stop()

    @property
    def status(self) -> Mapping[Partition, LaneStatus]:
        """Every owned partition's state."""
        return dict(self._status)

    async def _start(self, partitions: frozenset[Partition]) -> None:
        for partition in partitions - self._tasks.keys():
            self._tasks[partition] = asyncio.create_task(self._supervise(partition), name=f"{self._name}-{partition}")

    async def _stop(self, partitions: frozenset[Partition]) -> None:
        stopping = [self._tasks.pop(each) for each in partitions if each in self._tasks]
        for partition in partitions:
            self._status.pop(partition, None)
        for task in stopping:
            task.cancel()
        if not stopping:
            return
        _, late = await asyncio.wait(stopping, timeout=self._patience)
        for task in late:
            # Its producer will be fenced and its writes refused; it only must not hold up the group.
            log.warning("%s did not stop within %.1f s", task.get_name(), self._patience)

    async def _supervise(self, partition: Partition) -> None:
        restarts = 0
        while True:
            self._status[partition] = LaneStatus(LaneState.RUNNING, restarts=restarts)
            started = asyncio.get_running_loop().time()
            try:
                await self._work(partition)
            except LaneStalled as stalled:
                if self._taken(partition):
                    return
                log.error("%s partition %d stalled: %s", self._name, partition, stalled)
                self._status[partition] = LaneStatus(LaneState.STALLED, str(stalled), restarts)
                return
            except (Exception, asyncio.CancelledError) as error:
                if _is_ours(error):
                    raise
                # What a lane runs may make an error of its cancellation (seen, with the broker away). Begun again
                # it would run on beside its partition's new owner, for ever.
                if self._taken(partition):
                    return
                if asyncio.get_running_loop().time() - started > _LONGEST_PAUSE_S:
                    restarts = 0
                restarts += 1
                problem = _problem(error)
                log.warning("%s partition %d: %s; starting again", self._name, partition, problem)
                log.debug("lane failure", exc_info=error)
                self._status[partition] = LaneStatus(LaneState.WAITING, problem, restarts)
            if self._taken(partition):
                return
            await asyncio.sleep(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** min(restarts, 10)))

    def _taken(self, partition: Partition) -> bool:
        """Whether the running lane is not the partition's any more: it was revoked, and may have a new lane by now.

        Not asked of `asyncio.Task.cancelling`: on Python 3.11 an `asyncio.TaskGroup` that failed leaves that raised.
        """
        return self._tasks.get(partition) is not asyncio.current_task()


def _is_ours(error: BaseException) -> bool:
    """Whether it is the running task's own cancellation, and not one that a library raised out of something else."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _problem(error: BaseException) -> str:
    """The error without its text, unless it is one of ours: a library may quote what it was given."""
    ours = type(error).__module__.startswith("eunoe.")
    return f"{type(error).__name__}: {error}" if ours else type(error).__name__


def heed_cancellation() -> None:
    """Raises ``CancelledError`` where the running task was cancelled; every loop that runs until then calls it.

    A cancellation can get lost: ``asyncio.wait_for`` of Python 3.11, which redis-py sends every command through,
    swallows one that comes when what it waits for is just done (measured: a lane then ran on for ever).
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def cancelled(task: "asyncio.Task[object]") -> None:
    """Cancel ``task`` and wait for its end."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
