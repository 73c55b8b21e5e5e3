"""A master of the Redis Cluster is killed and its replica takes over: with all it had, and without its last writes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import pytest

from cluster_fixtures import ThreeNodes, off_loop, redis_replicated
from eunoe.client.memory import Memory
from eunoe.crypto.errors import CryptoWorldError, KeySourceUnavailable
from eunoe.runtime.errors import WorldFault
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices
from integration.cluster.test_living import (
    MODELS,
    TENANTS,
    as_the_log_says,
    everywhere,
    found,
    remember,
    slot_of,
)

__all__ = ["redis_replicated"]


@pytest.fixture
def cluster(redis_replicated: ThreeNodes) -> ThreeNodes:
    """In place of the one without replicas."""
    return redis_replicated


class Readers:
    """Ask for every tenant all the while. What came back is a set of orders, or an error of the world's."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._over = asyncio.Event()
        self.answers: dict[str, list[frozenset[int]]] = {each: [] for each in TENANTS}
        self.refused: dict[str, Counter[str]] = {each: Counter() for each in TENANTS}

    def stop(self) -> None:
        self._over.set()

    async def read(self, tenant: str) -> None:
        while not self._over.is_set():
            try:
                self.answers[tenant].append(frozenset(await found(self._memory, tenant)))
            except (WorldFault, CryptoWorldError) as fault:
                self.refused[tenant][type(fault).__name__] += 1
            await asyncio.sleep(0.01)

    async def more(self, tenants: list[str]) -> None:
        """Returns once each of them was answered again."""
        before = {each: len(self.answers[each]) for each in tenants}
        await until_true(lambda: all(len(self.answers[each]) > before[each] for each in tenants))


@asynccontextmanager
async def reading(memory: Memory) -> AsyncIterator[Readers]:
    """Everybody was answered once, and goes on asking until the end of the block."""
    readers = Readers(memory)
    async with asyncio.TaskGroup() as group:
        for tenant in TENANTS:
            group.create_task(readers.read(tenant))
        try:
            await readers.more(list(TENANTS))
            yield readers
        finally:
            readers.stop()


async def until_true(question: Callable[[], bool]) -> None:
    async def asked() -> bool:
        return question()

    await until(asked)


async def test_a_replica_takes_over_with_all_that_its_master_had(
    memory: Memory, settings: Settings, services: RunningServices, cluster: ThreeNodes
) -> None:
    await remember(memory, 3)
    await everywhere(memory, {0, 1, 2})
    master = cluster.owner(slot_of(services, "acme"))
    others = [each for each in TENANTS if cluster.owner(slot_of(services, each)) is not master]
    assert others, "tenants of several nodes"
    async with reading(memory) as readers:
        master.stop()
        written = asyncio.create_task(remember(memory, 1, 5))  # of people whose keys the client has
        await readers.more(others)
        await off_loop(cluster.failed_over, master)
        await written
        await readers.more(list(TENANTS))
    assert sum(readers.refused["acme"].values()) > 0, "its tenants notice"
    assert not any(readers.refused[each] for each in others), "nobody else does"
    for tenant, answers in readers.answers.items():
        assert set(answers) <= {frozenset({0, 1, 2}), frozenset({0, 1, 2, 5})}, f"{tenant}: never a part of it"
    await everywhere(memory, {0, 1, 2, 5})
    await services.ready()
    await as_the_log_says(settings, "recall")


async def test_a_replica_that_lacks_the_last_writes_heals_and_leads_no_reader_back(
    memory: Memory, settings: Settings, services: RunningServices, cluster: ThreeNodes
) -> None:
    await remember(memory, 3)
    await everywhere(memory, {0, 1, 2})
    master = cluster.owner(slot_of(services, "acme"))
    await off_loop(cluster.replica_of(master).cut_off)
    officer = replace(settings, principal=PrincipalName("dev-officer"))
    async with Memory.connect(officer) as privacy:
        gone = await privacy.forget_subject("customer-2", tenant="acme")
    assert await found(memory, "acme", after=gone.token) == {0, 1}
    await remember(memory, 1, 3)
    told = {each: {0, 1, 3} if each == "acme" else {0, 1, 2, 3} for each in TENANTS}
    for tenant, orders in told.items():
        await until_found(memory, tenant, orders)
    async with reading(memory) as readers:
        assert cluster.replica_of(master).written < master.written, "the replica is behind"
        master.stop()
        await off_loop(cluster.failed_over, master)
        await readers.more(list(TENANTS))
    for tenant, answers in readers.answers.items():
        assert set(answers) == {frozenset(told[tenant])}, f"{tenant}: no way back in time"
    await until(partial(could_write, memory, 4))
    for tenant, orders in told.items():
        await until_found(memory, tenant, orders | {4})
    await services.ready()
    await as_the_log_says(settings, *MODELS)


async def could_write(memory: Memory, number: int) -> bool:
    """Whether the keys, which went back in time as well, are there again, and so it could be sealed."""
    try:
        await remember(memory, 1, number)
    except KeySourceUnavailable:
        return False
    return True


async def until_found(memory: Memory, tenant: str, orders: set[int]) -> None:
    async def readable() -> bool:
        return await found(memory, tenant) == orders

    await until(readable)
