"""Where a live installation can hold bytes, as far as this machine reaches, and what it says where it does not."""

import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from eunoe.operations.byte_places import read_topics
from eunoe.operations.byte_search import Where
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import MemoryAccepted, MemoryQuarantined
from eunoe.schemas.ids import MemoryId, TenantId
from eunoe.schemas.topics import Topic

_HERE: Final = frozenset({"127.0.0.1", "::1", "localhost"})


async def places_of(
    settings: Settings, installation: Installation, redis: Redis, also: tuple[Path, ...]
) -> tuple[Where, tuple[str, ...]]:
    """Everything to search, and what cannot be searched from here. Only what is this installation's is looked at,
    but for the files of Kafka and Redis, which are looked at whole."""
    ours = f"eunoe:{installation.log_id}:"
    segments = tuple(each for each in settings.kafka_log_dirs if each.is_dir())
    stored = await _redis_files(settings, redis)
    where = Where(
        kafka=settings.brokers,
        redis=redis,
        prefix=installation.names.prefix,
        topics=frozenset(installation.topic(each) for each in Topic),
        keys=f"{ours}*",
        scratch=ours,
        kafka_folders=segments,
        redis_folders=stored,
        other_folders=also,
    )
    missing = [("segment files: none of kafka_log_dirs is a folder here", segments), ("Redis's files", stored)]
    return where, tuple(f"not searched: {name}" for name, found in missing if not found)


async def _redis_files(settings: Settings, redis: Redis) -> tuple[Path, ...]:
    """The append-only files and the snapshot of a Redis on this machine. One elsewhere has its files elsewhere."""
    if urllib.parse.urlsplit(settings.redis).hostname not in _HERE:
        return ()
    try:
        given = [await redis.config_get(each) for each in ("dir", "appenddirname", "dbfilename")]
    except ResponseError:  # a managed Redis shows nobody its settings
        return ()
    named = {_text(name): _text(value) for each in given for name, value in each.items()}
    folder = Path(named.get("dir", ""))
    found = [folder / named[each] for each in ("appenddirname", "dbfilename") if named.get(each)]
    return tuple(each for each in found if each.exists())


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


async def sealed_bodies(
    settings: Settings, installation: Installation, tenant: TenantId, wanted: frozenset[MemoryId]
) -> Mapping[MemoryId, bytes]:
    """The sealed body of each record of ``wanted`` as it lies on ``memory-lifecycle``."""
    found: dict[MemoryId, bytes] = {}
    counts = {installation.topic(Topic.LIFECYCLE): installation.partitions}
    async for record in read_topics(settings.brokers, counts, "read_committed"):
        fact: Any = EVENTS.decode(record.value).fact if record.key == tenant.encode() else None
        if isinstance(fact, MemoryAccepted | MemoryQuarantined) and fact.draft.memory_id in wanted:
            found[fact.draft.memory_id] = fact.draft.body
    return found
