"""A publisher whose broker was away for long numbers its records without a gap, or Kafka would take none any more."""

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition

from eunoe.crypto.signatures import HmacSecret
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.installation import Installation
from eunoe.runtime.publish import CommandPublisher
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.schemas.ids import LogId, PrincipalName, SecretId
from eunoe.schemas.topics import TopicNames

PLACE = TopicPartition("memory-events", 0)
TIMEOUT_MS = 20
INSTALLATION = Installation(
    log_id=LogId("018f0000-0000-7000-8000-000000000001"), partitions=1, names=TopicNames(prefix="")
)


async def number_of_the_next_record(producer: Any) -> int:
    """After one was buffered for a partition without a leader and waited for longer than the timeout."""
    producer._txn_manager.set_pid_and_epoch(7, 0)
    buffer = producer._message_accumulator
    future = await buffer.add_message(PLACE, b"key", b"value", 1.0)
    await asyncio.sleep(3 * TIMEOUT_MS / 1_000)
    buffer.drain_by_nodes(set())
    if future.done():
        future.exception()
    return int(producer._txn_manager.sequence_number(PLACE))


async def test_aiokafka_counts_what_it_drops() -> None:
    """The control: without this there would be nothing to keep it from."""
    bare = AIOKafkaProducer(enable_idempotence=True, request_timeout_ms=TIMEOUT_MS)
    assert await number_of_the_next_record(bare) == 1


async def test_a_publisher_drops_nothing_and_counts_nothing() -> None:
    signers = Signers(PrincipalName("anna"), [HmacSecret(SecretId("one"), b"s" * 32)])
    envelopes = EnvelopeMaker(INSTALLATION, signers, SystemClock())
    publisher = CommandPublisher("127.0.0.1:1", INSTALLATION, envelopes, TIMEOUT_MS)
    assert await number_of_the_next_record(publisher._producer) == 0
