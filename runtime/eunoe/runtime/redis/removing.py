"""Removing a forgotten tenant's keys from a projection, before it moves past the event that ended the tenant.

Each step is bound to the projection's position, as every write of it is: whoever comes late, and would meet keys of the
tenant that has the name afterwards, removes nothing. Killed in between, it is begun once more by whoever reads on from
there, and finds less to do. Keys are found by walking all of this Redis once: a tenant is forgotten seldom, and no list
of its keys has to be kept for that.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation, Step, Watermark

KEYS_A_STEP: Final = 50
MEMBERS_A_STEP: Final = 200
"""So that no call keeps others waiting: a key that counts in a digest costs as much as it has members."""
_MEMBERS: Final = {
    b"set": ("SCARD", "SRANDMEMBER", "SREM"),
    b"hash": ("HLEN", "HRANDFIELD", "HDEL"),
    b"zset": ("ZCARD", "ZRANDMEMBER", "ZREM"),
}


async def remove_keys(
    redis: Redis, watermark: Watermark, prefix: Prefix, position: int, name: str, goes: Callable[[str], bool]
) -> None:
    """Remove every key under ``prefix`` whose rest holds ``name`` after a colon and for which ``goes`` of it is true.

    Raises `WatermarkMismatch` where the projection is not at ``position``.
    """
    client: Any = redis
    begin, found = len(str(prefix)), []
    async for key in client.scan_iter(match=f"{prefix}*:{name}*", count=1_000):
        if not goes(key.decode()[begin:]):
            continue
        await _empty(client, watermark, position, key)
        found.append(key)
        if len(found) == KEYS_A_STEP:
            await do(watermark, position, (("UNLINK", *found),))
            found = []
    if found:
        await do(watermark, position, (("UNLINK", *found),))


async def do(watermark: Watermark, position: int, operations: Sequence[Operation]) -> None:
    """One step that leaves the position where it is. Raises `WatermarkMismatch`."""
    await watermark.move([Step(position, position, operations)])


async def _empty(client: Any, watermark: Watermark, position: int, key: bytes) -> None:
    """Take out members until few are left."""
    commands = _MEMBERS.get(await client.type(key))
    if commands is None:
        return
    count, some, take = commands
    while int(await client.execute_command(count, key)) > MEMBERS_A_STEP:
        members = await client.execute_command(some, key, MEMBERS_A_STEP)
        await do(watermark, position, ((take, key, *members),))
