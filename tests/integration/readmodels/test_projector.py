"""The rule of the watermark on a real log and a real Redis."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.readmodels.errors import CannotApply, LogStartMovedOn, NotThisLog, ProjectionAheadOfLog, ProjectionStopped
from eunoe.readmodels.projector import Pace
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import MAX_RECORDS
from eunoe.readmodels.store import text
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Operation
from eunoe.schemas.events import CommandRejected, Event, Reason
from eunoe.schemas.ids import CommandId, Offset
from eunoe.schemas.topics import Topic
from eunoe.testing.samples import sample_event, sample_id
from readmodel_log import Log, running

SOON: Final = 20.0


class Noted:
    """A model that keeps the command id of every event under its offset, and can refuse one."""

    source: Final = Topic.LIFECYCLE
    functions: Final = DIGESTED.load()

    def __init__(self, name: str = "noted", refuse: str | None = None) -> None:
        self.name: Final = name
        self.refuse = refuse
        self.folded: list[int] = []

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        for each in records:
            if each.value.header.command_id == self.refuse:
                raise CannotApply(each.offset, "the test says so")
        self.folded += [each.offset for each in records]
        return [(("HSET", prefix.key("seen"), each.offset, each.value.header.command_id),) for each in records]


class Gated(Noted):
    """Waits at its first record until the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.gate = asyncio.Event(), asyncio.Event()

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        self.reached.set()
        await self.gate.wait()
        return await super().fold(prefix, records)


def event(name: str) -> Event:
    return sample_event(
        CommandRejected(command="RememberMemory", reason=Reason.NOT_FOUND), command_id=CommandId(sample_id(name))
    )


def events(first: int, last: int) -> list[Event]:
    return [event(f"c{number}") for number in range(first, last)]


async def seen(log: Log, model: str = "noted") -> dict[int, str]:
    found = await log.redis.hgetall(log.prefix(model).key("seen"))
    return {int(offset): text(value) for offset, value in found.items()}


async def position(log: Log, model: str = "noted") -> int:
    found = await log.redis.hget(log.prefix(model).watermark, "position")
    return int(found or 0)


async def until(condition: Callable[[], object]) -> None:
    deadline = asyncio.get_running_loop().time() + SOON
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)


async def test_every_committed_event_is_folded_once_in_order_and_the_watermark_passes_the_markers(log: Log) -> None:
    offsets = [offset for batch in range(5) for offset in await log.write(*events(batch * 30, batch * 30 + 30))]
    model = Noted()
    await log.fold(model)
    assert model.folded == [0, *offsets]
    assert await position(log) == await log.end() > offsets[-1] + 1
    assert len(await seen(log)) == 151


async def test_an_aborted_tail_moves_the_watermark_and_is_never_seen(log: Log) -> None:
    await log.write(event("kept"))
    await log.abort(*events(0, 10))
    end = await log.end()
    model = Noted()
    await log.fold(model)
    assert await position(log) == end
    assert set((await seen(log)).values()) >= {sample_id("kept")}
    assert not set((await seen(log)).values()) & {sample_id(f"c{number}") for number in range(10)}
    (after,) = await log.write(event("after"))
    await log.fold(model)
    assert (await seen(log))[after] == sample_id("after")


async def test_a_topic_of_markers_only_is_passed_while_the_lane_runs(log: Log) -> None:
    model = Noted()
    async with running(log.lane(model)):
        await log.caught_up(model)
        for _ in range(3):
            await log.abort(event("never"))
            await log.caught_up(model)
    assert model.folded == [0]


async def test_a_lane_goes_on_where_another_was_killed(log: Log) -> None:
    model = Noted()
    expected = [0]
    for batch in range(4):
        async with running(log.lane(model)) as (task,):
            expected += await log.write(*events(batch * 50, batch * 50 + 50))
            await until(partial(model.folded.__contains__, expected[-20]))
            task.cancel()
    await log.fold(model)
    assert sorted(await seen(log)) == expected


async def test_a_flushed_redis_is_filled_again_while_nothing_is_written(log: Log) -> None:
    await log.write(*events(0, 100))
    lane = log.lane(Noted())
    async with running(lane):
        await log.caught_up(Noted())
        before = await log.contents("noted")
        keys = [key async for key in log.redis.scan_iter(match=f"{log.prefix('noted')}*")]
        await log.redis.delete(*keys)
        assert await position(log) == 0
        await until(lambda: lane.healed)
        await log.caught_up(Noted())
    assert await log.contents("noted") == before


async def test_a_redis_rolled_back_by_some_batches_heals_from_its_own_mark(log: Log) -> None:
    model = Noted()
    for batch in range(3):
        await log.write(*events(batch * 10, batch * 10 + 10))
    await log.fold(model)
    old = await log.contents("noted")
    lane = log.lane(model)
    async with running(lane):
        await log.caught_up(model)
        for batch in range(3, 6):
            await log.write(*events(batch * 10, batch * 10 + 10))
        await log.caught_up(model)
        new = await log.contents("noted")
        await log.redis.delete(log.prefix("noted").key("seen"))
        for name in ("watermark", "seen"):
            await log.redis.hset(log.prefix("noted").key(name), mapping=old[name])
        await log.write(event("one more"))
        await until(lambda: lane.healed)
        await log.caught_up(model)
    after = await log.contents("noted")
    assert {**after["seen"], **new["seen"]} == after["seen"]
    assert len(after["seen"]) == len(new["seen"]) + 1


async def test_two_lanes_on_one_model_do_no_harm(log: Log) -> None:
    first, second = Noted(), Noted()
    async with running(log.lane(first), log.lane(second)):
        offsets = [offset for batch in range(10) for offset in await log.write(*events(batch * 20, batch * 20 + 20))]
        await log.caught_up(first)
    assert sorted(await seen(log)) == [0, *offsets]


async def test_two_models_share_no_marks(log: Log) -> None:
    await log.write(*events(0, 5))
    await log.fold(Noted("one"))
    assert await position(log, "other") == 0
    await log.write(*events(5, 10))
    await log.fold(Noted("other"))
    assert await position(log, "one") < await position(log, "other")
    assert len(await seen(log, "one")) == 6
    assert len(await seen(log, "other")) == 11


async def test_an_undecodable_record_stops_the_partition_after_everything_before_it(log: Log) -> None:
    (before,) = await log.write(event("before"))
    (bad,) = await log.write_values(Topic.LIFECYCLE, (None, b"\xc3\x01 is no event, but a secret"))
    await log.write(event("after"))
    with pytest.raises(ProjectionStopped) as stopped:
        await log.fold(Noted())
    assert (stopped.value.model, stopped.value.partition, stopped.value.offset) == ("noted", log.partition, bad)
    assert "secret" not in str(stopped.value)
    assert sorted(await seen(log)) == [0, before]
    assert await position(log) == bad
    with pytest.raises(ProjectionStopped):
        await log.fold(Noted())


async def test_an_event_that_cannot_be_applied_is_never_skipped_and_goes_on_once_it_can(log: Log) -> None:
    offsets = await log.write(*events(0, 60))
    with pytest.raises(ProjectionStopped) as stopped:
        await log.fold(Noted(refuse=sample_id("c40")))
    assert stopped.value.offset == offsets[40]
    assert sorted(await seen(log)) == [0, *offsets[:40]]
    await log.fold(Noted())
    assert sorted(await seen(log)) == [0, *offsets]


class Losing(Noted):
    """Redis loses everything that was written, while the third batch is folded; once."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log, self.batches = log, 0

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        self.batches += 1
        if self.batches == 3:
            await self._log.redis.delete(prefix.watermark, prefix.key("seen"))
        return await super().fold(prefix, records)


async def test_a_lane_that_folds_ahead_loses_nothing_that_was_on_its_way(log: Log) -> None:
    offsets = await log.write(*events(0, 100))
    losing, small = Losing(log), Pace(batch=10, poll_ms=50)
    lane = log.lane(losing, ahead=True, pace=small)
    await asyncio.wait_for(lane.run(until=await log.end()), SOON)
    assert lane.healed > 0
    assert len(losing.folded) > 101, "folded again"
    assert sorted(await seen(log)) == [0, *offsets]
    await log.fold(Noted("other"), pace=small)
    assert await log.contents("noted") == await log.contents("other")
    assert await position(log) == lane.position == await log.end()


async def test_a_lane_that_folds_ahead_stops_at_the_event_that_cannot_be_applied(log: Log) -> None:
    offsets = await log.write(*events(0, 60))
    lane = log.lane(Noted(refuse=sample_id("c40")), ahead=True, pace=Pace(batch=10, poll_ms=50))
    with pytest.raises(ProjectionStopped) as stopped:
        await asyncio.wait_for(lane.run(until=await log.end()), SOON)
    assert stopped.value.offset == offsets[40] == await position(log)
    assert sorted(await seen(log)) == [0, *offsets[:40]]


async def test_a_log_that_ends_before_the_watermark_is_refused_with_the_choice(log: Log) -> None:
    await log.write(*events(0, 5))
    await log.fold(Noted())
    await log.redis.hset(log.prefix("noted").watermark, "position", 10_000)
    with pytest.raises(ProjectionAheadOfLog) as ahead:
        await log.fold(Noted())
    assert (ahead.value.watermark, ahead.value.log_end) == (10_000, await log.end())
    assert "eunoe rebuild noted" in str(ahead.value)


async def test_a_log_cut_off_beyond_the_watermark_is_refused_and_not_skipped(log: Log) -> None:
    await log.write(*events(0, 5))
    await log.fold(Noted())
    kept = await log.contents("noted")
    await log.write(*events(5, 20))
    cut = await log.cut_off_before(await log.end() - 3)
    with pytest.raises(LogStartMovedOn) as moved:
        await log.fold(Noted())
    assert moved.value.watermark < moved.value.log_start == cut
    assert await log.contents("noted") == kept


async def test_a_log_cut_off_ahead_of_a_slow_lane_is_refused_and_not_jumped_over(log: Log) -> None:
    """The consumer's own answer would be to reset its position."""
    model = Gated()
    lane = log.lane(model, client_settings={"max_partition_fetch_bytes": 1})
    async with running(lane, quiet=True) as (task,):
        await asyncio.wait_for(model.reached.wait(), SOON)
        for number in range(10):
            await log.write(event(f"c{number}"))
        await log.cut_off_before(await log.end())
        model.gate.set()
        await until(task.done)
    with pytest.raises(LogStartMovedOn):
        await task
    assert len(model.folded) < 10


async def test_a_log_cut_off_under_a_running_lane_is_refused_too(log: Log) -> None:
    await log.write(*events(0, 5))
    model = Noted()
    lane = log.lane(model)
    async with running(lane, quiet=True) as (task,):
        await log.caught_up(model)
        await log.cut_off_before(await log.end() - 1)
        await log.redis.hset(log.prefix("noted").watermark, "position", 2)
        await until(task.done)
    assert lane.healed == 1
    with pytest.raises(LogStartMovedOn):
        await task


async def test_a_partition_of_another_log_is_refused(log: Log) -> None:
    await log.write(*events(0, 5))
    await log.fold(Noted())
    foreign = type(log.installation)(
        log_id=type(log.installation.log_id)(sample_id("another log")),
        partitions=log.installation.partitions,
        names=log.installation.names,
    )
    with pytest.raises(NotThisLog) as refused:
        await log.fold(Noted(), installation=foreign)
    assert refused.value.found == log.installation.log_id


async def test_a_large_batch_is_cut_into_short_calls(log: Log) -> None:
    """Seen from Redis: no call of the projection took longer than its bound allows it to be large."""
    await log.write(*events(0, 400))
    await log.redis.config_resetstat()
    await log.fold(Noted())
    stats = await log.redis.info("commandstats")
    calls = stats["cmdstat_fcall"]["calls"]
    assert calls >= 400 / MAX_RECORDS
    assert await position(log) == await log.end()


async def test_a_consumer_without_a_watermark_sees_the_gaps_the_test_relies_on(log: Log) -> None:
    """The positive control: there are aborted records and markers between the events."""
    await log.write(event("a"))
    await log.abort(event("b"))
    at = TopicPartition(log.installation.topic(Topic.LIFECYCLE), log.partition)
    consumer = AIOKafkaConsumer(bootstrap_servers=log.bootstrap, isolation_level="read_uncommitted")
    with contextlib.suppress(asyncio.CancelledError):
        await consumer.start()
    try:
        consumer.assign([at])
        consumer.seek(at, 0)
        found: list[Offset] = []
        while len(found) < 3:
            found += [record.offset for record in (await consumer.getmany(at, timeout_ms=500)).get(at, ())]
    finally:
        await consumer.stop()
    assert found == [0, 2, 4]
