"""Records that cannot be judged: sealed away with a reason, and too many of them stop the partition."""

import asyncio
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from eunoe.crypto.hierarchy import NO_TENANT
from eunoe.processors.dead_letters import KEY_HEADER, ORIGIN_HEADER, REASON_HEADER, BadRecordLimit
from eunoe.processors.errors import TooManyBadRecords
from eunoe.schemas.codec import ENVELOPES
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import CommandId, KeyId, Offset, Partition, TenantId
from eunoe.schemas.topics import Topic
from eunoe.testing.deciding import AGENT, Surroundings, sealed_command
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until

CANARY = f"canary-{secrets.token_hex(8)}".encode()


async def raw(
    around: Surroundings, producer: AIOKafkaProducer, value: bytes | None, key: bytes, partition: Partition
) -> int:
    topic = around.installation.topic(Topic.EVENTS)
    sent = await producer.send_and_wait(topic, value, key=key, partition=partition)
    return int(sent.offset)


async def decided(around: Surroundings, command_id: CommandId) -> bool:
    return command_id in {each.header.command_id for each in await around.events()}


async def _enough(around: Surroundings, enough: Callable[[int], bool]) -> bool:
    return enough(await around.letters())


async def letters_when(around: Surroundings, enough: Callable[[int], bool]) -> list[Any]:
    name = around.installation.topic(Topic.DEAD_LETTERS)
    partitions = [TopicPartition(name, each) for each in range(around.installation.partitions)]
    await until(partial(_enough, around, enough))
    consumer = AIOKafkaConsumer(
        bootstrap_servers=around.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    await consumer.start()
    try:
        consumer.assign(partitions)
        found: list[Any] = []
        async with asyncio.timeout(20):
            while not enough(len(found)):
                for batch in (await consumer.getmany(timeout_ms=200)).values():
                    found += batch
        return found
    finally:
        await consumer.stop()


async def test_each_kind_of_unusable_record_goes_to_the_dead_letters_with_its_reason_and_sealed(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    installation = around.installation
    home = installation.partition_of(tenant.name)
    away = Partition(1 - home)
    command = IssueKey(tenant=tenant.name)
    _, good = sealed_command(command, installation)
    envelope = ENVELOPES.decode(good)
    forged = ENVELOPES.encode(type(envelope)(**{**_fields(envelope), "mac": b"\0" * 32}))
    unknown = b"\xc3\x01" + b"\x07" * 8 + CANARY
    _, overdue = sealed_command(command, installation, lifetime=-60_000)
    async with deciding(around):
        await raw(around, producer, b"not avro " + CANARY, b"acme", home)
        await raw(around, producer, unknown, b"acme", home)
        await raw(around, producer, forged, b"acme", home)
        await raw(around, producer, overdue, b"acme", home)
        await raw(around, producer, good, b"acme", away)
        await raw(around, producer, good, CANARY, home)
        letters = await letters_when(around, lambda n: n >= 6)
        accepted = await around.send(producer, command)
        await until(partial(decided, around, accepted))
    headers = [dict(each.headers) for each in letters]
    assert sorted(each[REASON_HEADER].decode() for each in headers) == [
        "misrouted",
        "misrouted",
        "overdue",
        "unauthenticated",
        "undecodable",
        "unknown_schema",
    ]
    everything = b"".join((each.key or b"") + each.value + b"".join(v for _, v in each.headers) for each in letters)
    assert CANARY not in everything
    await _opens(around, letters)


async def _opens(around: Surroundings, letters: list[Any]) -> None:
    """The control: what was sealed is there, for whoever holds the day key."""
    await around.refresh_keys()
    plain = b""
    for each in letters:
        headers = dict(each.headers)
        cipher = await around.new_keyring().dead_letter_cipher(KeyId(headers[KEY_HEADER].decode()))
        assert cipher.meta.tenant == NO_TENANT
        topic, partition, offset = headers[ORIGIN_HEADER].decode().rsplit(":", 2)
        plain += cipher.open((topic, int(partition), int(offset)), each.value)
    assert CANARY in plain


async def test_a_run_of_unusable_records_stops_the_partition_and_leaves_them_unread(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    home = around.installation.partition_of(tenant.name)
    first = await around.send(producer, IssueKey(tenant=tenant.name))
    offsets = [await raw(around, producer, b"junk", b"acme", home) for _ in range(8)]
    last = await around.send(producer, IssueKey(tenant=TenantId(tenant.name)), AGENT)
    limit = BadRecordLimit(run=5)
    with pytest.raises(TooManyBadRecords, match="--accept-bad") as stopped:
        await around.decider(home, limit).run()
    assert f"{home}:{offsets[0]}-{offsets[-1]}" in str(stopped.value)
    outcomes = {each.header.command_id for each in await around.events()}
    assert first in outcomes
    assert last not in outcomes
    assert await around.letters() == 0
    # Going on is an explicit act: the range is dead-lettered, and what follows is decided.
    accepting = around.decider(home, limit, accepted=((Offset(offsets[0]), Offset(offsets[-1])),))
    task = asyncio.create_task(accepting.run())
    try:
        await until(partial(decided, around, last))
        assert await around.letters() == 8
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _fields(envelope: Any) -> dict[str, Any]:
    return {name: getattr(envelope, name) for name in envelope.__struct_fields__}
