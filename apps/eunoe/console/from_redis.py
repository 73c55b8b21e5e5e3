"""What Redis holds: the store itself, what waits for a person, what is being erased."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.console.board import PartName
from eunoe.console.from_log import Look
from eunoe.console.known_log import KnownLog
from eunoe.console.snapshot import (
    AtStage,
    Erasures,
    Queued,
    Review,
    Service,
    Store,
)
from eunoe.console.tail import Tail, reader
from eunoe.processors.attesting.pending import Erasure, attest_prefix, pending
from eunoe.readmodels.review import NAME, ReviewNames, queue_of
from eunoe.readmodels.store import ask
from eunoe.runtime.errors import ForeignLog
from eunoe.runtime.installation import Installation, check_redis
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import RECEIPTS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import Millis, Partition
from eunoe.schemas.receipts import Stage
from eunoe.schemas.topics import Topic

RECEIPTS_SEEN: Final = 300
CLOSED: Final = "closed"
"""No receipt yet: the generation is closed, and nothing is proved."""
CONFLICT: Final = "conflict"
_NO_LOG: Final = str(None)
"""What `check_redis` names as the log of a Redis that is tied to none."""
STAGES: Final = (CLOSED, *(each.value for each in Stage))
_REASONS: Final = frozenset({*(each.value for each in Reason), CONFLICT})


@asynccontextmanager
async def store_of(settings: Settings) -> AsyncIterator[Redis]:
    redis = await connect(settings.redis)
    try:
        yield redis
    finally:
        await redis.aclose()


@dataclass(frozen=True, slots=True)
class StoreSource:
    settings: Settings
    known: KnownLog
    name: PartName = "store"
    asks: tuple[Service, ...] = (Service.REDIS,)
    every: float = 1.0
    deadline: float = 2.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        async with store_of(self.settings) as redis:
            server = await redis.info("server")

            async def look() -> Store:
                bound = await _bound(redis, self.known.current)
                memory = await redis.info("memory")
                return Store(
                    version=str(server.get("redis_version", "")),
                    mode=str(server.get("redis_mode", "")),
                    used=int(memory.get("used_memory", 0)),
                    limit=int(memory.get("maxmemory", 0)),
                    bound=bound,
                )

            yield look


async def _bound(redis: Redis, installation: Installation | None) -> bool:
    """False where Redis is tied to no log: it lost everything since, or nobody was here yet. Raises `ForeignLog`."""
    if installation is None:
        return True
    try:
        await check_redis(redis, installation)
    except ForeignLog as foreign:
        if foreign.expected != _NO_LOG:
            raise
        return False
    return True


@dataclass(frozen=True, slots=True)
class ReviewSource:
    settings: Settings
    known: KnownLog
    name: PartName = "review"
    asks: tuple[Service, ...] = (Service.REDIS,)
    every: float = 2.0
    deadline: float = 5.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        async with store_of(self.settings) as redis:

            async def look() -> Review:
                self.known.still(installation)
                return await review_of(redis, installation)

            yield look


async def review_of(redis: Redis, installation: Installation) -> Review:
    """The queue over all tenants and partitions: counts and ages, no item."""
    items, counts, oldest = 0, Counter[str](), dict[str, Millis]()
    for number in range(installation.partitions):
        prefix = await GenerationStore(redis).serving(Prefix(installation.log_id, Partition(number), NAME))
        queue = await queue_of(redis, prefix)
        items += queue.items
        names, reasons = ReviewNames(prefix), sorted(queue.oldest)
        counted = await ask(redis, *(("ZCARD", names.by(each)) for each in reasons)) if reasons else []
        for reason, count in zip(reasons, counted, strict=True):
            told = reason if reason in _REASONS else "other"
            counts[told] += int(count)
            oldest[told] = min(oldest.get(told, queue.oldest[reason]), queue.oldest[reason])
    return Review(
        items=items,
        reasons=tuple(Queued(reason=each, items=n, oldest=oldest.get(each)) for each, n in counts.most_common()),
    )


@dataclass(frozen=True, slots=True)
class ErasuresSource:
    settings: Settings
    known: KnownLog
    name: PartName = "erasures"
    asks: tuple[Service, ...] = (Service.KAFKA, Service.REDIS)
    every: float = 2.0
    deadline: float = 8.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        topic = installation.topic(Topic.RECEIPTS)
        async with reader(self.settings) as consumer, store_of(self.settings) as redis:
            tail = Tail(consumer, topic, installation.partitions, RECEIPTS_SEEN, receipt_of)

            async def look() -> Erasures:
                self.known.still(installation)
                await tail.refresh()
                waiting = [
                    (number, each)
                    for number in range(installation.partitions)
                    for each in await pending(redis, attest_prefix(installation.log_id, Partition(number)))
                ]
                return erasures_of(waiting, list(tail))

            yield look


def receipt_of(record: Any) -> tuple[int, Stage] | None:
    """The offset of the closing event and the stage; None for what this version cannot read."""
    try:
        statement = json.loads(RECEIPTS.decode(record.value or b"").body)
        return int(statement["closed_at_offset"]), Stage(statement["stage"])
    except (SchemaError, ValueError, KeyError, TypeError):
        return None


def erasures_of(waiting: list[tuple[int, Erasure]], written: list[tuple[int, tuple[int, Stage]]]) -> Erasures:
    """Where each erasure is that is not wholly proved. An erasure whose receipts are too old to be looked at counts as
    closed: it says less than is proved, never more."""
    order = list(Stage)
    reached: dict[tuple[int, int], Stage] = {}
    for partition, (offset, stage) in written:
        before = reached.get((partition, offset))
        if before is None or order.index(stage) > order.index(before):
            reached[partition, offset] = stage
    counts, oldest = Counter[str](), dict[str, Millis]()
    for partition, erasure in waiting:
        last = reached.get((partition, erasure.offset))
        at = CLOSED if last is None else last.value
        counts[at] += 1
        oldest[at] = min(oldest.get(at, erasure.closed_at), erasure.closed_at)
    seen = Counter(each.value for _, (_, each) in written)
    return Erasures(
        stages=tuple(
            AtStage(stage=each, erasures=counts[each], oldest=oldest[each]) for each in STAGES if counts[each]
        ),
        receipts=tuple((each.value, seen[each.value]) for each in Stage),
    )
