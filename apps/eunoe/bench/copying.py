"""The baseline of deciding: a bare aiokafka loop that copies records, each batch in one transaction with its offset.

Written twice, for users write it twice: sending record by record, and appending to a batch that is sent whole. Both get
the decider's own client settings, so what is compared is what is done with a record.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from eunoe.bench.pace import Pace
from eunoe.processors.acquisition import BATCH_BYTES
from eunoe.runtime.brokers import Bootstrap, connecting

_RETRY_BACKOFF_MS: Final = 10
_WAIT_MS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """From ``source`` at ``start`` to ``target``, ``batch`` records a transaction."""

    bootstrap: Bootstrap
    group: str
    source: TopicPartition
    target: TopicPartition
    start: int
    batch: int

    @asynccontextmanager
    async def clients(self) -> AsyncIterator[tuple[AIOKafkaConsumer, AIOKafkaProducer]]:
        """Started; the consumer stands at ``start``."""
        consumer = AIOKafkaConsumer(
            **connecting(self.bootstrap),
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            max_partition_fetch_bytes=4 * BATCH_BYTES,
        )
        producer = AIOKafkaProducer(
            **connecting(self.bootstrap),
            transactional_id=self.group,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
            max_batch_size=BATCH_BYTES,
            max_request_size=4 * BATCH_BYTES,
            acks="all",
        )
        try:
            await producer.start()
            await consumer.start()
            consumer.assign([self.source])
            consumer.seek(self.source, self.start)
            yield consumer, producer
        finally:
            await consumer.stop()
            await producer.stop()

    async def fetch(self, consumer: AIOKafkaConsumer, pace: Pace) -> Sequence[ConsumerRecord]:
        """The next batch, never beyond what is wanted."""
        most = min(self.batch, pace.wanted - pace.done)
        fetched = await consumer.getmany(self.source, timeout_ms=_WAIT_MS, max_records=most)
        return tuple(fetched.get(self.source, ()))

    def offsets(self, records: Sequence[ConsumerRecord]) -> dict[TopicPartition, OffsetAndMetadata]:
        return {self.source: OffsetAndMetadata(records[-1].offset + 1, "")}


Send = Callable[[AIOKafkaProducer, TopicPartition, Sequence[ConsumerRecord]], Any]


async def copy(loop: Loop, pace: Pace, send: Send) -> None:
    """Copy until ``pace`` is over."""
    async with loop.clients() as (consumer, producer):
        while not pace.over:
            records = await loop.fetch(consumer, pace)
            if not records:
                continue
            await producer.begin_transaction()
            await send(producer, loop.target, records)
            await producer.send_offsets_to_transaction(loop.offsets(records), loop.group)
            await producer.commit_transaction()
            pace.finished(len(records))


async def one_by_one(producer: AIOKafkaProducer, target: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
    """As everybody writes it. The commit waits for what was sent."""
    for record in records:
        await producer.send(target.topic, record.value, key=record.key, partition=target.partition)


async def in_batches(producer: AIOKafkaProducer, target: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
    """As fast as aiokafka can: one future and one request for hundreds of records."""
    batch = producer.create_batch()
    for record in records:
        if batch.append(key=record.key, value=record.value, timestamp=None) is None:
            batch.close()
            await producer.send_batch(batch, target.topic, partition=target.partition)
            batch = producer.create_batch()
            batch.append(key=record.key, value=record.value, timestamp=None)
    batch.close()
    await producer.send_batch(batch, target.topic, partition=target.partition)
