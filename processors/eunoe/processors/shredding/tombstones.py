"""Writing to ``memory-keys`` what destroys: tombstones, and heartbeats that make the log turn over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Protocol

from aiokafka import AIOKafkaProducer

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import KeyId, Offset, Partition
from eunoe.schemas.keys import HEARTBEAT
from eunoe.schemas.topics import Topic


class Tombstones(Protocol):
    """Both return once every in-sync replica has what was written, and raise what Kafka does where it has not."""

    async def destroy(self, key_ids: Sequence[KeyId]) -> Offset:
        """A tombstone for each of ``key_ids`` (at least one); the offset of the last. Repeating is harmless."""
        ...

    async def beat(self) -> None:
        """A record that means nothing: only a record that is appended makes a quiet partition's segment roll."""
        ...


class KafkaTombstones:
    """Of one partition. ``producer`` is idempotent and waits for all replicas.

    ``writing`` is held by whoever must not be overtaken by a tombstone (`eunoe.processors.shredding.rewrapping`).
    """

    def __init__(self, producer: AIOKafkaProducer, installation: Installation, partition: Partition) -> None:
        self.writing: Final = asyncio.Lock()
        self._producer = producer
        self._topic = installation.topic(Topic.KEYS)
        self._partition = partition

    async def destroy(self, key_ids: Sequence[KeyId]) -> Offset:
        async with self.writing:
            sent = [await self._send(each) for each in key_ids]
            return Offset(max([(await each).offset for each in sent]))

    async def beat(self) -> None:
        await (await self._send(HEARTBEAT))

    async def _send(self, key: KeyId):  # type: ignore[no-untyped-def]  # aiokafka is untyped
        return await self._producer.send(self._topic, value=None, key=key.encode(), partition=self._partition)


@asynccontextmanager
async def kafka_tombstones(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, request_timeout_ms: int = 40_000
) -> AsyncIterator[KafkaTombstones]:
    """With a producer of its own. Raises aiokafka's errors."""
    producer = AIOKafkaProducer(
        **connecting(bootstrap), acks="all", enable_idempotence=True, request_timeout_ms=request_timeout_ms
    )
    try:
        await producer.start()
        yield KafkaTombstones(producer, installation, partition)
    finally:
        await close_in_time(producer.stop())
