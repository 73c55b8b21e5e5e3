"""Several models on one feed: the same projections as by lanes of their own, each at its own mark."""

import asyncio
from typing import Any

import pytest

from eunoe.readmodels.errors import ProjectionStopped
from eunoe.readmodels.feed import Feeds
from eunoe.readmodels.projector import ProjectorLane
from eunoe.readmodels.source import PartitionSource
from integration.readmodels.test_projector import Gated, Noted, events, position, seen, until
from readmodel_log import Log, running

SHARED = 3


def noted(count: int = SHARED) -> list[Noted]:
    return [Noted(f"noted{number}") for number in range(count)]


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Offsets, each as often as a source decoded it."""
    found: list[int] = []
    decode = PartitionSource.decode

    def counted(self: PartitionSource, records: Any) -> Any:
        found.extend(each.offset for each in records)
        return decode(self, records)

    monkeypatch.setattr(PartitionSource, "decode", counted)
    return found


async def test_models_on_one_feed_come_to_the_same_and_each_record_is_decoded_once(
    log: Log, decoded: list[int]
) -> None:
    feeds, models = Feeds(), noted()
    async with running(*(log.lane(each, feeds=feeds) for each in models)):
        for each in models:
            await log.caught_up(each)
        before = len(decoded)
        written = [offset for batch in range(4) for offset in await log.write(*events(batch * 20, batch * 20 + 20))]
        await log.abort(*events(90, 95))
        for each in models:
            await log.caught_up(each)
    assert decoded[before:] == written
    assert [each.folded for each in models] == [[0, *written]] * SHARED
    contents = [await log.contents(each.name) for each in models]
    assert contents[0] == contents[1] == contents[2]


async def test_one_model_flushed_is_filled_again_and_the_others_are_left_alone(log: Log) -> None:
    await log.write(*events(0, 50))
    feeds, models = Feeds(), noted()
    lanes = [log.lane(each, feeds=feeds) for each in models]
    async with running(*lanes):
        for each in models:
            await log.caught_up(each)
        whole = await log.contents("noted0")
        keys = [key async for key in log.redis.scan_iter(match=f"{log.prefix('noted0')}*")]
        await log.redis.delete(*keys)
        await until(lambda: lanes[0].healed)
        await log.write(*events(50, 60))
        for each in models:
            await log.caught_up(each)
    assert (await log.contents("noted0"))["seen"].items() >= whole["seen"].items()
    assert await log.contents("noted0") == await log.contents("noted1")
    assert [len(each.folded) for each in models] == [112, 61, 61]
    assert [each.healed for each in lanes] == [1, 0, 0]


async def test_a_model_that_stops_at_a_record_stops_alone(log: Log) -> None:
    feeds = Feeds()
    (good,) = noted(1)
    stopping = Noted("stopping", refuse=events(5, 6)[0].header.command_id)
    written = await log.write(*events(0, 10))
    lane: ProjectorLane[Any] = log.lane(stopping, feeds=feeds)
    async with running(log.lane(good, feeds=feeds)):
        with pytest.raises(ProjectionStopped):
            await asyncio.wait_for(lane.run(), 20)
        written += await log.write(*events(10, 20))
        await log.caught_up(good)
    assert good.folded == [0, *written]
    assert await position(log, "stopping") == written[5]
    assert set(await seen(log, "stopping")) == {0, *written[:5]}


async def test_a_model_that_waits_holds_up_nobody(log: Log) -> None:
    feeds, gated = Feeds(), Gated()
    (free,) = noted(1)
    async with running(log.lane(gated, feeds=feeds), log.lane(free, feeds=feeds)):
        await asyncio.wait_for(gated.reached.wait(), 20)
        written = [offset for batch in range(8) for offset in await log.write(*events(batch * 10, batch * 10 + 10))]
        await log.caught_up(free)
        assert free.folded == [0, *written]
        assert gated.folded == []
        gated.gate.set()
        await log.caught_up(gated)
    assert gated.folded == free.folded


async def test_a_lane_that_starts_later_catches_up_beside_one_that_is_ahead(log: Log, decoded: list[int]) -> None:
    feeds = Feeds()
    early, late = noted(2)
    async with running(log.lane(early, feeds=feeds)):
        written = [offset for batch in range(6) for offset in await log.write(*events(batch * 10, batch * 10 + 10))]
        await log.caught_up(early)
        async with running(log.lane(late, feeds=feeds)):
            await log.caught_up(late)
            before = len(decoded)
            written += await log.write(*events(60, 70))
            await log.caught_up(early)
            await log.caught_up(late)
    assert early.folded == late.folded == [0, *written]
    assert decoded[before:] == written[-10:]
