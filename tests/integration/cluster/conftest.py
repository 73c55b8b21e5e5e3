"""An installation of four partitions on a Redis Cluster: their slots lie on all three nodes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_fixtures import ThreeNodes, redis_cluster, redis_node
from eunoe.client.memory import Memory
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT
from eunoe.testing.platform import install
from eunoe.worker.embedded import RunningServices, running_services

__all__ = ["redis_cluster", "redis_node"]


@pytest.fixture
def cluster(redis_cluster: ThreeNodes) -> ThreeNodes:
    """The one that everything lies on."""
    return redis_cluster


@pytest.fixture
async def settings(kafka_bootstrap: str, cluster: ThreeNodes, topic_names: TopicNames, tmp_path: Path) -> Settings:
    platform = await install(kafka_bootstrap, cluster.url, topic_names, tmp_path, partitions=4)
    return replace(platform.settings, principal=PrincipalName(AGENT))


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[RunningServices]:
    async with running_services(settings) as running:
        await running.ready()
        yield running


@pytest.fixture
async def memory(settings: Settings, services: RunningServices) -> AsyncIterator[Memory]:
    async with Memory.connect(settings) as memory:
        yield memory
