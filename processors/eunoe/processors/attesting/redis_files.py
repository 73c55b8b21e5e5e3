"""Redis's own files: an append-only file and a snapshot keep what was deleted until they are written anew."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

_POLL_S: Final = 0.1
_LONGEST_S: Final = 60.0
_BUSY: Final = ("in progress", "scheduled")


async def rewritten(redis: Redis) -> Mapping[str, Any]:
    """Has the files written anew, waits, and says so as a check of a receipt.

    A Redis that does not allow it, or is not done within a minute, is a check that did not pass: not an error, for
    nothing that eunoe holds is waiting for it. On a cluster every master is asked by its own partition's attester.
    """
    files = []
    try:
        before = await _persistence(redis)
        if int(before.get("aof_enabled", 0)):
            await _asked(redis, Redis.bgrewriteaof)
            files.append("append-only file")
        if await _snapshots(redis):
            await _asked(redis, Redis.bgsave)
            files.append("snapshot")
        found = await _done(redis)
    except (RedisError, TimeoutError) as error:
        return {"check": f"Redis's own files were not written anew ({type(error).__name__})", "passed": False}
    well = found.get("aof_last_bgrewrite_status", "ok") == "ok" == found.get("rdb_last_bgsave_status", "ok")
    said = " and ".join(files) + " written anew after the keys were gone" if files else "there are none"
    return {"check": f"Redis's own files: {said}", "passed": bool(well)}


async def _persistence(redis: Redis) -> Mapping[str, Any]:
    found: Mapping[str, Any] = await redis.info("persistence")
    return found


async def _snapshots(redis: Redis) -> bool:
    """Whether it writes snapshots by itself, or has written one since it started."""
    configured = await redis.config_get("save")
    return bool(configured.get("save"))


async def _done(redis: Redis) -> Mapping[str, Any]:
    """What it says once it writes nothing. Raises TimeoutError."""
    async with asyncio.timeout(_LONGEST_S):
        while _writing(found := await _persistence(redis)):  # noqa: ASYNC110 - Redis tells nobody when it is done
            await asyncio.sleep(_POLL_S)
    return found


async def _asked(redis: Redis, command: Callable[[Redis], Awaitable[Any]]) -> None:
    try:
        await command(redis)
    except ResponseError as error:
        if not any(each in str(error).lower() for each in _BUSY):
            raise
        # One that began before the keys were gone does not count: ask again when it is done.
        await _done(redis)
        await command(redis)


def _writing(persistence: Mapping[str, Any]) -> bool:
    names = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
    return any(int(persistence.get(name, 0)) for name in names)
