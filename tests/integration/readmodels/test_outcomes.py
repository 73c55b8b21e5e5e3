"""What became of a command, for one caller and for thousands that wait."""

import asyncio
from contextlib import aclosing

import pytest
from redis.asyncio import Redis

from eunoe.readmodels.errors import NoOutcome, StoreUnavailable
from eunoe.readmodels.outcome_reader import OutcomeReader
from eunoe.readmodels.outcomes import STEP, OutcomesModel
from eunoe.schemas.events import CommandRejected, Event, Reason
from eunoe.schemas.ids import CommandId, Millis, Offset
from eunoe.schemas.outcomes import OutcomeStatus, Token
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_accepted, sample_event, sample_id
from readmodel_log import Log, running

HOUR = 3_600_000


def command(number: int) -> CommandId:
    return CommandId(sample_id(f"command {number}"))


def event(number: int, at: int = 0) -> Event:
    return sample_event(sample_accepted(), command_id=command(number), decided_at=Millis(SAMPLE_TIME + at))


def refusal(number: int) -> Event:
    fact = CommandRejected(command="RememberMemory", reason=Reason.VERSION_CONFLICT, current_version=3)
    return sample_event(fact, command_id=command(number))


async def test_an_outcome_says_what_when_and_where_and_the_first_one_stays(log: Log) -> None:
    model = OutcomesModel(log.redis)
    (offset,) = await log.write(event(1))
    await log.fold(model)
    await log.write(refusal(1), refusal(2), event(2))
    await log.fold(model)
    async with aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        first = await reader.outcome(SAMPLE_TENANT, command(1))
        second = await reader.outcome(SAMPLE_TENANT, command(2))
        assert await reader.outcome(SAMPLE_TENANT, command(3)) is None
        assert await reader.outcome(log.neighbour(), command(1)) is None
    assert first is not None
    assert first.status is OutcomeStatus.ACCEPTED
    assert Token.parse(first.token) == Token(
        log_id=log.installation.log_id, partition=log.partition, position=Offset(offset + 1)
    )
    assert second is not None
    assert (second.refused, second.reason, second.current_version) == (True, "version_conflict", 3)


async def test_waiting_ends_with_the_outcome_also_where_it_was_there_before(log: Log) -> None:
    model = OutcomesModel(log.redis)
    await log.write(event(1))
    await log.fold(model)
    async with running(log.lane(model)), aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        assert (await reader.wait(SAMPLE_TENANT, command(1), 10)).command_id == command(1)
        later = asyncio.create_task(reader.wait(SAMPLE_TENANT, command(2), 20))
        twice = asyncio.create_task(reader.wait(SAMPLE_TENANT, command(2), 20))
        gives_up = asyncio.create_task(reader.wait(SAMPLE_TENANT, command(3), 0.05))
        with pytest.raises(NoOutcome):
            await gives_up
        await log.write(event(2))
        assert await later == await twice


async def test_thousands_wait_with_few_questions(log: Log) -> None:
    count = 3_000
    model = OutcomesModel(log.redis)
    async with running(log.lane(model)), aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        waiting = [asyncio.create_task(reader.wait(SAMPLE_TENANT, command(each), 60)) for each in range(count)]
        await asyncio.sleep(0)
        await log.redis.config_resetstat()
        for first in range(0, count, 500):
            await log.write(*(event(each) for each in range(first, first + 500)))
        outcomes = await asyncio.gather(*waiting)
        asked = (await log.redis.info("commandstats"))["cmdstat_mget"]["calls"]
    assert [each.command_id for each in outcomes] == [command(each) for each in range(count)]
    assert asked < count / 5


async def test_one_who_comes_late_is_answered_though_nothing_moves(log: Log) -> None:
    await log.write(event(1))
    await log.fold(OutcomesModel(log.redis))
    async with aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        pending = asyncio.create_task(reader.wait(SAMPLE_TENANT, command(2), 20))
        with pytest.raises(NoOutcome):
            await reader.wait(SAMPLE_TENANT, command(3), 0.1)
        assert (await reader.wait(SAMPLE_TENANT, command(1), 5)).command_id == command(1)
        pending.cancel()


async def test_while_nothing_moves_only_watermarks_are_asked_for(log: Log) -> None:
    await log.redis.config_resetstat()
    async with aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        with pytest.raises(NoOutcome):
            await reader.wait(SAMPLE_TENANT, command(1), 0.5)
    stats = await log.redis.info("commandstats")
    assert stats["cmdstat_mget"]["calls"] == 1
    assert stats["cmdstat_hget"]["calls"] > 5


async def test_nothing_is_asked_while_nobody_waits(log: Log) -> None:
    async with aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        with pytest.raises(NoOutcome):
            await reader.wait(SAMPLE_TENANT, command(1), 0.05)
        poller = reader._poller
        assert poller is not None
        await asyncio.wait_for(poller, 5)
        assert reader._waiting == {}


async def test_a_redis_that_is_away_is_no_outcome_at_the_timeout_and_unavailable_at_once(log: Log) -> None:
    async with (
        Redis.from_url("redis://127.0.0.1:1") as nowhere,
        aclosing(OutcomeReader(nowhere, log.installation)) as reader,
    ):
        with pytest.raises(NoOutcome) as gave_up:
            await reader.wait(SAMPLE_TENANT, command(1), 3.0)
        assert "Redis did not answer" in str(gave_up.value)
        with pytest.raises(StoreUnavailable):
            await reader.outcome(SAMPLE_TENANT, command(1))


async def test_outcomes_lapse_by_log_time_in_small_steps_whatever_the_batches(log: Log) -> None:
    model = OutcomesModel(log.redis, retention=HOUR)
    for number in range(20):
        await log.write(event(number))
    await log.fold(model)
    await log.write(event(20, at=HOUR))
    await log.fold(model)
    assert await kept(log, range(21)) == 21
    await log.write(event(21, at=HOUR + 1))
    await log.fold(model)
    assert await kept(log, range(22)) == 22 - STEP
    await log.write(*(event(number, at=2 * HOUR) for number in range(22, 30)))
    await log.fold(model)
    assert await kept(log, range(20)) == 0
    # One batch that spans more log time than the retention ends the same.
    await log.fold(model, generation=2)
    assert await log.contents("outcomes", 1) == await log.contents("outcomes", 2)


async def kept(log: Log, numbers: range) -> int:
    async with aclosing(OutcomeReader(log.redis, log.installation)) as reader:
        return sum([await reader.outcome(SAMPLE_TENANT, command(each)) is not None for each in numbers])
