"""A lane whose partition was taken ends, also where a library made another error of its cancellation."""

import asyncio
from collections.abc import Awaitable, Callable

from eunoe.runtime.lane import Lanes, LaneStalled
from eunoe.schemas.ids import Partition

MINE = Partition(3)


class Converting:
    """Work that answers its cancellation with ``error``; ``begun`` counts how often it was begun."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.begun = 0
        self.running = asyncio.Event()

    async def work(self, partition: Partition) -> None:
        self.begun += 1
        self.running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise self.error from None


def lanes_with(work: Callable[[Partition], Awaitable[None]]) -> Lanes:
    """Never started: what is gained and lost is told by hand."""
    return Lanes("127.0.0.1:1", "memory-events", "group", work, patience=2.0)


async def taken_away(error: Exception) -> tuple[Converting, Lanes, "asyncio.Task[None]"]:
    converting = Converting(error)
    lanes = lanes_with(converting.work)
    await lanes._start(frozenset({MINE}))
    await asyncio.wait_for(converting.running.wait(), 5)
    task = lanes._tasks[MINE]
    await lanes._stop(frozenset({MINE}))
    return converting, lanes, task


async def test_a_lane_does_not_begin_again_where_its_cancellation_became_an_error() -> None:
    converting, lanes, task = await taken_away(ConnectionError("closed"))
    assert task.cancelled()
    assert converting.begun == 1
    assert lanes.status == {}


async def test_a_lane_that_was_taken_away_does_not_stall() -> None:
    _, lanes, task = await taken_away(LaneStalled("needs a person"))
    assert task.cancelled()
    assert lanes.status == {}


async def test_a_lane_that_is_ours_begins_again_after_an_error() -> None:
    begun = asyncio.Queue[int]()

    async def failing(partition: Partition) -> None:
        begun.put_nowait(1)
        raise ConnectionError("away")

    lanes = lanes_with(failing)
    await lanes._start(frozenset({MINE}))
    for _ in range(2):
        await asyncio.wait_for(begun.get(), 5)
    await lanes._stop(frozenset({MINE}))
    assert lanes.status == {}
