"""Which installation this is: the genesis records of ``memory-lifecycle``, and what Redis remembers of them.

`eunoe topics apply` writes one `PartitionOpened` as the first record of every partition, all in one transaction, so a
log is opened whole or not at all. Everybody else reads them at start and refuses what does not fit: partitions of two
logs, another partition count, topics that were recreated under a Redis that still holds the old log's read models.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Literal

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, ProducerFenced
from redis.asyncio import Redis

from eunoe.runtime.brokers import Bootstrap, check_login, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import ForeignLog, LogCutOff, MixedLog, NotInstalled, WrongPartitionCount
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event, EventHeader, PartitionOpened
from eunoe.schemas.ids import (
    CommandId,
    EventId,
    LogId,
    MessageId,
    Millis,
    Offset,
    Partition,
    PrincipalName,
    TenantId,
    derived_id,
    new_id,
)
from eunoe.schemas.partitioning import partition_of
from eunoe.schemas.topics import SPECS, Topic, TopicNames

GENESIS_PRINCIPAL: Final = PrincipalName("eunoe")
TIMEOUT_SECONDS: Final = 30.0
"""How long opening or reading may take. Above the 21 s after which a killed broker was usable again (measured)."""

_FIRST_RECORD_BYTES: Final = 65_536
_SETTLE_SECONDS: Final = 5.0
_FOREIGN: Final = "unknown"
First = PartitionOpened | Literal["unknown"]
"""A partition's genesis record, or the word for a first record that is none."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """One log with its topics. Everything that is sealed, signed or stored in Redis carries ``log_id``."""

    log_id: LogId
    partitions: int
    names: TopicNames

    def topic(self, topic: Topic) -> str:
        """The name on the cluster."""
        return self.names.name(topic)

    def partition_of(self, tenant: TenantId) -> Partition:
        return partition_of(tenant, self.partitions)


async def read_installation(
    bootstrap: Bootstrap, names: TopicNames, timeout_seconds: float = TIMEOUT_SECONDS
) -> Installation:
    """The installation under ``names``. Waits for the broker at most ``timeout_seconds``.

    Raises `NotInstalled`, `LogCutOff`, `WrongPartitionCount`, `MixedLog`, or `BrokerAway`.
    """
    async with within(timeout_seconds, "reading the genesis records"), _consumer(bootstrap) as consumer:
        counts = await _partition_counts(consumer, names)
        opened = await _settled(consumer, names.name(Topic.LIFECYCLE), counts[Topic.LIFECYCLE])
        return _agreed(names, counts, opened)


async def open_installation(
    bootstrap: Bootstrap, names: TopicNames, timeout_seconds: float = TIMEOUT_SECONDS
) -> Installation:
    """The installation under ``names``, opened now where it was not. The topics exist already.

    Repeat-safe, also when called by two at once: the producer fences whoever tried before it, and only then looks
    whether the partitions are empty. Raises like `read_installation`.
    """
    async with within(timeout_seconds, "writing the genesis records"), _consumer(bootstrap) as consumer:
        counts = await _partition_counts(consumer, names)
        lifecycle, count = names.name(Topic.LIFECYCLE), counts[Topic.LIFECYCLE]
        producer = AIOKafkaProducer(
            **connecting(bootstrap), transactional_id=f"{names.prefix}eunoe-genesis", acks="all"
        )
        try:
            await producer.start()
            if not any(await _first_records(consumer, lifecycle, count)):
                await _write(producer, lifecycle, count)
        except ProducerFenced:
            # Somebody else opens it at this moment. Theirs is as good as ours.
            log.info("another process is opening %s", lifecycle)
        finally:
            await close_in_time(producer.stop())
        opened = await _settled(consumer, lifecycle, count, awaited=True)
        return _agreed(names, counts, opened)


async def bind_redis(redis: Redis, installation: Installation) -> None:
    """Ties this Redis to the log, or finds it tied already. Raises `ForeignLog` where it is tied to another one,
    and redis' NoPermissionError where it is tied to none and this user may not do it: a worker will."""
    # Looked at first: most users of Redis may not write it.
    if await redis.get(_bound(installation)) is None:
        await redis.set(_bound(installation), installation.log_id, nx=True)
    await check_redis(redis, installation)


async def check_redis(redis: Redis, installation: Installation) -> None:
    """`bind_redis` for who must write nothing: raises `ForeignLog` where this Redis is tied to another log, or none."""
    found = await redis.get(_bound(installation))
    known = found.decode() if isinstance(found, bytes) else str(found)
    if known != installation.log_id:
        raise ForeignLog(installation.names.prefix, expected=known, found=installation.log_id)


def _bound(installation: Installation) -> str:
    return f"eunoe:installation:{installation.names.prefix}"


@asynccontextmanager
async def _consumer(bootstrap: Bootstrap) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="none",
        max_partition_fetch_bytes=_FIRST_RECORD_BYTES,
        fetch_max_wait_ms=100,
    )
    try:
        try:
            await consumer.start()
        except KafkaConnectionError:
            await check_login(bootstrap)
            raise
        yield consumer
    finally:
        await close_in_time(consumer.stop())


async def _partition_counts(consumer: AIOKafkaConsumer, names: TopicNames) -> Mapping[Topic, int]:
    """How many partitions each topic has; all partitioned ones must agree with ``memory-lifecycle``."""
    # All topics at once: asking for one by name makes a broker with auto.create.topics.enable create it.
    metadata = await consumer._client.fetch_all_metadata()
    counts = {topic: len(metadata.partitions_for_topic(names.name(topic)) or ()) for topic in SPECS}
    for topic, count in counts.items():
        if not count:
            raise NotInstalled(names.name(topic), "there is no such topic")
    for topic, count in counts.items():
        wanted = counts[Topic.LIFECYCLE] if SPECS[topic].partitioned else 1
        if count != wanted:
            raise WrongPartitionCount(names.name(topic), expected=wanted, found=count)
    return counts


async def _settled(
    consumer: AIOKafkaConsumer, topic: str, count: int, *, awaited: bool = False
) -> Sequence[First | None]:
    """What each partition starts with, once they agree whether they hold anything, or after `_SETTLE_SECONDS`.

    The broker answers a commit before its markers are written, partition by partition (measured: a reader right after
    the commit saw an empty log). So a log that is partly open is looked at again, with ``awaited`` an unopened one too.
    """
    deadline = time.monotonic() + _SETTLE_SECONDS
    while True:
        found = await _first_records(consumer, topic, count)
        if all(found) or (not any(found) and not awaited) or time.monotonic() > deadline:
            return found
        await asyncio.sleep(0.05)


async def _first_records(consumer: AIOKafkaConsumer, topic: str, count: int) -> Sequence[First | None]:
    """What each partition starts with; None where it holds nothing. Raises `LogCutOff`."""
    partitions = [TopicPartition(topic, number) for number in range(count)]
    for partition, start in sorted((await consumer.beginning_offsets(partitions)).items()):
        if start > 0:
            raise LogCutOff(topic, partition.partition, start)
    ends = await consumer.end_offsets(partitions)
    waiting = {each for each in partitions if ends[each]}
    found: dict[int, First] = {}
    if not waiting:
        return (None,) * count
    # No `unsubscribe` afterwards: with a fetch on its way, the consumer's `stop` then hung for 30 s (aiokafka 0.14).
    consumer.assign(sorted(waiting))
    await consumer.seek_to_beginning(*waiting)
    while waiting:
        for partition, records in (await consumer.getmany(timeout_ms=200)).items():
            if partition in waiting:
                waiting.remove(partition)
                consumer.pause(partition)
                found[partition.partition] = _opened(records[0].value)
        # An aborted attempt leaves markers and no record: the partition is as good as empty.
        for partition in list(waiting):
            if await consumer.position(partition) >= ends[partition]:
                waiting.remove(partition)
    return tuple(found.get(number) for number in range(count))


def _opened(value: bytes | None) -> First:
    try:
        event = EVENTS.decode(value or b"")
    except SchemaError:
        return _FOREIGN
    return event.fact if isinstance(event.fact, PartitionOpened) else _FOREIGN


def _agreed(names: TopicNames, counts: Mapping[Topic, int], found: Sequence[First | None]) -> Installation:
    topic, count = names.name(Topic.LIFECYCLE), counts[Topic.LIFECYCLE]
    first = next((each for each in found if isinstance(each, PartitionOpened)), None)
    if first is None:
        raise NotInstalled(
            topic, "no partition starts with a genesis record" if any(found) else "the log is not opened"
        )
    if first.partitions != count:
        raise WrongPartitionCount(topic, expected=first.partitions, found=count)
    for number, each in enumerate(found):
        log_id = each.log_id if isinstance(each, PartitionOpened) else each or "none"
        if log_id != first.log_id or not isinstance(each, PartitionOpened) or each.partition != number:
            raise MixedLog(topic, number, expected=first.log_id, found=log_id)
    return Installation(log_id=first.log_id, partitions=count, names=names)


async def _write(producer: AIOKafkaProducer, topic: str, count: int) -> None:
    log_id = LogId(new_id())
    async with producer.transaction():
        for number in range(count):
            event = _genesis(log_id, number, count)
            await producer.send(topic, value=EVENTS.encode(event), partition=number)


def _genesis(log_id: LogId, partition: int, partitions: int) -> Event:
    command_id = derived_id("genesis", log_id, str(partition))
    header = EventHeader(
        event_id=EventId(derived_id("genesis-event", log_id, str(partition))),
        command_id=CommandId(command_id),
        message_id=MessageId(command_id),
        tenant=TenantId(""),
        principal=GENESIS_PRINCIPAL,
        input_offset=Offset(-1),
        decided_at=Millis(0),
        policy_version=0,
        policy_hash="",
        control_offset=Offset(-1),
    )
    return Event(header=header, fact=PartitionOpened(log_id=log_id, partition=partition, partitions=partitions))
