"""Removing keys by pattern, in steps that are short for everybody else."""

from collections.abc import Callable
from typing import Any, Final

from redis.asyncio import Redis

_STEP: Final = 500


async def unlink_all(redis: Redis, pattern: str, spared: Callable[[bytes], bool] = lambda _: False) -> int:
    """Unlink every key that matches ``pattern`` (glob) and is not ``spared``. Returns how many went."""
    client: Any = redis
    gone, found = 0, []
    async for key in client.scan_iter(match=pattern, count=1_000):
        if spared(key):
            continue
        found.append(key)
        if len(found) == _STEP:
            gone += int(await client.unlink(*found))
            found = []
    if found:
        gone += int(await client.unlink(*found))
    return gone
