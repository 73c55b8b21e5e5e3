"""An installation whose topic of keys is cleaned within seconds, and a worker's services on it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT
from eunoe.testing.platform import install
from eunoe.worker.embedded import RunningServices, running_services


@pytest.fixture
async def settings(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> Settings:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path, partitions=1)
    return replace(platform.settings, principal=PrincipalName(AGENT))


@pytest.fixture
async def installation(settings: Settings) -> Installation:
    return await read_installation(settings.kafka, settings.topics)


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[RunningServices]:
    async with running_services(settings) as running:
        await running.ready()
        yield running


@pytest.fixture
async def memory(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(settings) as memory:
        yield memory


@pytest.fixture
async def officer(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    """Who may erase."""
    async with Memory.connect(replace(settings, principal=PrincipalName("dev-officer"))) as memory:
        yield memory


@pytest.fixture
async def redis(redis_client: Redis) -> Redis:
    return redis_client
