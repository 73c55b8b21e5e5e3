"""Which key-encryption keys are in use: on the log, in the index keys of `recall`, in the processes that hold them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from eunoe.crypto.hierarchy import KEK_WRAPPED, kek_behind
from eunoe.processors.shredding.rewrapping import tenant_key_of
from eunoe.readmodels.recall import keys as recall
from eunoe.readmodels.recall.index_key import wrapper_in
from eunoe.runtime.holding import Holder, holders
from eunoe.runtime.installation import Installation
from eunoe.runtime.live_keys import LiveKeys, reading_live_keys
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.control import KekRotation
from eunoe.schemas.ids import Offset, Partition
from eunoe.worker.foundation import Foundation


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """A partition of ``memory-keys`` up to ``end``. ``by_kek``: live keys by the KEK without which they do not open.

    ``orphans``: live ones whose tenant key is destroyed, so that nothing opens them.
    """

    partition: Partition
    end: Offset
    by_kek: Mapping[str, int]
    orphans: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysInUse:
    """``index_keys``: of every generation of `recall`, by KEK."""

    wraps: str
    rotation: KekRotation | None
    partitions: Sequence[PartitionKeys]
    index_keys: Mapping[str, int]
    holders: Sequence[Holder] = field(default_factory=tuple)

    @property
    def by_kek(self) -> Mapping[str, int]:
        """Live keys of all partitions."""
        return sum((Counter(each.by_kek) for each in self.partitions), Counter())

    def behind(self, kek_id: str) -> int:
        """Live keys on the log that open only with another KEK."""
        return sum(count for each, count in self.by_kek.items() if each != kek_id)

    def indexes_behind(self, kek_id: str) -> int:
        return sum(count for each, count in self.index_keys.items() if each != kek_id)


async def keys_in_use(foundation: Foundation) -> KeysInUse:
    """All of it, as it is now. Raises what Kafka and Redis raise."""
    async with reading_keys(foundation) as look:
        return await look()


@asynccontextmanager
async def reading_keys(foundation: Foundation) -> AsyncIterator[Callable[[], Awaitable[KeysInUse]]]:
    """To be asked again and again: the log is read once, and then what came since."""
    installation, brokers = foundation.installation, foundation.settings.brokers
    async with AsyncExitStack() as closing:
        reading: dict[Partition, LiveKeys] = {}
        for number in range(installation.partitions):
            live = reading_live_keys(brokers, installation, Partition(number))
            reading[Partition(number)] = await closing.enter_async_context(live)

        async def look() -> KeysInUse:
            return KeysInUse(
                wraps=foundation.kek.kek_id,
                rotation=foundation.control.state.rotation,
                partitions=[await _partition(number, live) for number, live in reading.items()],
                index_keys=await index_keys(foundation.redis, installation),
                holders=await holders(foundation.redis, installation.log_id),
            )

        yield look


async def _partition(partition: Partition, live: LiveKeys) -> PartitionKeys:
    end = await live.catch_up()
    counts: Counter[str] = Counter()
    orphans = 0
    for each in live.keys.values():
        if each.kind in KEK_WRAPPED or tenant_key_of(each.wrapped_by) in live.keys:
            counts[kek_behind(each.wrapped_by)] += 1
        else:
            orphans += 1
    return PartitionKeys(partition, end, dict(counts), orphans)


async def index_keys(redis: Redis, installation: Installation) -> Mapping[str, int]:
    """The index keys of every generation, also of those kept, being built or as of then; by KEK."""
    counts: Counter[str] = Counter()
    client: Any = redis
    for number in range(installation.partitions):
        prefix = Prefix(installation.log_id, Partition(number), recall.MODEL)
        pattern = str(prefix.of(0)).replace(":g0:", ":g*:")
        async for key in client.scan_iter(match=f"{pattern}{recall.index_key_pattern()}", count=1_000):
            stored = await client.get(key)
            if stored is not None:
                counts[kek_behind(wrapper_in(bytes(stored)))] += 1
            await asyncio.sleep(0)
    return dict(counts)
