"""A broker that is gone, or does not answer, is never taken for success, and never waited for without an end (M83)."""

import asyncio
import time

import pytest

from eunoe.crypto.signatures import HmacSecret
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.publish import CommandPublisher, NotSent
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.schemas.commands import RememberMemory
from eunoe.schemas.ids import CommandId, LogId, PrincipalName, SecretId, TenantId, new_id
from eunoe.schemas.topics import TopicNames
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


def publisher_of(bootstrap: str, installation: Installation, timeout_ms: int = TIMEOUT_MS) -> CommandPublisher:
    signers = Signers(PrincipalName("agent"), [HmacSecret(SecretId("agent-1"), b"a" * 32)])
    return CommandPublisher(bootstrap, installation, EnvelopeMaker(installation, signers, SystemClock()), timeout_ms)


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


async def test_a_pause_that_is_short_enough_loses_nothing(own_stack: LocalStack, installation: Installation) -> None:
    """The positive control of the tests below."""
    async with publisher_of(own_stack.kafka, installation, 30_000) as publisher:
        own_stack.broker.pause()
        try:
            waiting = [asyncio.create_task(sent(publisher)) for _ in range(40)]
            done, _ = await asyncio.wait(waiting, timeout=1)
            assert not done
        finally:
            own_stack.broker.resume()
        await asyncio.gather(*waiting)


@pytest.mark.parametrize("gone", ["killed", "paused"])
async def test_what_is_not_confirmed_fails_within_its_time_and_so_does_closing(
    own_stack: LocalStack, publisher: CommandPublisher, gone: str
) -> None:
    await sent(publisher)
    if gone == "killed":
        own_stack.broker.kill()
    else:
        own_stack.broker.pause()
    try:
        # More than the buffer holds: some wait for confirmation, the others for room. All fail, in time.
        began = time.monotonic()
        found = await asyncio.gather(*(sent(publisher) for _ in range(60)), return_exceptions=True)
        assert {type(each) for each in found} == {NotSent}
        assert all(isinstance(each, BrokerAway) and each.retryable for each in found)
        assert time.monotonic() - began < 2 * TIMEOUT_MS / 1000 + 2

        # A record that nobody waits for is told of by closing.
        with pytest.raises(NotSent):
            await asyncio.wait_for(submitted_and_stopped(publisher), 3 * TIMEOUT_MS / 1000 + 5)
    finally:
        own_stack.broker.resume()


async def submitted_and_stopped(publisher: CommandPublisher) -> None:
    small = RememberMemory(tenant=TenantId("acme"), draft=sample_draft(), idempotency=b"i" * 16)
    try:
        await publisher.submit(small, CommandId(new_id()))
    finally:
        await publisher.stop()
