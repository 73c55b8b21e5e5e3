"""A broker that is gone, or does not answer, is never taken for success, and never waited for without an end (M83)."""

import asyncio
import time

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.crypto.signatures import HmacSecret
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.publish import BATCH_BYTES, CLOSE_S, CommandPublisher, Delivery, NotSent
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.schemas.commands import RememberMemory
from eunoe.schemas.ids import CommandId, LogId, PrincipalName, SecretId, TenantId, new_id
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.stack.local import LocalStack
from eunoe.stack.ports import free_ports
from eunoe.testing.samples import sample_draft

TIMEOUT_MS = 2_000
BIG = RememberMemory(tenant=TenantId("acme"), draft=sample_draft(body=bytes(30_000)), idempotency=b"i" * 16)


@pytest.fixture
async def installation(own_stack: LocalStack) -> Installation:
    async with topic_admin(own_stack.kafka) as admin:
        await apply_topics(admin, TopicNames(), 1, 1)
    return await open_installation(own_stack.kafka, TopicNames())


SMALL = RememberMemory(tenant=TenantId("acme"), draft=sample_draft(), idempotency=b"i" * 16)


def publisher_of(
    bootstrap: str, installation: Installation, timeout_ms: int = TIMEOUT_MS, closing: float = CLOSE_S
) -> CommandPublisher:
    signers = Signers(PrincipalName("agent"), [HmacSecret(SecretId("agent-1"), b"a" * 32)])
    envelopes = EnvelopeMaker(installation, signers, SystemClock())
    return CommandPublisher(bootstrap, installation, envelopes, timeout_ms, closing)


@pytest.fixture
async def publisher(own_stack: LocalStack, installation: Installation) -> CommandPublisher:
    """Started; the tests stop it."""
    publisher = publisher_of(own_stack.kafka, installation)
    await publisher.start()
    return publisher


async def sent(publisher: CommandPublisher) -> None:
    await publisher.publish(BIG, CommandId(new_id()))


async def test_without_a_broker_nothing_starts() -> None:
    (port,) = free_ports(1)
    installation = Installation(log_id=LogId("log"), partitions=1, names=TopicNames())
    publisher = publisher_of(f"127.0.0.1:{port}", installation)
    with pytest.raises(BrokerAway, match="connecting the producer"):
        async with publisher:
            pytest.fail("it started")


async def test_a_broker_slower_than_its_producers_fills_a_bounded_buffer_and_loses_nothing(
    own_stack: LocalStack, installation: Installation
) -> None:
    """Back-pressure, and the positive control of the tests below: whoever sends more waits for room, all is written."""
    tenant, events = BIG.tenant, installation.topic(Topic.EVENTS)
    async with publisher_of(own_stack.kafka, installation, 30_000) as publisher:
        assert own_stack.broker.pause()
        try:
            waiting = [asyncio.create_task(publisher.submit(BIG, CommandId(new_id()))) for _ in range(200)]
            taken, room = await asyncio.wait(waiting, timeout=1)
            # One batch in the buffer and one in flight, however many senders there are.
            assert 0 < len(taken) * len(BIG.draft.body) <= 2 * BATCH_BYTES
            assert len(room) == 200 - len(taken)
        finally:
            own_stack.broker.resume()
        for each in await asyncio.gather(*waiting):
            await each.written()
    place = TopicPartition(events, installation.partition_of(tenant))
    async with AIOKafkaConsumer(bootstrap_servers=own_stack.kafka) as consumer:
        assert (await consumer.end_offsets([place]))[place] == 200, "each once"


@pytest.mark.parametrize("gone", ["killed", "paused"])
async def test_what_is_not_confirmed_fails_within_its_time_and_so_does_closing(
    own_stack: LocalStack, publisher: CommandPublisher, gone: str
) -> None:
    await sent(publisher)
    if gone == "killed":
        own_stack.broker.kill()
    else:
        assert own_stack.broker.pause()
    try:
        # More than the buffer holds: some wait for confirmation, the others for room. All fail, in time.
        began = time.monotonic()
        found = await asyncio.gather(*(sent(publisher) for _ in range(60)), return_exceptions=True)
        assert {type(each) for each in found} == {NotSent}
        assert all(isinstance(each, BrokerAway) and each.retryable for each in found)
        assert time.monotonic() - began < 2 * TIMEOUT_MS / 1000 + 2

        # Whoever is told is told which command it was, be it that there was no room, or by closing.
        last = CommandId(new_id())
        with pytest.raises(NotSent) as unsent:
            await asyncio.wait_for(submitted_and_stopped(publisher, last), 3 * TIMEOUT_MS / 1000 + 5)
        assert unsent.value.unsent == (last,)
    finally:
        own_stack.broker.resume()


async def submitted_and_stopped(publisher: CommandPublisher, command_id: CommandId) -> None:
    try:
        await publisher.submit(SMALL, command_id)
    finally:
        await publisher.stop()


async def test_closing_does_not_wait_as_long_as_a_delivery_may_take(
    own_stack: LocalStack, installation: Installation
) -> None:
    """Within its own time, and what failed before, unnoticed, is told of with the rest; an error on the way out keeps
    its place and has the ids as a note."""
    patient = publisher_of(own_stack.kafka, installation, 60_000, closing=1.0)
    first, told, second = (CommandId(new_id()) for _ in range(3))
    waiting: list[Delivery] = []

    async def left_with_an_error() -> None:
        async with patient:
            assert own_stack.broker.pause()
            await patient.submit(SMALL, first)
            waiting.append(await patient.submit(SMALL, told))
            await patient.submit(SMALL, second)
            raise ZeroDivisionError

    began = time.monotonic()
    with pytest.raises(ZeroDivisionError) as on_the_way:
        await left_with_an_error()
    own_stack.broker.resume()
    assert time.monotonic() - began < 15
    (note,) = on_the_way.value.__notes__
    assert first in note
    assert second in note
    with pytest.raises(NotSent) as later:
        await waiting[0].written()
    assert later.value.unsent == (told,)
