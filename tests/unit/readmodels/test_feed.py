"""One reading for several lanes: nothing is decoded twice while they keep up, and nobody waits for anybody."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from eunoe.readmodels.feed import HELD, Feed, Feeds, Reading
from eunoe.readmodels.source import PartitionSource, Positioned, Unreadable
from eunoe.schemas.ids import Millis, Offset, Partition

MOST = 10
WAIT_MS = 20


@dataclass
class FakeLog:
    """Offsets up to ``end``; the ones in ``bad`` cannot be decoded. Counts what its sources do."""

    end: int = 0
    bad: set[int] = field(default_factory=set)
    opened: int = 0
    open: int = 0
    decoded: list[int] = field(default_factory=list)
    failing: Exception | None = None
    grown: asyncio.Event = field(default_factory=asyncio.Event)

    def grow(self, to: int) -> None:
        self.end = to
        self.grown.set()
        self.grown = asyncio.Event()

    def source(self) -> PartitionSource:
        return cast("PartitionSource", FakeSource(self))

    def reading(self, feed: Feed | None) -> Reading:
        return Reading(self.source(), feed)


class FakeSource:
    def __init__(self, log: FakeLog) -> None:
        self.log, self.at, self.started = log, 0, False
        self.committed_end, self.fetched_at = None, None

    async def start(self) -> None:
        assert not self.started
        self.started = True
        self.log.opened += 1
        self.log.open += 1

    async def stop(self) -> None:
        self.log.open -= self.started
        self.started = False

    def seek(self, offset: int) -> None:
        assert self.started
        self.at = offset

    async def position(self) -> Offset:
        return Offset(self.at)

    async def fetch(self, timeout_ms: int, most: int) -> Sequence[int]:
        assert self.started
        if self.log.failing is not None:
            raise self.log.failing
        if self.at == self.log.end:
            try:
                await asyncio.wait_for(self.log.grown.wait(), timeout_ms / 1_000)
            except TimeoutError:
                return ()
        found = range(self.at, min(self.log.end, self.at + most))
        self.at = found.stop
        return found

    def decode(self, found: Sequence[int]) -> tuple[list[Positioned[Any]], Unreadable | None]:
        good: list[Positioned[Any]] = []
        for offset in found:
            if offset in self.log.bad:
                return good, Unreadable(Offset(offset), "bad")
            self.log.decoded.append(offset)
            good.append(Positioned(Offset(offset), Millis(0), offset))
        return good, None


@pytest.fixture
def log() -> FakeLog:
    return FakeLog()


async def started(log: FakeLog, feed: Feed, at: int = 0) -> Reading:
    reading = log.reading(feed)
    await reading.start()
    reading.seek(Offset(at))
    return reading


async def took(reading: Reading) -> list[int]:
    return [each.offset for each in (await reading.read(WAIT_MS, MOST)).records]


async def took_up_to(reading: Reading, end: int) -> list[int]:
    found: list[int] = []
    while not found or found[-1] < end - 1:
        found += await took(reading)
    return found


async def test_lanes_at_the_same_place_get_the_same_records_decoded_once(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(4)]
    log.grow(35)
    found = await asyncio.gather(*(took_up_to(each, 35) for each in lanes))
    assert found == [list(range(35))] * 4
    assert log.decoded == list(range(35))
    assert log.open == 1
    assert all(each.shared for each in lanes)


async def test_a_new_record_wakes_everybody_who_waits_at_the_end(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(3)]
    waiting = [asyncio.create_task(each.read(10_000, MOST)) for each in lanes]
    await asyncio.sleep(0)
    log.grow(2)
    for chunk in await asyncio.wait_for(asyncio.gather(*waiting), 5):
        assert [each.offset for each in chunk.records] == [0, 1]
    assert log.decoded == [0, 1]


async def test_a_lane_that_is_a_little_behind_reads_what_is_held_for_it(log: FakeLog) -> None:
    feed = Feed(log.source)
    behind, ahead = await started(log, feed), await started(log, feed)
    log.grow(3 * MOST)
    assert await took(behind) == await took(ahead)
    assert await took_up_to(ahead, 30) == list(range(10, 30))
    assert await took(ahead) == []
    assert await took_up_to(behind, 30) == list(range(10, 30))
    assert log.decoded == list(range(30))


async def test_a_slow_lane_holds_up_nobody_reads_by_itself_and_comes_back(log: FakeLog) -> None:
    feed = Feed(log.source)
    slow, fast = await started(log, feed), await started(log, feed)
    log.grow(200)
    seen = await took(slow)
    assert await took_up_to(fast, 200) == list(range(200))
    assert len(seen) + HELD * MOST < 200
    seen += await took(slow)
    assert not slow.shared, "it is behind what is held"
    seen += await took_up_to(slow, 200)
    assert seen == list(range(200))
    assert await took(slow) == []
    assert slow.shared, "it has caught up"
    assert log.open == 1
    log.grow(205)
    assert await asyncio.gather(took(slow), took(fast)) == [[200, 201, 202, 203, 204]] * 2


async def test_a_lane_that_was_set_back_reads_by_itself(log: FakeLog) -> None:
    feed = Feed(log.source)
    back, other = await started(log, feed), await started(log, feed)
    log.grow(100)
    await asyncio.gather(took_up_to(back, 100), took_up_to(other, 100))
    back.seek(Offset(3))
    assert (await took(back))[0] == 3
    log.grow(101)
    assert await took(other) == [100]
    assert (await took_up_to(back, 101))[-1] == 100


async def test_the_only_lane_takes_the_feed_with_it_when_it_is_set_back(log: FakeLog) -> None:
    feed = Feed(log.source)
    lane = await started(log, feed)
    log.grow(30)
    await took_up_to(lane, 30)
    lane.seek(Offset(5))
    assert (await took(lane))[0] == 5
    assert lane.shared


async def test_the_feed_follows_the_foremost(log: FakeLog) -> None:
    feed = Feed(log.source)
    log.grow(100)
    behind, ahead = await started(log, feed, 10), await started(log, feed, 90)
    assert (await took(behind))[0] == 10
    assert await took(ahead) == list(range(90, 100))
    assert (await took_up_to(behind, 100))[0] == 20
    assert log.decoded.count(99) == 1, "what the foremost read was held for the other"


async def test_a_lane_within_what_is_held_gets_the_rest_of_the_chunk(log: FakeLog) -> None:
    feed = Feed(log.source)
    log.grow(8)
    first, second = await started(log, feed), await started(log, feed, 5)
    assert await took(first) == list(range(8))
    assert await took(second) == [5, 6, 7]
    assert log.decoded == list(range(8))


async def test_each_lane_finds_the_unreadable_record_itself_and_finds_it_again(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(2)]
    log.bad = {4}
    log.grow(9)
    for lane in lanes:
        chunk = await lane.read(WAIT_MS, MOST)
        assert [each.offset for each in chunk.records] == [0, 1, 2, 3]
        assert (chunk.to, chunk.problem) == (4, Unreadable(Offset(4), "bad"))
    again = await lanes[0].read(WAIT_MS, MOST)
    assert (again.records, again.problem) == ([], Unreadable(Offset(4), "bad"))
    log.bad.clear()
    assert await took(lanes[0]) == [4, 5, 6, 7, 8]


async def test_a_cancelled_lane_does_not_cancel_the_others_reading(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(2)]
    one, other = (asyncio.create_task(each.read(10_000, MOST)) for each in lanes)
    await asyncio.sleep(0)
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    await lanes[0].stop()
    log.grow(1)
    assert [each.offset for each in (await asyncio.wait_for(other, 5)).records] == [0]


async def test_a_failed_reading_is_told_to_everybody_and_begins_anew(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(2)]
    log.failing = OSError()
    for answer in await asyncio.gather(*(each.read(WAIT_MS, MOST) for each in lanes), return_exceptions=True):
        assert isinstance(answer, OSError)
    log.failing = None
    log.grow(3)
    assert await asyncio.gather(*(took(each) for each in lanes)) == [[0, 1, 2]] * 2


async def test_the_last_to_leave_closes_the_feed_and_the_next_opens_it_again(log: FakeLog) -> None:
    feed = Feed(log.source)
    lanes = [await started(log, feed) for _ in range(2)]
    log.grow(3)
    await asyncio.gather(*(took(each) for each in lanes))
    await lanes[0].stop()
    assert log.open == 1
    waiting = asyncio.create_task(lanes[1].read(10_000, MOST))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await lanes[1].stop()
    assert log.open == 0
    late = await started(log, feed, 1)
    assert await took(late) == [1, 2]
    await late.stop()
    assert log.open == 0


async def test_without_a_feed_a_lane_reads_by_itself(log: FakeLog) -> None:
    reading = log.reading(None)
    await reading.start()
    reading.seek(Offset(0))
    log.grow(2)
    assert await took(reading) == [0, 1]
    await reading.stop()
    assert log.open == 0


def test_the_feed_of_a_partition_is_one(log: FakeLog) -> None:
    feeds = Feeds()
    one = feeds.of("a", Partition(0), log.source)
    assert feeds.of("a", Partition(0), log.source) is one
    assert feeds.of("a", Partition(1), log.source) is not one
    assert feeds.of("b", Partition(0), log.source) is not one
