"""Readiness told truthfully: a partition that stands still, a read model that lost its data, a sweeper that hangs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.client.lines import Line, line_of
from eunoe.client.memory import Memory
from eunoe.operations.lag import measuring_lag
from eunoe.processors.sweeper import Sweeper
from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.source import PartitionSource
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.stack.local import LocalStack
from eunoe.testing.platform import install
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.health import Item
from eunoe.worker.roles import Role

ROLES = frozenset({Role.DECIDE, Role.PROJECT})
STATEMENT = "Prefers delivery after 18:00."


@pytest.fixture
async def settings(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> Settings:
    """Impatient: what stands still is stuck after two seconds."""
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    return replace(platform.settings, principal=PrincipalName("dev-agent"), stuck_after=2_000)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[RunningServices, Memory]]:
    async with running_services(settings, ROLES) as services, Memory.connect(settings) as memory:
        await services.ready()
        yield services, memory


def line(tenant: str, number: int) -> Line:
    return line_of(
        {
            "op": "remember",
            "tenant": tenant,
            "agent": "bot",
            "purposes": ["support"],
            "subject": "customer-17",
            "ttl": "P30D",
            "statement": STATEMENT,
            "source": {"kind": "user_explicit", "uri": "crm://1"},
            "idempotency_key": f"n-{number}",
        }
    )


def failed(services: RunningServices) -> dict[Item, list[str]]:
    found: dict[Item, list[str]] = {}
    for each in services.failing():
        found.setdefault(each.item, []).append(each.where)
    return found


def reading(services: RunningServices, name: str, *labels: str) -> float | None:
    return next((value for metric, at, value in services.readings() if (metric.name, at) == (name, labels)), None)


async def test_a_partition_whose_fold_hangs_fails_readiness_by_name_and_dumps_its_stacks_once_and_others_go_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    frozen, gate = asyncio.Event(), asyncio.Event()
    fold = HistoryModel.fold

    async def hang(self: HistoryModel, prefix: Any, records: Any) -> Any:
        if frozen.is_set() and prefix.partition == 0:
            await gate.wait()
        return await fold(self, prefix, records)

    monkeypatch.setattr(HistoryModel, "fold", hang)
    async with running(settings) as (services, memory):
        mine, other = tenants_of(services)
        assert failed(services) == {}
        frozen.set()
        await memory.perform(line(mine, 1), timeout=20)
        await memory.perform(line(other, 1), timeout=20)
        await until(lambda: fails(services, Item.MOVING))
        assert failed(services)[Item.MOVING] == ["history partition 0"]
        assert (reading(services, "eunoe_partition_unmoved_seconds", "history", "0") or 0) > 2
        assert reading(services, "eunoe_partition_unmoved_seconds", "recall", "0") == 0
        assert (reading(services, "eunoe_write_unreadable_seconds", "history", "0") or 0) > 1
        assert reading(services, "eunoe_not_ready", "moving") == 1
        await memory.perform(line(mine, 2), timeout=20)  # what stands still holds up nobody else
        await until(lambda: told_for(services, 4))
        dumps = [each.getMessage() for each in caplog.records if "does not move" in each.getMessage()]
        assert len(dumps) == 1
        assert "hang" in dumps[0]
        assert "thread MainThread" in dumps[0]
        assert STATEMENT not in dumps[0]
        gate.set()
        await services.ready(20)
        assert reading(services, "eunoe_write_unreadable_seconds", "history", "0") == 0


async def test_an_assigned_partition_that_is_never_given_a_record_is_found_although_its_lane_sees_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = asyncio.Event()
    fetch = PartitionSource.fetch

    async def never(self: PartitionSource, timeout_ms: int, most: int) -> Any:
        before = await self.position()
        found = await fetch(self, timeout_ms, most)
        if frozen.is_set() and self._at.partition == 0 and self._topic is Topic.LIFECYCLE:
            self.seek(before)
            await asyncio.sleep(timeout_ms / 1_000)
            return ()
        return found

    monkeypatch.setattr(PartitionSource, "fetch", never)
    async with running(settings) as (services, memory):
        mine, _ = tenants_of(services)
        await memory.perform(line(mine, 1), timeout=20)  # the tenant has its keys
        frozen.set()
        sent = await memory.send(line(mine, 2))
        await sent.written()
        await until(lambda: fails(services, Item.MOVING))
        stuck = failed(services)[Item.MOVING]
        assert "recall partition 0" in stuck
        assert not any("partition 1" in each for each in stuck)
        frozen.clear()
        await services.ready(20)


async def test_a_redis_that_lost_its_data_is_named_until_it_is_filled_again(
    settings: Settings, redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = asyncio.Event()
    slow.set()
    fold = HistoryModel.fold

    async def held(self: HistoryModel, prefix: Any, records: Any) -> Any:
        await slow.wait()
        return await fold(self, prefix, records)

    monkeypatch.setattr(HistoryModel, "fold", held)
    async with running(settings) as (services, memory):
        mine, _ = tenants_of(services)
        await memory.perform(line(mine, 1), timeout=20)
        await until(lambda: ready(services))
        slow.clear()
        log_id = services.foundation.installation.log_id
        lost = [key async for key in redis_client.scan_iter(f"eunoe:{log_id}:{{p0}}:history:*")]
        assert lost
        await redis_client.delete(*lost)
        await until(lambda: fails(services, Item.REDIS))
        assert failed(services)[Item.REDIS] == ["history partition 0"]
        slow.set()
        await services.ready(20)


async def test_an_idle_worker_whose_redis_hangs_is_alive_and_not_ready(
    own_stack: LocalStack, topic_names: TopicNames, tmp_path: Path
) -> None:
    platform = await install(own_stack.kafka, own_stack.redis, topic_names, tmp_path)
    settings = replace(platform.settings, stuck_after=2_000)
    async with running_services(settings, frozenset({Role.PROJECT})) as services:
        await services.ready()
        assert failed(services) == {}
        own_stack.redis_server.pause()
        try:
            await until(lambda: fails(services, Item.STORE))
        finally:
            own_stack.redis_server.resume()
        await services.ready(30)


async def test_a_sweeper_that_hangs_fails_readiness(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, hung = asyncio.Event(), asyncio.Event()
    sweep = Sweeper.sweep

    async def hang(self: Sweeper) -> int:
        if hung.is_set():
            await gate.wait()
        return await sweep(self)

    monkeypatch.setattr(Sweeper, "sweep", hang)
    async with running(settings) as (services, _):
        assert (reading(services, "eunoe_sweep_idle_seconds", "0") or 0) < 2
        hung.set()
        both = ["decide partition 0", "decide partition 1"]

        async def both_failed() -> bool:
            return failed(services).get(Item.SWEEPING) == both

        await until(both_failed)
        hung.clear()
        gate.set()
        await services.ready(20)


async def test_kafka_is_told_where_the_projectors_are(settings: Settings) -> None:
    async with running(settings) as (services, memory), measuring_lag(settings) as meter:
        mine, _ = tenants_of(services)
        await memory.perform(line(mine, 1), timeout=20)

        async def told() -> bool:
            groups = [each for each in await meter.measure() if each.name != "decide"]
            lags = [each for group in groups for each in group.partitions]
            return all(each.committed == each.stored and each.stored is not None for each in lags)

        await until(told)


def tenants_of(services: RunningServices) -> tuple[str, str]:
    """One on partition 0, one on partition 1."""
    installation = services.foundation.installation
    names = [f"tenant-{number}" for number in range(20)]
    found = {installation.partition_of(each): each for each in names}  # type: ignore[arg-type]  # any text is a tenant
    return found[0], found[1]  # type: ignore[index]


async def ready(services: RunningServices) -> bool:
    return not services.problems()


async def fails(services: RunningServices, item: Item) -> bool:
    return item in failed(services)


async def told_for(services: RunningServices, seconds: float) -> bool:
    return (reading(services, "eunoe_partition_unmoved_seconds", "history", "0") or 0) > seconds
