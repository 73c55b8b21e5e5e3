"""One Kafka transaction: events, issued keys, dead letters and the consumed offset, all or nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidConfigurationError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from eunoe.processors.dead_letters import SealedLetter
from eunoe.processors.errors import CannotWrite
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import Millis, Offset, Partition
from eunoe.schemas.topics import Topic

_DEADLINE_S: Final = 40.0
"""A transaction that takes longer is given up: the broker is away, and the next acquisition finds out what became of
it."""


@dataclass(frozen=True, slots=True)
class Written:
    """A record to write. ``at`` is log time, so that a replayed log carries the same times."""

    key: bytes | None
    value: bytes
    at: Millis
    headers: Sequence[tuple[str, bytes]] = ()


@dataclass(slots=True)
class Writes:
    """What one batch decided, in order."""

    events: list[Written] = field(default_factory=list)
    keys: list[Written] = field(default_factory=list)
    letters: list[Written] = field(default_factory=list)

    def letter(self, letter: SealedLetter, at: Millis) -> None:
        self.letters.append(Written(letter.key, letter.value, at, letter.headers))


@dataclass(frozen=True, slots=True)
class Transactions:
    """Writes for one partition: its number is the same on every topic."""

    installation: Installation
    partition: Partition
    group: str

    async def commit(self, producer: AIOKafkaProducer, writes: Writes, next_input: Offset) -> list[Offset]:
        """Commit ``writes`` and that the input was consumed up to ``next_input``. Returns the events' offsets.

        Raises `CannotWrite` where Kafka refuses a record for good: nothing was committed then, and nothing was
        consumed. Raises TimeoutError or what aiokafka raises (fenced, broker away) where it is unknown to the caller
        whether it was committed: who must acquire the partition again, and take nothing for written or not written.
        """
        async with asyncio.timeout(_DEADLINE_S):
            await producer.begin_transaction()
            sent = [
                (topic, await self._send(producer, topic, records))
                for topic, records in (
                    (Topic.LIFECYCLE, writes.events),
                    (Topic.KEYS, writes.keys),
                    (Topic.DEAD_LETTERS, writes.letters),
                )
            ]
            # The consumed offset is on its way to the coordinator while the records are on theirs to the leaders.
            consuming = asyncio.ensure_future(self._consumed(producer, next_input))
            try:
                events, *_ = [await self._offsets(topic, futures) for topic, futures in sent]
                await consuming
            finally:
                consuming.cancel()
                await asyncio.gather(consuming, return_exceptions=True)
            await producer.commit_transaction()
            return events

    async def _consumed(self, producer: AIOKafkaProducer, next_input: Offset) -> None:
        commands = TopicPartition(self.installation.topic(Topic.EVENTS), self.partition)
        await producer.send_offsets_to_transaction({commands: OffsetAndMetadata(next_input, "")}, self.group)

    async def _offsets(
        self, topic: Topic, sent: "Sequence[tuple[asyncio.Future[OffsetAndMetadata], int]]"
    ) -> list[Offset]:
        """The offsets of what was sent, once the broker has it.

        Awaited before the commit: aiokafka commits a transaction of which a batch was refused.
        """
        try:
            return [Offset((await future).offset + at) for future, count in sent for at in range(count)]
        except (MessageSizeTooLargeError, InvalidConfigurationError) as error:
            raise CannotWrite(self.installation.topic(topic), self.partition, type(error).__name__) from error

    async def _send(
        self, producer: AIOKafkaProducer, topic: Topic, records: Sequence[Written]
    ) -> "list[tuple[asyncio.Future[OffsetAndMetadata], int]]":
        """Whole batches, not single records: one future and one request for hundreds of them."""
        name = self.installation.topic(topic)
        sent = []
        batch = producer.create_batch()
        for record in records:
            if not _append(batch, record):
                sent.append((await self._submit(producer, batch, name), batch.record_count()))
                batch = producer.create_batch()
                if not _append(batch, record):
                    raise CannotWrite(name, self.partition, "a record is larger than a batch may be")
        if batch.record_count():
            sent.append((await self._submit(producer, batch, name), batch.record_count()))
        return sent

    async def _submit(self, producer: AIOKafkaProducer, batch, name: str):  # type: ignore[no-untyped-def]
        batch.close()
        return await producer.send_batch(batch, name, partition=self.partition)


def _append(batch, record: Written) -> bool:  # type: ignore[no-untyped-def]  # aiokafka is untyped
    done = batch.append(timestamp=record.at, key=record.key, value=record.value, headers=list(record.headers))
    return done is not None
