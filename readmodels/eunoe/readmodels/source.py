"""What a projection reads: one partition of one topic, from an offset of its own choosing, committed records only.

Positions are aiokafka's (0.14, ``consumer/fetcher.py``): `getmany` drains a fetched chunk, and with it the
consumer's position passes control batches, aborted batches and offsets that compaction removed, also where the chunk
holds nothing else (the call then returns nothing after its timeout, and the position has moved). So "position before,
position after" covers every gap.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from msgspec import Struct

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import EVENTS, KEY_RECORDS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event, PartitionOpened
from eunoe.schemas.ids import KeyId, LogId, Millis, Offset, Partition
from eunoe.schemas.keys import HEARTBEAT, KeyRecord
from eunoe.schemas.topics import Topic

R = TypeVar("R")

_GENESIS_WAIT_MS: Final = 500
_HEARTBEAT: Final = HEARTBEAT.encode()


class Positioned(Struct, Generic[R], frozen=True):
    """A record where it lies. ``timestamp`` is Kafka's (log time in ms), ``value`` the decoded record."""

    offset: Offset
    timestamp: Millis
    value: R


class KeyDestroyed(Struct, frozen=True):
    """The tombstone of ``memory-keys``: whatever was under ``key_id`` is gone for good."""

    key_id: KeyId


KeyChange = KeyRecord | KeyDestroyed
"""What ``memory-keys`` says."""


def _event(record: ConsumerRecord) -> Event:
    return EVENTS.decode(record.value or b"")


def _key_change(record: ConsumerRecord) -> KeyChange:
    if record.value is None:
        return KeyDestroyed(KeyId(str(record.key or b"", "utf-8")))
    return KEY_RECORDS.decode(record.value)


_DECODE: Final[Mapping[Topic, Callable[[ConsumerRecord], Any]]] = {
    Topic.LIFECYCLE: _event,
    Topic.KEYS: _key_change,
}


class Unreadable(Struct, frozen=True):
    """Where decoding ended, and why; ``problem`` quotes nothing."""

    offset: Offset
    problem: str


class PartitionSource:
    """A consumer without a group on one partition. ``topic`` is `Topic.LIFECYCLE` or `Topic.KEYS`."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        installation: Installation,
        topic: Topic,
        partition: Partition,
        client_settings: Mapping[str, Any],
    ) -> None:
        self.name: Final = installation.topic(topic)
        self._topic = topic
        self._log_id = installation.log_id
        self._decode = _DECODE[topic]
        self._at: Final = TopicPartition(self.name, partition)
        self._settings: Final = {
            **client_settings,
            **connecting(bootstrap),
            "isolation_level": "read_committed",
            "enable_auto_commit": False,
            "auto_offset_reset": "none",
        }
        self._opened_consumer: AIOKafkaConsumer | None = None

    async def start(self) -> None:
        """Connect, once more after a `stop` too. Raises aiokafka's ``KafkaError`` where no broker answers; `stop` is
        due in any case."""
        self._opened_consumer = consumer = AIOKafkaConsumer(**self._settings)
        await consumer.start()
        consumer.assign([self._at])

    async def stop(self) -> None:
        """Does nothing where nothing is open."""
        consumer, self._opened_consumer = self._opened_consumer, None
        if consumer is not None:
            await close_in_time(consumer.stop())

    @property
    def _consumer(self) -> AIOKafkaConsumer:
        if self._opened_consumer is None:
            raise RuntimeError("the source is not started")
        return self._opened_consumer

    async def bounds(self) -> tuple[Offset, Offset]:
        """Where the log starts now, and how far it is committed (its last stable offset)."""
        start = (await self._consumer.beginning_offsets([self._at]))[self._at]
        end = (await self._consumer.end_offsets([self._at]))[self._at]
        return Offset(start), Offset(end)

    async def begins_log(self, start: Offset, end: Offset) -> LogId | None:
        """The log id in the first record, which an aborted attempt may precede; ours where there is no record yet."""
        if self._topic is not Topic.LIFECYCLE or start == end:
            return self._log_id
        self.seek(start)
        deadline = asyncio.get_running_loop().time() + 30.0
        while await self.position() < end:
            records = await self._consumer.getmany(self._at, timeout_ms=_GENESIS_WAIT_MS, max_records=1)
            for record in records.get(self._at, ()):
                return self._opened(record)
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError(f"no first record of {self.name}/{self._at.partition}")
        return self._log_id

    def _opened(self, record: ConsumerRecord) -> LogId | None:
        try:
            fact = _event(record).fact
        except SchemaError:
            return None
        return fact.log_id if isinstance(fact, PartitionOpened) else None

    def seek(self, offset: Offset) -> None:
        self._consumer.seek(self._at, offset)

    async def position(self) -> Offset:
        return Offset(await self._consumer.position(self._at))

    @property
    def committed_end(self) -> Offset | None:
        """The log's last stable offset as of the last fetch; None before the first."""
        consumer = self._opened_consumer
        stable = consumer.last_stable_offset(self._at) if consumer and consumer.assignment() else None
        return None if stable is None else Offset(stable)

    @property
    def fetched_at(self) -> Millis | None:
        """When the broker last answered a fetch of this partition (wall clock); None before the first answer."""
        consumer = self._opened_consumer
        at = consumer.last_poll_timestamp(self._at) if consumer and consumer.assignment() else None
        return None if at is None else Millis(at)

    async def fetch(self, timeout_ms: int, max_records: int) -> Sequence[ConsumerRecord]:
        """Committed records from the position on; none after ``timeout_ms``. Raises aiokafka's errors."""
        found = await self._consumer.getmany(self._at, timeout_ms=timeout_ms, max_records=max_records)
        return tuple(found.get(self._at, ()))

    def decode(self, records: Sequence[ConsumerRecord]) -> tuple[list[Positioned[Any]], Unreadable | None]:
        """The records up to the first that is unreadable or of another log, and what was wrong with that one."""
        decoded: list[Positioned[Any]] = []
        for record in records:
            if record.value is None and record.key == _HEARTBEAT:
                continue  # a gap, like a marker
            try:
                value = self._decode(record)
            except (SchemaError, UnicodeDecodeError) as error:
                problem = str(error) if isinstance(error, SchemaError) else "the record's key is not text"
                return decoded, Unreadable(Offset(record.offset), problem)
            if foreign := self._foreign(value):
                return decoded, Unreadable(Offset(record.offset), f"it belongs to log {foreign}")
            decoded.append(Positioned(Offset(record.offset), Millis(record.timestamp), value))
        return decoded, None

    def _foreign(self, value: Any) -> LogId | None:
        stated = value.fact if isinstance(value, Event) else value
        if isinstance(stated, PartitionOpened | KeyRecord) and stated.log_id != self._log_id:
            return stated.log_id
        return None
