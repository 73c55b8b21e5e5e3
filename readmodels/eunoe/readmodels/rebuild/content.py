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
MIXED: Final = "mixed"
_SCAN: Final = 1_000
_ASKED: Final = 100
"""Keys whose items are asked for in one call."""
_LOOKS: Final = 3
_SUM: Final = 1 << 48


class Content(Struct, frozen=True, kw_only=True):
    """Where a generation is, and what it holds there: the digest of its items, and how many they are.

    ``rules`` says by which it was counted, empty where nothing was; `MIXED`: by workers of several versions in turn,
    and then there is no digest, and no number.
    """

    position: Offset
    digest: str
    items: int
    rules: str = ""

    @property
    def number(self) -> int | None:
        """How many items; None where nobody has counted."""
        return None if self.rules == MIXED else self.items

    def same_as(self, other: "Content") -> bool:
        """Whether both hold the same; where they are is for the caller to see to. False where nobody can tell."""
        return self.comparable_with(other) and (self.digest, self.items) == (other.digest, other.items)

    def comparable_with(self, other: "Content") -> bool:
        """Whether their digests tell anything about each other."""
        return MIXED not in (self.rules, other.rules) and (
            self.rules == other.rules or not (self.rules and other.rules)
        )


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
        found: Any = await redis.hmget(prefix.watermark, ["position", "digest", "items", "rules"])
    position, digest, items, rules = found
    by = "" if rules is None else text(rules)
    return Content(
        position=Offset(int(position or 0)),
        digest=text(digest) if digest is not None else "" if by == MIXED else NOTHING,
        items=int(items or 0),
        rules=by,
    )


async def items_of(redis: Redis, prefix: Prefix, functions: LoadedFunctions) -> dict[Item, bytes]:
    """Every item by its weight, read in small steps: whoever writes meanwhile may be seen in part."""
    found: dict[Item, bytes] = {}
    async for keys in _keys(redis, prefix):
        found |= await _weighed(redis, prefix, functions, keys)
    return found


async def counting(redis: Redis, prefix: Prefix, functions: LoadedFunctions) -> str:
    """The name of the rules by which ``functions`` count."""
    with answers("asking how a generation is counted"):
        return text(await functions.call(redis, "counting", (prefix.watermark,), ()))


def recounted(items: Mapping[Item, bytes], position: Offset, rules: str = "") -> Content:
    """The content that these items make: what the projector should have counted, by ``rules``."""
    sums = [0, 0, 0]
    for weight in items.values():
        for at in range(3):
            sums[at] += int(weight[12 * at : 12 * at + 12], 16)
    return Content(
        position=position, digest="".join(f"{each % _SUM:012x}" for each in sums), items=len(items), rules=rules
    )


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
    so that what was only written meanwhile is not taken for a difference. Holds a hundred keys at a time.
    """
    found: dict[Item, Difference] = {}  # a scan may name a key twice
    for first, second in ((live, built), (built, live)):
        async for keys in _keys(redis, first):
            # What both have was looked at when the first one was gone through.
            asked = keys if first is live else await _absent(redis, second, functions, keys)
            for each in await _lasting(redis, live, built, functions, asked, meet):
                found[each.key, each.field] = each
            if len(found) >= most:
                return [found[item] for item in sorted(found)][:most]
    return [found[item] for item in sorted(found)]


async def _absent(redis: Redis, prefix: Prefix, functions: LoadedFunctions, keys: Sequence[bytes]) -> Sequence[bytes]:
    """Those of which the generation holds nothing that counts."""
    there = {key for key, _ in await _weighed(redis, prefix, functions, keys)}
    return [each for each in keys if _readable(each) not in there]


async def _lasting(
    redis: Redis,
    live: Prefix,
    built: Prefix,
    functions: LoadedFunctions,
    keys: Sequence[bytes],
    meet: Callable[[], Awaitable[None]],
) -> Sequence[Difference]:
    differing = await _differing(redis, live, built, functions, keys) if keys else []
    for _ in range(_LOOKS):
        if not differing:
            break
        await meet()
        suspect = {each.key for each in differing}
        again = await _differing(redis, live, built, functions, [each for each in keys if _readable(each) in suspect])
        differing = [each for each in again if each in differing]
    return differing


async def _differing(
    redis: Redis, live: Prefix, built: Prefix, functions: LoadedFunctions, keys: Sequence[bytes]
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
    redis: Redis, prefix: Prefix, functions: LoadedFunctions, keys: Sequence[bytes]
) -> dict[Item, bytes]:
    with answers("weighing a generation"):
        answer = await functions.call(redis, "items", (prefix.watermark,), keys)
    return {(_readable(key), _readable(field)): bytes(weight) for key, field, weight in answer}


def _readable(field: bytes | str) -> str:
    return field if isinstance(field, str) else field.decode("utf-8", "backslashreplace")
