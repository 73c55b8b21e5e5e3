"""Where a switch or a way back that was killed halfway is gone on with, and the lease that keeps a rebuild alone."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.readmodels.rebuild import lease
from eunoe.readmodels.rebuild.errors import AlreadyRebuilding, NoSuchGeneration
from eunoe.readmodels.rebuild.lease import leased
from eunoe.readmodels.rebuild.places import Places
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import LogId, Partition, new_id
from eunoe.schemas.topics import TopicNames
from eunoe.testing.waiting import until


@pytest.fixture
def places(redis_client: Redis) -> Places:
    installation = Installation(log_id=LogId(new_id()), partitions=4, names=TopicNames(prefix=""))
    return Places(redis=redis_client, installation=installation, model="history")


async def serving(places: Places) -> list[int]:
    return [each.serving for each in (await places.generations()).values()]


async def switch(places: Places, prefixes: Sequence[Prefix]) -> None:
    for each in prefixes:
        await places.store.switch(each, (await places.store.of(places.prefix(each.partition))).serving)


async def test_a_way_back_that_was_killed_halfway_comes_to_its_end(places: Places) -> None:
    await switch(places, await places.begin())
    assert await serving(places) == [2, 2, 2, 2]
    await switch(places, [each for each, _ in (await places.kept())[:2]])
    assert await serving(places) == [1, 1, 2, 2]
    await switch(places, [each for each, _ in await places.kept()])
    assert await serving(places) == [1, 1, 1, 1]
    await switch(places, [each for each, _ in await places.kept()])
    assert await serving(places) == [2, 2, 2, 2], "and there is a way forward again"


async def test_a_switch_that_was_killed_halfway_is_gone_on_with_or_taken_back(places: Places) -> None:
    begun = await places.begin()
    await switch(places, begun[:2])
    assert [each.partition for each in await places.begin()] == [2, 3]
    await switch(places, [each for each, _ in await places.kept()])
    assert await serving(places) == [1, 1, 1, 1]
    with pytest.raises(NoSuchGeneration, match="generation 2 was taken back before every partition had it"):
        await places.begin()


async def test_a_lease_that_ran_out_is_taken_again_unless_it_is_somebody_else_s(redis_client: Redis) -> None:
    prefix = Prefix(LogId(new_id()), Partition(0), "history")
    key = f"{prefix.generations}:rebuilding"
    async with leased(redis_client, prefix):
        mine = await redis_client.get(key)
        await redis_client.delete(key)

        async def again() -> bool:
            return bool(await redis_client.get(key) == mine)

        await until(again, 10)
        # Redis says nothing for longer than the lease lasts.
        client: Any = redis_client
        await client.client_pause(4_500)
        await until(again, 20)
    assert await redis_client.get(key) is None

    async def robbed() -> None:
        async with leased(redis_client, prefix):
            await redis_client.set(key, "another", px=60_000)
            await asyncio.Event().wait()

    with pytest.raises(AlreadyRebuilding):
        await robbed()


async def test_a_lease_ends_also_where_the_client_forgets_that_it_was_cancelled(
    redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asyncio.Event()
    kept = lease._kept

    async def deaf(*arguments: Any) -> bool:
        asked.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.2)
        return await kept(*arguments)

    monkeypatch.setattr(lease, "_kept", deaf)
    prefix = Prefix(LogId(new_id()), Partition(0), "history")

    async def held() -> None:
        async with leased(redis_client, prefix):
            await asked.wait()

    await asyncio.wait_for(held(), 10)
    assert await redis_client.get(f"{prefix.generations}:rebuilding") is None
