"""Connecting to Redis: a single server or a cluster, told apart by asking it."""

import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import ResponseError

from eunoe.runtime.redis.cluster import Cluster
from eunoe.runtime.redis.errors import FunctionsUnavailable

_CONNECTIONS: Final = 64
_PATIENCE_S: Final = 20.0
_PER_NODE: Final = 1_000
"""Connections to a node of a cluster at most: its client does not wait for one, and opens no more than it needs."""
_NO_LIBRARY: Final = "eunoe-asks-whether-it-may"

AnyRedis = Redis
"""What the code is typed against. `Cluster` has the same commands for keys of one slot."""


def user_of(url: str) -> str:
    """Whom Redis takes a client of ``url`` for."""
    return urllib.parse.unquote(urllib.parse.urlsplit(url).username or "") or "default"


async def connect(url: str) -> Redis:
    """A client for ``url`` whose answers are bytes.

    Raises `FunctionsUnavailable` before Redis 7, and where Functions are switched off or not allowed to this user: at
    the start, for the first call may come much later.
    """
    # A pool that waits: with the usual one, the hundred and first caller at a time gets an error.
    redis = Redis.from_pool(BlockingConnectionPool.from_url(url, max_connections=_CONNECTIONS, timeout=_PATIENCE_S))
    try:
        server = await _examined(redis)
    except BaseException:
        await redis.aclose()
        raise
    if server.get("redis_mode") != "cluster":
        return redis
    await redis.aclose()
    return Cluster.from_url(url, max_connections=_PER_NODE)  # type: ignore[return-value]  # same commands, see AnyRedis


async def _examined(redis: Redis) -> Mapping[str, Any]:
    """What it says of itself. Raises `FunctionsUnavailable`."""
    server: Mapping[str, Any] = await redis.info("server")
    if int(str(server["redis_version"]).split(".")[0]) < 7:
        raise FunctionsUnavailable
    try:
        await redis.function_list(_NO_LIBRARY)
    except ResponseError as error:  # unknown command, or no permission
        raise FunctionsUnavailable from error
    return server
