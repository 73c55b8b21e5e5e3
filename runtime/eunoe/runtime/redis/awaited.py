"""A Redis that need not be there yet: whoever can go on without it starts all the same, and has it once it is back."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, cast

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import RedisError

from eunoe.runtime.errors import RuntimeFault
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.errors import ProjectionError

FIRST_S: Final = 2.0
"""How long a start waits for Redis."""
_AGAIN_S: Final = 1.0

log = logging.getLogger(__name__)

Ready = Callable[[Redis], Awaitable[None]]


@asynccontextmanager
async def awaited_redis(url: str, ready: Ready, first: float = FIRST_S) -> AsyncIterator[Redis]:
    """A client for ``url``, for which ``ready`` has returned. Raises as `connect` and ``ready`` do.

    Where Redis does not answer within ``first`` seconds, the client raises redis' ConnectionError for every command,
    and is connected behind the scenes, about a second after Redis is back. What is wrong with it then (it belongs to
    another log, or has no Functions) every command raises.
    """
    awaited = _Awaited(url, ready)
    try:
        async with asyncio.timeout(first):
            redis = await awaited.connected()
    except (RedisError, OSError, TimeoutError) as away:
        log.info("Redis does not answer at the start (%s); it is tried again", type(away).__name__)
        task = asyncio.create_task(awaited.reach(), name="redis-awaited")
        try:
            yield cast(Redis, awaited)
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await awaited.close()
        return
    try:
        yield redis
    finally:
        await redis.aclose()


class _Awaited:
    """Stands for the client until there is one, and hands everything on to it from then on."""

    def __init__(self, url: str, ready: Ready) -> None:
        self._url = url
        self._ready = ready
        self._redis: Redis | None = None
        self._fault: Exception | None = None

    async def connected(self) -> Redis:
        redis = await connect(self._url)
        try:
            await self._ready(redis)
        except BaseException:
            await redis.aclose()
            raise
        return redis

    async def reach(self) -> None:
        """Returns once it is connected, or something is wrong that waiting does not mend."""
        while True:
            try:
                async with asyncio.timeout(FIRST_S):
                    self._redis = await self.connected()
            except (RuntimeFault, ProjectionError) as fault:
                self._fault = fault
            except (RedisError, OSError, TimeoutError):
                await asyncio.sleep(_AGAIN_S)
                continue
            return

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()

    def __getattr__(self, name: str) -> Any:
        if self._fault is not None:
            raise self._fault
        if self._redis is None:
            raise RedisAway("Redis has not answered since this client started")
        return getattr(self._redis, name)
