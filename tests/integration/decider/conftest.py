"""An opened installation of two partitions on the session's broker and Redis."""

from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis

from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.schemas.ids import TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.testing.deciding import Surroundings
from eunoe.testing.tenant import TestTenant


@pytest.fixture
async def installation(kafka_bootstrap: str, topic_names: TopicNames) -> Installation:
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, 2, 1)
    return await open_installation(kafka_bootstrap, topic_names)


@pytest.fixture
async def around(kafka_bootstrap: str, redis_client: Redis, installation: Installation) -> Surroundings:
    return Surroundings(kafka_bootstrap, redis_client, installation)


@pytest.fixture
async def producer(around: Surroundings) -> AsyncIterator[AIOKafkaProducer]:
    async with around.producer() as producer:
        yield producer


@pytest.fixture
def tenant(around: Surroundings, producer: AIOKafkaProducer) -> TestTenant:
    return TestTenant(around, producer, TenantId("acme"))
