"""A worker's services in this process, and clients of it."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.client.memory import Memory
from eunoe.runtime.installation import open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT, apply_development
from eunoe.worker.embedded import RunningServices, running_services


@pytest.fixture
async def settings(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> Settings:
    """Of an installation with the development policy in force."""
    bare = Settings(kafka=kafka_bootstrap, redis=redis_url, prefix=topic_names.prefix, partitions=2)
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, 2, 1)
    installation = await open_installation(kafka_bootstrap, topic_names)
    return replace(await apply_development(bare, installation, tmp_path / "secrets"), principal=PrincipalName(AGENT))


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[RunningServices]:
    async with running_services(settings) as running:
        await running.ready()
        yield running


@pytest.fixture
async def memory(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(settings) as memory:
        yield memory
