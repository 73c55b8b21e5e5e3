"""What a generation holds, as a digest and item by item (``digest.lua`` says what counts)."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.store import answers, text
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Offset

NOTHING: Final = "0" * 36
_SCAN: Final = 1_000
_ASKED: Final = 100
"""Keys whose items are asked for in one call."""
_LOOKS: Final = 3
_SUM: Final = 1 << 48


class Content(Struct, frozen=True, kw_only=True):
    """Where a generation is, and what it holds there: the digest of its items, and how many they are."""

    position: Offset
    digest: str
    items: int

    def same_as(self, other: "Content") -> bool:
        """Whether both hold the same; where they are is for the caller to see to."""
        return (self.digest, self.items) == (other.digest, other.items)


Item = tuple[str, str]
"""The key after the generation's prefix, and the field or member in it (empty for a plain value)."""


class Difference(Struct, frozen=True, kw_only=True):
    """An item that is not the same in both: ``how`` is missing, additional, or different in the generation built."""

    key: str
    field: str
    how: str


async def content_of(redis: Redis, prefix: Prefix) -> Content:
    """What the generation's own projector has counted. Raises `StoreUnavailable`."""
    with answers("reading a digest"):
        found: Any = await redis.hmget(prefix.watermark, ["position", "digest", "items"])
    position, digest, items = found
    return Content(
        position=Offset(int(position or 0)),
        digest=NOTHING if digest is None else text(digest),
        items=int(items or 0),
    )


async def items_of(redis: Redis, prefix: Prefix, functions: LoadedFunctions) -> dict[Item, bytes]:
    """Every item by its weight, read in small steps: whoever writes meanwhile may be seen in part."""
    found: dict[Item, bytes] = {}
    async for keys in _keys(redis, prefix):
        found |= await _weighed(redis, prefix, functions, keys)
    return found


def recounted(items: Mapping[Item, bytes], position: Offset) -> Content:
    """The content that these items make: what the projector should have counted."""
    sums = [0, 0, 0]
    for weight in items.values():
        for at in range(3):
            sums[at] += int(weight[12 * at : 12 * at + 12], 16)
    return Content(position=position, digest="".join(f"{each % _SUM:012x}" for each in sums), items=len(items))


async def _nothing() -> None:
    """They stand still."""


async def differences(
    redis: Redis,
    live: Prefix,
    built: Prefix,
    functions: LoadedFunctions,
    most: int,
    meet: Callable[[], Awaitable[None]] = _nothing,
) -> Sequence[Difference]:
    """At most ``most`` items that differ, and went on differing when they were looked at again.

    ``meet`` brings both to one offset, as far as that can be had beside writers: it is awaited before each other look,
    so that what was only written meanwhile is not taken for a difference. Holds the names of all items in memory.
    """
    here, there = await items_of(redis, live, functions), await items_of(redis, built, functions)
    suspect = sorted(
        {key for key, _ in here.keys() ^ there.keys()}
        | {item[0] for item in here.keys() & there.keys() if here[item] != there[item]}
    )
    del here, there
    found: list[Difference] = []
    for first in range(0, len(suspect), _ASKED):
        differing = await _differing(redis, live, built, functions, suspect[first : first + _ASKED])
        for _ in range(_LOOKS):
            if differing:
                await meet()
                again = await _differing(redis, live, built, functions, sorted({each.key for each in differing}))
                differing = [each for each in again if each in differing]
        found += differing
        if len(found) >= most:
            break
    return found[:most]


async def _differing(
    redis: Redis, live: Prefix, built: Prefix, functions: LoadedFunctions, keys: Sequence[str]
) -> list[Difference]:
    mine, theirs = await _weighed(redis, live, functions, keys), await _weighed(redis, built, functions, keys)
    found = []
    for item in sorted(mine.keys() | theirs.keys()):
        if mine.get(item) != theirs.get(item):
            how = "missing" if item not in theirs else "additional" if item not in mine else "different"
            found.append(Difference(key=item[0], field=item[1], how=how))
    return found


async def _keys(redis: Redis, prefix: Prefix) -> AsyncIterator[list[bytes]]:
    stem: bytes = str(prefix).encode()
    kept: list[bytes] = []
    client: Any = redis
    with answers("listing a generation"):
        async for key in client.scan_iter(match=stem + b"*", count=_SCAN):
            kept.append(bytes(key)[len(stem) :])
            if len(kept) == _ASKED:
                yield kept
                kept = []
    if kept:
        yield kept


async def _weighed(
    redis: Redis, prefix: Prefix, functions: LoadedFunctions, keys: Sequence[str | bytes]
) -> dict[Item, bytes]:
    with answers("weighing a generation"):
        answer = await functions.call(redis, "items", (prefix.watermark,), keys)
    return {(_readable(key), _readable(field)): bytes(weight) for key, field, weight in answer}


def _readable(field: bytes | str) -> str:
    return field if isinstance(field, str) else field.decode("utf-8", "backslashreplace")
