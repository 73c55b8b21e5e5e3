"""Becoming the one decider of a partition: the order of these steps is what makes it safe (DESIGN §3).

1. The group confirms, by a heartbeat sent now, that the partition is ours.
2. The transactional producer initialises: whoever held the partition before is fenced, and its transaction is ended.
3. Only then the end of the lifecycle log is read: nobody can move it any more but us.
4. The ledger is caught up to exactly that end.
5. The input is sought to the later of what the group committed (read after the fence) and what the ledger has seen.

A step taken earlier or left out lets a command be decided twice, or judged on a ledger that lacks the last decision.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from eunoe.processors.errors import CommandsLost, NotAMember
from eunoe.processors.ledger.fold import catch_up
from eunoe.processors.ledger.ledger import Ledger, Marks
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic

_RETRY_BACKOFF_MS: Final = 10
"""Between the requests of a transaction: at aiokafka's default of 100 a transaction's p99 was 117-133 ms, at 10 it was
24-44 ms (measured)."""
_TRANSACTION_MS: Final = 60_000
BATCH_BYTES: Final = 900_000
"""Below the broker's default limit of a record batch (1,048,588)."""


@dataclass(frozen=True, slots=True)
class Held:
    """A partition that is ours: a fencing producer, an input consumer at the next command, and the ledger's marks."""

    producer: AIOKafkaProducer
    consumer: AIOKafkaConsumer
    marks: Marks


Confirms = Callable[[Partition], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquisition:
    """How a partition is acquired. ``group`` names the consumer group and the transactional ids; ``accepted`` are the
    offset ranges (inclusive) that an operator said to go on without."""

    bootstrap: Bootstrap
    installation: Installation
    group: str
    confirms: Confirms
    accepted: tuple[tuple[Offset, Offset], ...] = ()
    request_timeout_ms: int = 40_000

    @asynccontextmanager
    async def hold(self, partition: Partition, ledger: Ledger) -> AsyncIterator[Held]:
        """The partition, acquired; released on the way out, whatever the reason. Raises `NotAMember` and what
        `catch_up` raises."""
        if not await self.confirms(partition):
            raise NotAMember(partition)
        producer = self._producer(partition)
        consumer = self._consumer()
        try:
            await producer.start()  # InitProducerId: the fence
            marks = await self._caught_up(partition, ledger)
            await consumer.start()
            marks = await self._seek(consumer, partition, marks)
            yield Held(producer, consumer, marks)
        finally:
            await close_in_time(producer.stop(), consumer.stop())

    async def _caught_up(self, partition: Partition, ledger: Ledger) -> Marks:
        lifecycle = TopicPartition(self.installation.topic(Topic.LIFECYCLE), partition)
        consumer = AIOKafkaConsumer(
            **connecting(self.bootstrap),
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            request_timeout_ms=self.request_timeout_ms,
        )
        try:
            consumer.assign([lifecycle])
            await consumer.start()
            end = (await consumer.end_offsets([lifecycle]))[lifecycle]
            return await catch_up(ledger, consumer, lifecycle, end)
        finally:
            await close_in_time(consumer.stop())

    async def _seek(self, consumer: AIOKafkaConsumer, partition: Partition, marks: Marks) -> Marks:
        commands = TopicPartition(self.installation.topic(Topic.EVENTS), partition)
        committed = await consumer.committed(commands) or 0
        start = (await consumer.beginning_offsets([commands]))[commands]
        following = Offset(max(committed, marks.next_input))
        if following < start:
            if not any(first <= following and start - 1 <= last for first, last in self.accepted):
                raise CommandsLost(commands.topic, partition, following, start)
            following = Offset(start)
        consumer.assign([commands])
        consumer.seek(commands, following)
        return Marks(position=marks.position, next_input=following, decided_at=marks.decided_at)

    def _producer(self, partition: Partition) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            **connecting(self.bootstrap),
            transactional_id=f"{self.group}-{partition}",
            transaction_timeout_ms=_TRANSACTION_MS,
            retry_backoff_ms=_RETRY_BACKOFF_MS,
            request_timeout_ms=self.request_timeout_ms,
            max_batch_size=BATCH_BYTES,
            max_request_size=4 * BATCH_BYTES,
            acks="all",
        )

    def _consumer(self) -> AIOKafkaConsumer:
        # The group id only serves to read the group's offsets; partitions are assigned by hand.
        consumer = AIOKafkaConsumer(
            **connecting(self.bootstrap),
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
            isolation_level="read_committed",
            request_timeout_ms=self.request_timeout_ms,
            max_partition_fetch_bytes=4 * BATCH_BYTES,
        )
        return consumer
