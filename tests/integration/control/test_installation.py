"""The genesis records tell which log this is, and what does not fit is refused with the reason."""

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from redis.asyncio import Redis

from eunoe.runtime.errors import BrokerAway, ForeignLog, LogCutOff, MixedLog, NotInstalled, WrongPartitionCount
from eunoe.runtime.installation import Installation, bind_redis, open_installation, read_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.ids import LogId, new_id
from eunoe.schemas.topics import SPECS, Topic, TopicNames
from eunoe.testing.samples import sample_genesis

PARTITIONS = 3


@pytest.fixture
async def topics(kafka_bootstrap: str, topic_names: TopicNames) -> TopicNames:
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, PARTITIONS, 1)
    return topic_names


async def test_a_log_is_opened_once_and_every_later_start_reads_the_same(
    kafka_bootstrap: str, topics: TopicNames
) -> None:
    opened = await open_installation(kafka_bootstrap, topics)
    assert opened.partitions == PARTITIONS
    assert await open_installation(kafka_bootstrap, topics) == opened
    assert await read_installation(kafka_bootstrap, topics) == opened
    assert await _records(kafka_bootstrap, topics) == PARTITIONS


async def test_two_that_open_at_once_open_one_log(kafka_bootstrap: str, topics: TopicNames) -> None:
    outcomes = await asyncio.gather(*(open_installation(kafka_bootstrap, topics) for _ in range(3)))
    opened = await read_installation(kafka_bootstrap, topics)
    assert outcomes == [opened] * 3
    assert await _records(kafka_bootstrap, topics) == PARTITIONS


async def test_an_attempt_that_died_before_its_commit_leaves_an_unopened_log(
    kafka_bootstrap: str, topics: TopicNames
) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=f"{topics.prefix}eunoe-genesis")
    await producer.start()
    await producer.begin_transaction()
    await producer.send_and_wait(topics.name(Topic.LIFECYCLE), b"half", partition=0)
    await producer.abort_transaction()
    with pytest.raises(NotInstalled):
        await read_installation(kafka_bootstrap, topics)
    await producer.begin_transaction()
    await producer.send_and_wait(topics.name(Topic.LIFECYCLE), b"half", partition=1)
    opened = await open_installation(kafka_bootstrap, topics)
    await producer.stop()
    assert await read_installation(kafka_bootstrap, topics) == opened


async def test_a_log_that_was_never_opened_is_not_installed(kafka_bootstrap: str, topics: TopicNames) -> None:
    with pytest.raises(NotInstalled, match="topics apply"):
        await read_installation(kafka_bootstrap, topics)


async def test_missing_topics_are_not_installed_and_not_created(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    with pytest.raises(NotInstalled, match="no such topic"):
        await read_installation(kafka_bootstrap, topic_names)
    async with topic_admin(kafka_bootstrap) as admin:
        assert not [name for name in await admin.partition_counts() if name.startswith(topic_names.prefix)]


async def test_a_topic_with_another_partition_count_is_refused(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, 2, 1, [SPECS[Topic.KEYS]])
        await apply_topics(admin, topic_names, PARTITIONS, 1, [SPECS[each] for each in Topic if each is not Topic.KEYS])
    with pytest.raises(WrongPartitionCount, match=r"memory-keys has 2 partitions.*with 3"):
        await open_installation(kafka_bootstrap, topic_names)


async def test_a_log_opened_with_another_count_is_refused(kafka_bootstrap: str, topics: TopicNames) -> None:
    log_id = LogId(new_id())
    await _write(kafka_bootstrap, topics, [genesis(log_id, number, 64) for number in range(PARTITIONS)])
    with pytest.raises(WrongPartitionCount, match="has 3 partitions, but the log was opened with 64"):
        await read_installation(kafka_bootstrap, topics)


async def test_partitions_of_two_logs_are_refused(kafka_bootstrap: str, topics: TopicNames) -> None:
    ours, other = LogId(new_id()), LogId(new_id())
    await _write(kafka_bootstrap, topics, [genesis(log, n, PARTITIONS) for n, log in enumerate((ours, ours, other))])
    with pytest.raises(MixedLog) as caught:
        await read_installation(kafka_bootstrap, topics)
    assert (caught.value.partition, caught.value.expected, caught.value.found) == (2, ours, other)


async def test_a_partition_that_starts_with_something_else_is_refused(kafka_bootstrap: str, topics: TopicNames) -> None:
    records = [genesis(LogId(new_id()), 0, PARTITIONS), b"garbage", b""]
    await _write(kafka_bootstrap, topics, records)
    with pytest.raises(MixedLog, match="/1 belongs to log unknown"):
        await read_installation(kafka_bootstrap, topics)


@pytest.mark.parametrize("partitions", [(1,), range(PARTITIONS)], ids=["one", "all"])
async def test_a_log_whose_beginning_is_gone_is_named_as_that_and_not_opened_again(
    kafka_bootstrap: str, topics: TopicNames, partitions: Sequence[int]
) -> None:
    """Of all partitions nothing is left: opening it then would put a second log where the first one was."""
    await open_installation(kafka_bootstrap, topics)
    await _cut(kafka_bootstrap, topics, partitions)
    for ask in (read_installation, open_installation):
        with pytest.raises(LogCutOff, match=rf"memory-lifecycle/{partitions[0]} begins at offset 2: .*from a copy"):
            await ask(kafka_bootstrap, topics)


async def test_an_absent_broker_is_away_and_not_an_empty_log(topic_names: TopicNames) -> None:
    with pytest.raises(BrokerAway, match="reading the genesis records") as caught:
        await read_installation("127.0.0.1:1", topic_names, timeout_seconds=0.5)
    assert caught.value.retryable


async def test_recreated_topics_are_noticed_by_what_redis_knows(
    kafka_bootstrap: str, topics: TopicNames, redis_client: Redis
) -> None:
    first = await open_installation(kafka_bootstrap, topics)
    await bind_redis(redis_client, first)
    await bind_redis(redis_client, first)
    recreated = Installation(log_id=LogId(new_id()), partitions=PARTITIONS, names=topics)
    with pytest.raises(ForeignLog) as caught:
        await bind_redis(redis_client, recreated)
    assert (caught.value.expected, caught.value.found) == (first.log_id, recreated.log_id)
    await redis_client.delete(f"eunoe:installation:{topics.prefix}")


def genesis(log_id: LogId, partition: int, partitions: int) -> bytes:
    return EVENTS.encode(sample_genesis(log_id, partition, partitions))


async def _write(bootstrap: str, names: TopicNames, records: list[bytes]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for number, value in enumerate(records):
            await producer.send_and_wait(names.name(Topic.LIFECYCLE), value=value, partition=number)
    finally:
        await producer.stop()


async def _records(bootstrap: str, names: TopicNames) -> int:
    """How many committed records the whole of ``memory-lifecycle`` holds."""
    topic = names.name(Topic.LIFECYCLE)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends, count = await consumer.end_offsets(partitions), 0
        while any([await consumer.position(each) < ends[each] for each in partitions]):
            count += sum(map(len, (await consumer.getmany(timeout_ms=100)).values()))
        return count
    finally:
        await consumer.stop()


async def _cut(kafka: str, topics: TopicNames, partitions: Sequence[int]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka)
    try:
        await admin.start()
        every = {TopicPartition(topics.name(Topic.LIFECYCLE), each): RecordsToDelete(2) for each in partitions}
        await admin.delete_records(every)
    finally:
        await admin.close()
