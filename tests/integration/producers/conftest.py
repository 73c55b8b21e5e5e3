"""Producers of an installation: its deciders run, its keys are followed, its outcomes are read from the log."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest
from redis.asyncio import Redis

from eunoe.producers.client import MemoryProducer
from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import CommandId, Offset, PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome, outcome_of
from eunoe.schemas.topics import TopicNames
from eunoe.testing.deciding import AGENT, SIGNERS, Surroundings
from eunoe.testing.tenant import deciding

_PAUSE_S = 0.05
MakeProducer = Callable[..., Awaitable[MemoryProducer]]


class LogOutcomes:
    """An `OutcomeSource` that reads the whole log again and again; one look answers all who wait."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._waiting: dict[CommandId, asyncio.Future[Outcome]] = {}

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        future = self._waiting.setdefault(command_id, asyncio.get_running_loop().create_future())
        async with asyncio.timeout(timeout):
            return await asyncio.shield(future)

    async def follow(self) -> None:
        installation = self._around.installation
        while True:
            heed_cancellation()
            if any(not future.done() for future in self._waiting.values()):
                for event in await self._around.events():
                    future = self._waiting.get(event.header.command_id)
                    partition = installation.partition_of(event.header.tenant)
                    outcome = outcome_of(event, installation.log_id, partition, Offset(0))
                    if future is not None and not future.done() and outcome is not None:
                        future.set_result(outcome)
            await asyncio.sleep(_PAUSE_S)


async def _follow_keys(around: Surroundings) -> None:
    while True:
        heed_cancellation()
        await around.refresh_keys()
        await asyncio.sleep(_PAUSE_S)


@asynccontextmanager
async def _running(around: Surroundings, outcomes: LogOutcomes) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(_follow_keys(around)), asyncio.create_task(outcomes.follow())]
    try:
        async with deciding(around):
            yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def installation(kafka_bootstrap: str, topic_names: TopicNames) -> Installation:
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, 2, 1)
    return await open_installation(kafka_bootstrap, topic_names)


@pytest.fixture
def around(kafka_bootstrap: str, redis_client: Redis, installation: Installation) -> Surroundings:
    return Surroundings(kafka_bootstrap, redis_client, installation)


@pytest.fixture
def outcomes(around: Surroundings) -> LogOutcomes:
    return LogOutcomes(around)


@pytest.fixture
def deciders(around: Surroundings, outcomes: LogOutcomes) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Runs deciders of all partitions inside a block; what they write is seen there."""
    return lambda: _running(around, outcomes)


@pytest.fixture
async def decided(deciders: Callable[[], AbstractAsyncContextManager[None]]) -> AsyncIterator[None]:
    """`deciders` for the whole test."""
    async with deciders():
        yield


@pytest.fixture
async def make_producer(around: Surroundings, outcomes: LogOutcomes) -> AsyncIterator[MakeProducer]:
    """Started producers, each with a keyring of its own, stopped at the end."""
    async with AsyncExitStack() as closing:

        async def make(principal: PrincipalName = AGENT, *, awaits: bool = True) -> MemoryProducer:
            producer = MemoryProducer(
                Settings(kafka=around.bootstrap, prefix=around.installation.names.prefix),
                around.installation,
                principal=principal,
                secrets=[SIGNERS[principal]],
                keyring=around.new_keyring(),
                policy=lambda: around.rules.policy,
                outcomes=outcomes if awaits else None,
            )
            return await closing.enter_async_context(producer)

        yield make
