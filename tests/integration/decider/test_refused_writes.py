"""What Kafka refuses to write is not consumed: a transaction of which a batch was refused must not commit."""

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from eunoe.processors.errors import CannotWrite
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.topics import SPECS, Topic
from eunoe.testing.deciding import Surroundings
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until


async def limit(around: Surroundings, topic: Topic, size: int) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=around.bootstrap)
    await admin.start()
    try:
        config = {**SPECS[topic].config, "max.message.bytes": str(size)}
        name = around.installation.topic(topic)
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, config)])
    finally:
        await admin.close()


async def test_commands_whose_events_do_not_fit_stay_unread_until_they_do(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        subject = await tenant.subject("customer-17")
    home = around.installation.partition_of(tenant.name)
    before = await around.ledger(home).marks()
    await limit(around, Topic.LIFECYCLE, 400)
    command_id = await around.send(producer, await tenant.remember(subject, "Likes tea."))
    with pytest.raises(CannotWrite, match=r"max\.message\.bytes"):
        await around.decider(home).run()
    assert (await around.ledger(home).marks()).next_input == before.next_input
    assert command_id not in {each.header.command_id for each in await around.events()}
    await limit(around, Topic.LIFECYCLE, 1_048_588)

    async def decided() -> bool:
        return command_id in {each.header.command_id for each in await around.events()}

    async with deciding(around):
        await until(decided)


async def test_the_largest_unusable_record_becomes_a_dead_letter(around: Surroundings, tenant: TestTenant) -> None:
    """Sealed it is larger than the record was; its topic must take it."""
    home = around.installation.partition_of(tenant.name)
    largest = AIOKafkaProducer(bootstrap_servers=around.bootstrap, max_request_size=2_000_000, acks="all")
    await largest.start()
    try:
        topic = around.installation.topic(Topic.EVENTS)
        await largest.send_and_wait(topic, b"j" * 1_048_400, key=b"acme", partition=home)
        async with deciding(around):

            async def lettered() -> bool:
                return await around.letters() == 1

            await until(lettered)
            command_id = await around.send(largest, IssueKey(tenant=tenant.name))

            async def decided() -> bool:
                return command_id in {each.header.command_id for each in await around.events()}

            await until(decided)
    finally:
        await largest.stop()
