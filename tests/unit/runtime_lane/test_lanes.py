"""A lane whose partition was taken ends whatever its work makes of it; one that is ours begins again after errors."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from eunoe.runtime.lane import Lanes, LaneStalled
from eunoe.schemas.ids import Partition

MINE = Partition(3)


def lanes_with(work: Callable[[Partition], Awaitable[None]]) -> Lanes:
    """Never started: what is gained and lost is told by hand."""
    return Lanes("127.0.0.1:1", "memory-events", "group", work, patience=2.0)


@dataclass
class Converting:
    """Work that answers its cancellation with ``error``; ``begun`` counts how often it was begun."""

    error: Exception
    begun: int = 0
    running: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, partition: Partition) -> None:
        self.begun += 1
        self.running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise self.error from None


@pytest.mark.parametrize("error", [ConnectionError("closed"), LaneStalled("needs a person")])
async def test_a_lane_that_was_taken_away_ends_though_its_cancellation_became_an_error(error: Exception) -> None:
    converting = Converting(error)
    lanes = lanes_with(converting.work)
    await lanes._start(frozenset({MINE}))
    await asyncio.wait_for(converting.running.wait(), 5)
    task = lanes._tasks[MINE]
    await lanes._stop(frozenset({MINE}))
    assert task.done()
    assert converting.begun == 1
    assert lanes.status == {}


async def begun_again(failing: Callable[[], Awaitable[None]]) -> None:
    """Returns once a lane that fails so was begun three times. Raises TimeoutError."""
    begun = asyncio.Queue[int]()

    async def work(partition: Partition) -> None:
        begun.put_nowait(1)
        await failing()

    lanes = lanes_with(work)
    await lanes._start(frozenset({MINE}))
    try:
        for _ in range(3):
            await asyncio.wait_for(begun.get(), 5)
    finally:
        await lanes._stop(frozenset({MINE}))
    assert lanes.status == {}


async def test_a_lane_that_is_ours_begins_again_after_an_error() -> None:
    async def away() -> None:
        raise ConnectionError("away")

    await begun_again(away)


async def test_a_lane_begins_again_after_a_group_of_tasks_failed_in_it() -> None:
    """On Python 3.11 its task looks cancelled then, and nobody has cancelled it."""

    async def away() -> None:
        await asyncio.sleep(0)
        raise ConnectionError("away")

    async def group() -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(away())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None

    await begun_again(group)


async def test_a_lane_begins_again_after_a_cancellation_that_nobody_asked_for() -> None:
    """As aiokafka raises out of `stop` of a client that never ran."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    await begun_again(cancelled)
