"""Connecting to Redis: a single server or a cluster, told apart by asking it."""

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from eunoe.runtime.redis.errors import FunctionsUnavailable

AnyRedis = Redis
"""What the code is typed against. `RedisCluster` has the same commands for keys of one slot."""


async def connect(url: str) -> Redis:
    """A client for ``url`` whose answers are bytes. Raises `FunctionsUnavailable` before Redis 7."""
    redis = Redis.from_url(url)
    server = await redis.info("server")
    if int(str(server["redis_version"]).split(".")[0]) < 7:
        await redis.aclose()
        raise FunctionsUnavailable
    if server.get("redis_mode") != "cluster":
        return redis
    await redis.aclose()
    return RedisCluster.from_url(url)  # type: ignore[return-value]  # same commands, see AnyRedis
