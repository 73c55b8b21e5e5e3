"""A log of its own for each test."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from eunoe.schemas.topics import TopicNames
from readmodel_log import Log, opened


@pytest.fixture
async def log(kafka_bootstrap: str, topic_names: TopicNames, redis_client: Redis) -> AsyncIterator[Log]:
    async with opened(kafka_bootstrap, topic_names, redis_client) as made:
        yield made
