"""What a partition of ``memory-keys`` holds now: the last record under each key id, without those destroyed.

Read committed, and to the end of all that was there when it was asked: a transaction that is still open is waited for,
for what it hides behind it may be a tombstone, or a key that was wrapped anew already.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.codec import KEY_RECORDS
from eunoe.schemas.ids import KeyId, Offset, Partition
from eunoe.schemas.keys import HEARTBEAT, KeyRecord
from eunoe.schemas.topics import Topic

_BATCH: Final = 1_000
_OPEN_S: Final = 90.0
"""Longer than Kafka lets a transaction stay open."""


class LiveKeys:
    """Made by `reading_live_keys`. ``keys``: what lives, once `catch_up` has returned.

    ``undone``: ids that were destroyed and have a value after their tombstone all the same, for somebody who had not
    read it wrapped the key anew. Nobody may have that key; it has to be destroyed again.
    """

    def __init__(self, committed: AIOKafkaConsumer, everything: AIOKafkaConsumer, place: TopicPartition) -> None:
        self._committed = committed
        self._everything = everything
        self._place = place
        self._offsets: dict[KeyId, Offset] = {}
        self.keys: dict[KeyId, KeyRecord] = {}
        self.undone: set[KeyId] = set()
        self._destroyed: set[KeyId] = set()

    async def catch_up(self) -> Offset:
        """Reads to the end as it is now, which is returned. Raises TimeoutError, and what aiokafka does."""
        end = Offset((await self._everything.end_offsets([self._place]))[self._place])
        async with asyncio.timeout(_OPEN_S):
            while await self._committed.position(self._place) < end:
                await self._read_some()
                heed_cancellation()
        return end

    def before(self, end: Offset) -> dict[KeyId, KeyRecord]:
        """Those of ``keys`` whose last record lies before ``end``."""
        return {each: record for each, record in self.keys.items() if self._offsets[each] < end}

    def written(self, record: KeyRecord, offset: Offset) -> None:
        """Takes note of a record that was written here, before it can be read."""
        self._take(record.key_id, record, offset)

    async def _read_some(self) -> None:
        fetched = await self._committed.getmany(self._place, timeout_ms=50, max_records=_BATCH)
        for record in fetched.get(self._place, ()):
            key_id = KeyId((record.key or b"").decode("ascii", "replace"))
            if key_id != HEARTBEAT:
                value = None if record.value is None else KEY_RECORDS.decode(record.value)
                self._take(key_id, value, Offset(record.offset))

    def _take(self, key_id: KeyId, record: KeyRecord | None, offset: Offset) -> None:
        """An id is never issued twice: after a tombstone nothing lives under it, whatever comes later."""
        latest = self._offsets.get(key_id, -1)
        self._offsets[key_id] = Offset(max(latest, offset))
        if record is None:
            self._destroyed.add(key_id)
            self.keys.pop(key_id, None)
            if offset >= latest:
                self.undone.discard(key_id)
            else:
                self.undone.add(key_id)
        elif key_id in self._destroyed:
            self.undone.add(key_id)
        elif offset > latest:
            self.keys[key_id] = record


@asynccontextmanager
async def reading_live_keys(
    bootstrap: Bootstrap, installation: Installation, partition: Partition
) -> AsyncIterator[LiveKeys]:
    """From the beginning of the partition. Raises what aiokafka does."""
    place = TopicPartition(installation.topic(Topic.KEYS), partition)
    async with AsyncExitStack() as closing:
        consumers = []
        for isolation in ("read_committed", "read_uncommitted"):
            consumer = AIOKafkaConsumer(
                **connecting(bootstrap),
                isolation_level=isolation,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                fetch_max_wait_ms=50,
            )
            closing.push_async_callback(consumer.stop)
            await consumer.start()
            consumers.append(consumer)
        committed, everything = consumers
        committed.assign([place])
        await committed.seek_to_beginning(place)
        yield LiveKeys(committed, everything, place)
