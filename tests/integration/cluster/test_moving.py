"""What the client and the Functions say while a slot moves, without the rest of eunoe."""

import asyncio

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from cluster_fixtures import ThreeNodes, off_loop
from eunoe.runtime.redis.cluster import Cluster
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.errors import SlotMoving
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Step, Watermark
from eunoe.schemas.ids import LogId, Partition


async def test_nothing_is_written_or_answered_while_the_slot_moves(redis_cluster: ThreeNodes) -> None:
    redis = await connect(redis_cluster.url)
    assert isinstance(redis, Cluster)
    try:
        await _moved(redis, redis_cluster)
    finally:
        await redis.aclose()


async def _moved(redis: Redis, cluster: ThreeNodes) -> None:
    prefix = Prefix(LogId("moving"), Partition(7), "tried")
    mark = Watermark(redis, prefix, DIGESTED.load())
    names = [prefix.key(f"x:{each}") for each in range(20)]
    await mark.move([Step(each, each + 1, [("SET", name, "1")]) for each, name in enumerate(names)])
    before = await mark.marks()
    move = await off_loop(cluster.begin_move, redis.keyslot(prefix.watermark))  # type: ignore[attr-defined]
    # Everything is still there, but whoever looks for what is not there cannot know that.
    assert await redis.get(names[0]) == b"1"
    with pytest.raises(SlotMoving):
        await redis.get(prefix.key("x:none"))
    with pytest.raises(SlotMoving):
        await mark.move([Step(20, 21, [("SET", names[0], "2")])])
    await off_loop(move.carry, [each.encode() for each in names[10:]])
    for doing in (
        lambda: mark.move([Step(20, 21, [("SET", names[0], "2")])]),
        lambda: mark.read(20, names),
        lambda: redis.mget(names),
        lambda: redis.get(names[15]),
    ):
        with pytest.raises(SlotMoving):
            await doing()
    pipeline = redis.pipeline(transaction=False)
    pipeline.execute_command("GET", names[0])
    pipeline.execute_command("GET", names[15])
    with pytest.raises(SlotMoving):
        await pipeline.execute()
    await off_loop(move.finish)
    assert await redis.mget(names) == [b"1"] * 20
    assert await mark.marks() == before
    await asyncio.gather(*(redis.get(each) for each in names * 20))
    assert await mark.move([Step(20, 21, [("SET", names[0], "2")])]) == 21


async def test_a_node_that_is_away_costs_nobody_else_a_connection(redis_cluster: ThreeNodes) -> None:
    redis = await connect(redis_cluster.url)
    assert isinstance(redis, Cluster)
    away = redis_cluster.nodes[1]
    owners = {f"tried-{each}": redis_cluster.owner(redis.keyslot(f"tried-{each}")) for each in range(40)}
    theirs = [key for key, owner in owners.items() if owner is away]
    others = [key for key, owner in owners.items() if owner is not away]
    answered, over = 0, asyncio.Event()

    async def read(key: str) -> None:
        nonlocal answered
        while not over.is_set():
            pipeline = redis.pipeline(transaction=False)
            pipeline.execute_command("GET", key)
            assert await redis.get(key) == await redis.get(key) == (await pipeline.execute())[0] == b"1"
            answered += 1

    async def fails(key: str) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.execute_command("GET", key)
        with pytest.raises(RedisError):
            await pipeline.execute()
        with pytest.raises(RedisError):
            await redis.get(key)

    try:
        for key in owners:
            await redis.set(key, "1")
        async with asyncio.TaskGroup() as group:
            for key in others:
                group.create_task(read(key))
            try:
                await asyncio.sleep(0)
                away.stop()
                before = answered
                await asyncio.gather(*map(fails, theirs))
                assert answered > before
            finally:
                over.set()
        await off_loop(away.start)
        await off_loop(redis_cluster.settled)
        assert [await redis.get(key) for key in owners] == [b"1"] * len(owners)
    finally:
        over.set()
        await redis.aclose()
