"""Projections under the supervisor that workers use, while Redis and the broker die."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import BlockingConnectionPool, Redis

from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.outcomes import OutcomesModel
from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.runtime.lane import Lanes
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId, MemoryId, Partition
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.stack.local import LocalStack
from eunoe.testing.samples import sample_accepted, sample_draft, sample_event, sample_id
from readmodel_log import Log, opened

PATIENCE_S = 240.0
"""On a busy machine a broker that was killed took minutes to show what had been committed before (seen twice)."""


def events(first: int, last: int) -> list[Event]:
    return [
        sample_event(
            sample_accepted(sample_draft(memory_id=MemoryId(sample_id(f"memory {number}")))),
            command_id=CommandId(sample_id(f"command {number}")),
        )
        for number in range(first, last)
    ]


async def written(log: Log, first: int, last: int) -> None:
    for at in range(first, last, 20):
        await log.write(*events(at, min(last, at + 20)))


async def reached_the_end(log: Log, models: list[ReadModel[Any]]) -> None:
    """Also over a Redis that is away for a moment."""
    end, deadline = await log.end(), asyncio.get_running_loop().time() + PATIENCE_S
    for model in models:
        while int(await log.redis.hget(log.prefix(model.name).watermark, "position") or 0) < end:
            assert asyncio.get_running_loop().time() < deadline, f"{model.name} did not come to the end"
            await asyncio.sleep(0.05)


@pytest.mark.timeout(540)
async def test_projections_survive_an_emptied_redis_and_a_killed_broker(
    own_stack: LocalStack, topic_names: TopicNames
) -> None:
    pool = BlockingConnectionPool.from_url(own_stack.redis, max_connections=16, timeout=20)
    async with Redis.from_pool(pool) as redis, opened(own_stack.kafka, topic_names, redis) as log:
        models: list[ReadModel[Any]] = [OutcomesModel(redis), SubjectsModel(redis), HistoryModel()]
        groups = [
            Lanes(own_stack.kafka, topic_names.name(Topic.LIFECYCLE), f"eunoe-{model.name}", work(log, model))
            for model in models
        ]
        await asyncio.gather(*(each.start() for each in groups))
        try:
            await written(log, 0, 300)
            await asyncio.to_thread(own_stack.redis_server.kill)
            await written(log, 300, 400)
            await asyncio.to_thread(own_stack.redis_server.start)
            await reached_the_end(log, models)
            assert int(await redis.dbsize()) > 800, "the control: it is filled again, from nothing"
            await asyncio.to_thread(own_stack.broker.kill)
            await asyncio.to_thread(own_stack.broker.start)
            await written(log, 400, 500)
            await reached_the_end(log, models)
        finally:
            await asyncio.gather(*(each.stop() for each in groups))
        for model in models:
            await log.fold(model, generation=2)
            assert await log.contents(model.name, 1) == await log.contents(model.name, 2) != {}


def work(log: Log, model: ReadModel[Any]) -> Callable[[Partition], Awaitable[None]]:
    async def run(partition: Partition) -> None:
        if partition == log.partition:
            await log.lane(model).run()
        else:
            await asyncio.Event().wait()

    return run
