"""Reading the log for a proof: which keys a generation had, and what ``memory-keys`` holds of them now.

Nothing here trusts a read model or the shredder: key ids come from the facts, values from the whole key partition read
back uncommitted, so that what an open or aborted transaction wrote is seen as well.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.processors.attesting.pending import Erasure
from eunoe.processors.shredding.issued import ids_of, record_of
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.codec import EVENTS, KEY_RECORDS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event, KeyIssued, MemoryAccepted, MemoryQuarantined
from eunoe.schemas.ids import KeyId, MemoryId, Offset, Partition, Pseudonym, TenantId
from eunoe.schemas.topics import Topic

_BATCH: Final = 1_000


@dataclass(frozen=True, slots=True)
class KeyLog:
    """One partition's key topic, read to its end."""

    values: Mapping[KeyId, bytes]
    """The last value under each id that still has one anywhere in the log, for those asked for: the wrapped bytes."""
    tombstones: frozenset[KeyId]
    records: int
    control: KeyId | None
    """A key that nobody asked to destroy and that was found with its value: the read sees what is there."""
    last_tombstone: Offset
    """Of those asked for; -1 where none is there any more."""

    def of(self, ids: frozenset[KeyId]) -> "KeyLog":
        """What it says of some of the keys that were asked for."""
        values = {key: value for key, value in self.values.items() if key in ids}
        return replace(self, values=values, tombstones=self.tombstones & ids)


@dataclass(slots=True)
class _Keys:
    """Key ids of several generations and tenants of one partition, found in one pass."""

    wanted: Mapping[tuple[TenantId, Pseudonym | None, int], Erasure]
    found: dict[Offset, set[KeyId]] = field(default_factory=dict)
    single: dict[tuple[TenantId, MemoryId], KeyId] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        tenant = event.header.tenant
        if isinstance(event.fact, KeyIssued):
            whole = self.wanted.get((tenant, None, event.fact.incarnation))
            if whole is not None:
                self.found[whole.offset].update(ids_of(event.fact))
        match event.fact:
            case KeyIssued(subject=subject, generation=generation) as fact if subject is not None:
                erasure = self.wanted.get((tenant, subject, generation))
                if erasure is not None:
                    self.found[erasure.offset].update(ids_of(fact))
                if (memory_id := record_of(fact)) is not None:
                    self.single[tenant, memory_id] = fact.key_id
            case MemoryAccepted(draft=draft, about=about) | MemoryQuarantined(draft=draft, about=about):
                key_id = self.single.get((tenant, draft.memory_id)) if about else None
                for each in about:
                    erasure = self.wanted.get((tenant, each.subject, each.generation))
                    if erasure is not None and key_id is not None:
                        self.found[erasure.offset].add(key_id)


async def keys_of(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, erasures: Iterable[Erasure]
) -> Mapping[Offset, frozenset[KeyId]]:
    """The keys of each erasure, by the offset of its closing event: one pass over the partition's facts."""
    wanted = {(each.tenant, each.subject, each.generation): each for each in erasures}
    keys = _Keys(wanted, {each.offset: set() for each in wanted.values()})
    last = max((each.offset for each in wanted.values()), default=-1)
    if last >= 0:
        async with _reading(bootstrap, "read_committed") as consumer:
            place = TopicPartition(installation.topic(Topic.LIFECYCLE), partition)
            async for record in _all(consumer, place, last + 1):
                keys.take(EVENTS.decode(record.value))
    return {offset: frozenset(found) for offset, found in keys.found.items()}


async def read_keys(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, asked: frozenset[KeyId]
) -> KeyLog:
    """Everything that the partition of ``memory-keys`` holds of ``asked``, uncommitted records included."""
    values: dict[KeyId, bytes] = {}
    tombstones: set[KeyId] = set()
    control: KeyId | None = None
    count = 0
    last = Offset(-1)
    async with _reading(bootstrap, "read_uncommitted") as consumer:
        place = TopicPartition(installation.topic(Topic.KEYS), partition)
        end = (await consumer.end_offsets([place]))[place]
        async for record in _all(consumer, place, end):
            count += 1
            key_id = KeyId((record.key or b"").decode("ascii", "replace"))
            if record.value is None:
                if key_id in asked:
                    tombstones.add(key_id)
                    last = Offset(record.offset)
            elif key_id in asked:
                values[key_id] = _wrapped(record.value)
            else:
                control = key_id
    return KeyLog(values, frozenset(tombstones), count, control, last)


def _wrapped(value: bytes) -> bytes:
    """The bytes to look for; of a record that this version cannot read, all of it."""
    try:
        return KEY_RECORDS.decode(value).wrapped
    except SchemaError:
        return value


@asynccontextmanager
async def _reading(bootstrap: Bootstrap, isolation: str) -> AsyncIterator[Any]:
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        isolation_level=isolation,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await close_in_time(consumer.stop())


async def _all(consumer: Any, place: TopicPartition, end: int) -> AsyncIterator[Any]:
    consumer.assign([place])
    await consumer.seek_to_beginning(place)
    while await consumer.position(place) < end:
        fetched = await consumer.getmany(place, timeout_ms=200, max_records=_BATCH)
        for record in fetched.get(place, ()):
            if record.offset < end:
                yield record
        heed_cancellation()
