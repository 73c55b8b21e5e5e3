"""The whole of eunoe on a Redis Cluster: life, a rebuild, lost data, and a slot that moves."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from cluster_fixtures import ThreeNodes, off_loop
from eunoe.client.memory import Memory
from eunoe.client.no_memory import REBUILDING, NoMemory
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.readmodels.errors import BeingMoved
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition, PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices

TENANTS: Final = ("acme", "globex", "initech", "umbrella", "hooli", "stark")
MODELS: Final = ("keys", "subjects", "outcomes", "history", "recall", "review")
WRITE: Final[dict[str, Any]] = {
    "agent": "bot",
    "purposes": ["support"],
    "source": {"kind": "user_explicit", "uri": "crm://1"},
    "ttl": "P30D",
}
ASK: Final[dict[str, Any]] = {"agent": "bot", "purpose": "support"}


async def remember(memory: Memory, count: int, start: int = 0) -> list[Outcome]:
    """``count`` memories of each tenant."""
    return await asyncio.gather(
        *(
            memory.remember(
                f"Order {number} is a kettle in green.", tenant=tenant, subject=f"customer-{number % 5}", **WRITE
            )
            for tenant in TENANTS
            for number in range(start, start + count)
        )
    )


async def found(memory: Memory, tenant: str, **more: Any) -> set[int]:
    result = await memory.search("kettle", tenant=tenant, limit=100, **ASK, **more)
    return {int(each.statement.split()[1]) for each in result.records}


async def everywhere(memory: Memory, wanted: set[int]) -> None:
    async def readable() -> bool:
        return all([await found(memory, each) == wanted for each in TENANTS])

    await until(readable)


async def contents(services: RunningServices) -> Mapping[str, list[bytes | None]]:
    """Position and digest of every model in every partition."""
    redis, installation = services.foundation.redis, services.foundation.installation
    told: dict[str, list[bytes | None]] = {}
    for model in MODELS:
        for partition in range(installation.partitions):
            mark = Prefix(installation.log_id, Partition(partition), model).watermark
            answer: Any = redis.hmget(mark, ["position", "digest", "items"])
            told[f"{model}/{partition}"] = await answer
    return told


def slot_of(services: RunningServices, tenant: str) -> int:
    installation = services.foundation.installation
    prefix = Prefix(installation.log_id, installation.partition_of(TenantId(tenant)), "recall")
    redis: Any = services.foundation.redis
    return int(redis.keyslot(prefix.watermark))


async def test_a_life_on_three_nodes_and_a_rebuild(
    memory: Memory, settings: Settings, services: RunningServices, redis_cluster: ThreeNodes
) -> None:
    owners = Counter([redis_cluster.owner(slot_of(services, each)).port for each in TENANTS])
    assert len(owners) >= 2, "tenants of several nodes"
    outcomes = await remember(memory, 3)
    await everywhere(memory, {0, 1, 2})
    for tenant, outcome in zip(TENANTS, outcomes[::3], strict=True):
        assert (await memory.history(tenant, outcome.memory_id or "", **ASK)).entries
        assert await memory.outcome(tenant, outcome.command_id) == outcome
    officer = replace(settings, principal=PrincipalName("dev-officer"))
    async with Memory.connect(officer) as privacy:
        gone = await privacy.forget_subject("customer-2", tenant="acme")
    assert await found(memory, "acme", after=gone.token) == {0, 1}
    async with rebuilding(officer, "recall", lambda _: None) as at:
        for _ in range(2):
            report = await at.rebuild(Wishes(patience=5.0))
            assert len(report.proofs) == 4
            assert await found(memory, "acme") == {0, 1}
            await at.roll_back()
            assert await found(memory, "globex") == {0, 1, 2}
            assert (await at.remove("kept")).keys > 0
    assert await found(memory, "acme") == {0, 1}


async def test_a_node_that_lost_its_last_seconds_heals_from_the_log(
    memory: Memory, services: RunningServices, redis_cluster: ThreeNodes
) -> None:
    await remember(memory, 2)
    await everywhere(memory, {0, 1})
    node = redis_cluster.owner(slot_of(services, "acme"))
    saved = await off_loop(node.saved)
    old = await contents(services)
    for number in range(2, 5):
        await remember(memory, 1, number)
    await everywhere(memory, set(range(5)))
    await settled(services)
    before = await contents(services)
    assert old != before
    await off_loop(node.roll_back, saved)
    await off_loop(redis_cluster.settled)
    await same(services, before)
    await everywhere(memory, set(range(5)))
    await remember(memory, 1, 5)
    await everywhere(memory, set(range(6)))


async def test_a_slot_moves_while_it_is_written_and_read(
    memory: Memory, settings: Settings, services: RunningServices, redis_cluster: ThreeNodes
) -> None:
    await remember(memory, 4)
    await everywhere(memory, {0, 1, 2, 3})
    slot = slot_of(services, "acme")
    moving = [each for each in TENANTS if slot_of(services, each) == slot]
    resting = [each for each in TENANTS if slot_of(services, each) != slot]
    answered, refused, over = Counter[str](), Counter[str](), asyncio.Event()

    async def read(tenant: str) -> None:
        while not over.is_set():
            try:
                assert await found(memory, tenant) >= {0, 1, 2, 3}, "never a part of it"
                answered[tenant] += 1
            except BeingMoved:
                refused[tenant] += 1
            await asyncio.sleep(0)

    async def moved() -> None:
        move = await off_loop(redis_cluster.begin_move, slot)
        try:
            written = asyncio.create_task(remember(memory, 1, 5))  # of people whose keys the client has
            keys = await off_loop(move.keys)
            assert keys
            for key in keys[:60]:
                await off_loop(move.carry, [key])
            with pytest.raises(BeingMoved, match="being moved to another Redis node"):
                await found(memory, "acme")
            without = await memory.try_search("kettle", tenant="acme", **ASK)
            assert without == NoMemory(reason=REBUILDING, fallback="answer without memory", retryable=True)
            rested = {each: answered[each] for each in resting}

            async def others_go_on() -> bool:
                return all(answered[each] > rested[each] for each in resting)

            await until(others_go_on)
        finally:
            await off_loop(move.finish)
        await written
        await everywhere(memory, {0, 1, 2, 3, 5})

    async with asyncio.TaskGroup() as group:
        for tenant in TENANTS:
            group.create_task(read(tenant))
        try:
            await moved()
        finally:
            over.set()  # a cancellation may be lost in ``asyncio.wait_for`` of CPython 3.11
    assert all(refused[each] for each in moving)
    assert not any(refused[each] for each in resting)
    await as_the_log_says(settings, "recall")


async def as_the_log_says(settings: Settings, *models: str) -> None:
    """What each of them holds is what a rebuild makes of the log, with what was written meanwhile."""
    for model in models:
        officer = replace(settings, principal=PrincipalName("dev-officer"))
        async with rebuilding(officer, model, lambda _: None) as at:
            report = await at.rebuild(Wishes(switch=False))
        assert len(report.proofs) == 4, model


async def settled(services: RunningServices) -> None:
    """Every lane is at the end of its log."""

    async def done() -> bool:
        return all(lane.behind == 0 for each in services.models for lane in lanes(each))

    await until(done)


async def same(services: RunningServices, before: Mapping[str, list[bytes | None]]) -> None:
    """What each model holds is what it held at least as far, place by place; positions may go on by markers."""

    async def healed() -> bool:
        with contextlib.suppress(Exception):
            now = await contents(services)
            return all(
                int(now[place][0] or 0) >= int(was[0] or 0) and now[place][1:] == was[1:]
                for place, was in before.items()
            )
        return False

    await until(healed)


def lanes(model: Any) -> list[Any]:
    return list(model.running.values())
