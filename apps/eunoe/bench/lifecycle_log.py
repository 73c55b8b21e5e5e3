"""Writing a stream of facts to memory-lifecycle: whole batches for several partitions, one on its way for each."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka import AIOKafkaProducer

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic

_BATCH_BYTES: Final = 900_000


@dataclass(slots=True)
class _Filling:
    """The batch that a partition's facts are appended to, and the one before it."""

    producer: AIOKafkaProducer
    topic: str
    partition: Partition
    batch: Any = None
    sent: "asyncio.Future[Any] | None" = None
    written: int = 0

    async def add(self, key: bytes, value: bytes) -> None:
        if self.batch is None:
            self.batch = self.producer.create_batch()
        if self.batch.append(key=key, value=value, timestamp=None) is None:
            await self.send()
            self.batch = self.producer.create_batch()
            if self.batch.append(key=key, value=value, timestamp=None) is None:
                raise ValueError("a fact is larger than a batch")
        self.written += len(value)

    async def send(self) -> None:
        await self.acknowledged()
        if self.batch is not None:
            self.batch.close()
            self.sent = await self.producer.send_batch(self.batch, self.topic, partition=self.partition)
            self.batch = None

    async def acknowledged(self) -> None:
        if self.sent is not None:
            await self.sent
            self.sent = None


@dataclass(slots=True)
class LifecycleLog:
    """One installation's memory-lifecycle."""

    bootstrap: Bootstrap
    installation: Installation
    bytes_written: int = field(default=0)

    async def write(self, events: AsyncIterator[Event]) -> int:
        """In order within each partition. Returns how many, when the broker has them all."""
        written = 0
        producer = AIOKafkaProducer(
            **connecting(self.bootstrap), acks="all", max_batch_size=_BATCH_BYTES, max_request_size=2 * _BATCH_BYTES
        )
        await producer.start()
        try:
            topic = self.installation.topic(Topic.LIFECYCLE)
            filling = [_Filling(producer, topic, Partition(each)) for each in range(self.installation.partitions)]
            async for event in events:
                tenant = event.header.tenant
                await filling[self.installation.partition_of(tenant)].add(tenant.encode(), EVENTS.encode(event))
                written += 1
            for each in filling:
                await each.send()
                await each.acknowledged()
                self.bytes_written += each.written
        finally:
            await producer.stop()
        return written
