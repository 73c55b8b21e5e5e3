"""One rebuild of a model at a time: a lease in Redis that ends by itself when its holder dies."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from eunoe.readmodels.rebuild.errors import AlreadyRebuilding
from eunoe.runtime.redis.functions import FunctionLibrary, lua
from eunoe.runtime.redis.prefix import Prefix

LEASE_MS: Final = 4_000
_RENEW_S: Final = 1.0
_LOOK_S: Final = 0.2
_FUNCTIONS: Final = FunctionLibrary(
    "eunoe_lease", lua("eunoe.runtime.redis", "lease.lua"), {"renew": False, "release": False}
).load()


@asynccontextmanager
async def leased(redis: Redis, prefix: Prefix) -> AsyncIterator[None]:
    """Held within the block. Raises `AlreadyRebuilding`, also out of the block where the lease was lost to another.

    Where Redis does not answer for a while the block goes on, as long as it has patience itself, and the lease is taken
    again: what it writes is bound to watermarks and to the generation that it began, whoever else may have come.

    After one that died it waits for the end of that lease, which is seconds.
    """
    key, token = f"{prefix.generations}:rebuilding", secrets.token_hex(8)
    await _take(redis, prefix, key, token)
    holder, lost, over = asyncio.current_task(), False, asyncio.Event()

    async def renew() -> None:
        nonlocal lost
        while not await _within(over, _RENEW_S):
            if not await _kept(redis, key, token) and not over.is_set():
                lost = True
                if holder is not None:
                    holder.cancel()
                return

    task = asyncio.create_task(renew())
    try:
        yield
    except asyncio.CancelledError:
        if lost:
            raise AlreadyRebuilding(prefix.model, 0.0) from None
        raise
    finally:
        # Told, not cancelled: a client that is cancelled just as it answers may forget it, and renewing would go on
        # for ever, with whoever waits for its end. What it asks has a limit of its own.
        over.set()
        await asyncio.gather(task, return_exceptions=True)
        with contextlib.suppress(RedisError):  # without Redis it ends by itself
            await _FUNCTIONS.call(redis, "release", (key,), (token,))


async def _within(over: asyncio.Event, seconds: float) -> bool:
    """Whether it is over, at the latest after so many seconds."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)
    return over.is_set()


async def _kept(redis: Redis, key: str, token: str) -> bool:
    """Renewed, or taken again where it had run out; False where it is somebody else's."""
    try:
        async with asyncio.timeout(LEASE_MS / 1_000 - _RENEW_S):
            if await _FUNCTIONS.call(redis, "renew", (key,), (token, LEASE_MS)):
                return True
            return bool(await redis.set(key, token, nx=True, px=LEASE_MS))
    except (RedisError, OSError, TimeoutError):
        return True  # nobody said that it is another's: it is asked again


async def _take(redis: Redis, prefix: Prefix, key: str, token: str) -> None:
    """A holder that died is waited for until its lease ends; one that renews it is alive."""
    left = LEASE_MS
    while not await redis.set(key, token, nx=True, px=LEASE_MS):
        now = int(await redis.pttl(key))
        if now > left:
            raise AlreadyRebuilding(prefix.model, max(0, LEASE_MS - now) / 1_000)
        left = now
        await asyncio.sleep(_LOOK_S)
