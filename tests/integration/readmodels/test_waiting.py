"""Reading one's own writes."""

import asyncio

import pytest

from eunoe.readmodels.errors import ForeignToken, NotYet, UnknownPlace
from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.waiting import wait_until
from eunoe.schemas.ids import LogId, Offset, Partition
from eunoe.schemas.outcomes import Token
from eunoe.testing.samples import sample_accepted, sample_event, sample_id
from readmodel_log import Log, running


def token(log: Log, position: int, partition: int | None = None) -> Token:
    where = log.partition if partition is None else Partition(partition)
    return Token(log_id=log.installation.log_id, partition=where, position=Offset(position))


async def test_a_reader_waits_until_its_model_has_come_as_far_as_the_token(log: Log) -> None:
    (offset,) = await log.write(sample_event(sample_accepted()))
    waiting = asyncio.create_task(
        wait_until(log.redis, log.installation, "history", token(log, offset + 1), timeout=20)
    )
    async with running(log.lane(HistoryModel())):
        assert await waiting >= offset + 1
    assert await wait_until(log.redis, log.installation, "history", token(log, offset + 1), timeout=0) > offset


async def test_a_model_that_does_not_come_as_far_in_time_says_how_far_behind_it_is(log: Log) -> None:
    await log.fold(HistoryModel())
    end = await log.end()
    with pytest.raises(NotYet) as late:
        await wait_until(log.redis, log.installation, "history", token(log, end + 7), timeout=0.05)
    assert (late.value.position, late.value.behind) == (end, 7)


async def test_a_token_of_another_log_or_place_is_refused_at_once(log: Log) -> None:
    foreign = Token(log_id=LogId(sample_id("elsewhere")), partition=log.partition, position=Offset(1))
    with pytest.raises(ForeignToken):
        await wait_until(log.redis, log.installation, "history", foreign, timeout=20)
    with pytest.raises(UnknownPlace):
        await wait_until(log.redis, log.installation, "history", token(log, 1, partition=2), timeout=20)
    with pytest.raises(UnknownPlace):
        await wait_until(log.redis, log.installation, "keys", token(log, 1), timeout=20)
