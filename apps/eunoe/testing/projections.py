"""What projections hold, without what may differ between two equal folds: keys made at random and what they blind."""

from collections.abc import Mapping
from typing import Any, Final, cast

from redis.asyncio import Redis

from eunoe.readmodels.recall.keys import TOKEN_BYTES, Head
from eunoe.schemas.ids import LogId

MODELS: Final = ("keys", "subjects", "outcomes", "history", "recall", "review")
_MADE_AT_RANDOM: Final = ":recall:g1:k:"
_MARK: Final = ":watermark"
_BLINDED: Final = ":recall:g1:t:"
_DOCUMENT: Final = ":recall:g1:d:"


async def contents(redis: Redis, log_id: LogId, models: tuple[str, ...] = MODELS) -> Mapping[str, Any]:
    """Every key of ``models`` with its value, comparable between two Redis that folded the same log.

    Index keys and watermarks (where a lane stopped after the last fact) are left out; a posting list counts without
    its blinded name, a document without its tokens.
    """
    found: dict[str, Any] = {}
    lists: dict[str, list[Any]] = {}
    names = [cast("bytes", each) async for each in redis.scan_iter(f"eunoe:{log_id}:*", count=1_000)]
    for name in names:
        key = name.decode("latin-1")  # search terms are bytes
        if not any(f":{each}:g1:" in key for each in models) or _MADE_AT_RANDOM in key or key.endswith(_MARK):
            continue
        value = await _value(redis, name)
        if _BLINDED in key:
            lists.setdefault(key[: -1 - TOKEN_BYTES], []).append(value)
        elif _DOCUMENT in key:
            found[key] = _document(value)
        else:
            found[key] = value
    for scope, postings in lists.items():
        found[scope] = sorted(postings)
    return found


async def _value(redis: Redis, key: bytes) -> Any:
    kind = cast("bytes", await redis.type(key)).decode()
    match kind:
        case "string":
            return await redis.get(key)
        case "hash":
            return dict(sorted((await redis.hgetall(key)).items()))
        case "set":
            return sorted(await redis.smembers(key))
        case "zset":
            return await redis.zrange(key, 0, -1, withscores=True)
        case "list":
            return await redis.lrange(key, 0, -1)
        case _:
            raise ValueError(f"{key!r} is a {kind}")


def _document(data: bytes) -> tuple[Any, ...]:
    head = Head.unpack(data)
    return head.member, head.state, head.version, head.postings, data[head.record_at :]


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The keys in which two projections differ, at most ten, without their values."""
    return [key for key in sorted(one.keys() | other.keys()) if one.get(key) != other.get(key)][:10]
