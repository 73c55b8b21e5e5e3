"""Topics on a real broker: created as the table says, checked, never changed."""

import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from eunoe.runtime.kafka import (
    Difference,
    TopicMismatch,
    TopicRefused,
    TopicsUnavailable,
    apply_topics,
    check_topics,
    topic_admin,
)
from eunoe.schemas.topics import SPECS, Topic, TopicNames
from eunoe.stack.ports import free_ports


async def test_missing_topics_are_created_as_the_table_says(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    async with topic_admin(kafka_bootstrap) as admin:
        applied = await apply_topics(admin, topic_names, partitions=3, replication=1)

        counts = await admin.partition_counts()
        configs = await admin.configs(applied.created)
    assert set(applied.created) == {topic_names.name(topic) for topic in Topic}
    assert applied.existing == ()
    for topic, spec in SPECS.items():
        name = topic_names.name(topic)
        assert counts[name] == (3 if spec.partitioned else 1)
        assert configs[name].items() >= spec.config.items()
    assert counts[topic_names.name(Topic.CONTROL)] == 1


async def test_applying_again_changes_nothing(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    async with topic_admin(kafka_bootstrap) as admin:
        first = await apply_topics(admin, topic_names, partitions=2, replication=1)
        second = await apply_topics(admin, topic_names, partitions=2, replication=1)

        assert second.created == ()
        assert second.existing == first.created
        assert await check_topics(admin, topic_names, partitions=2) == ()


async def test_two_at_once_both_succeed(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    async with topic_admin(kafka_bootstrap) as one, topic_admin(kafka_bootstrap) as other:
        results = await asyncio.gather(
            apply_topics(one, topic_names, partitions=2, replication=1),
            apply_topics(other, topic_names, partitions=2, replication=1),
        )
    created = [name for applied in results for name in applied.created]
    assert sorted(created) == sorted(topic_names.name(topic) for topic in Topic)


async def test_another_partition_count_is_refused_and_nothing_is_created(
    kafka_bootstrap: str, topic_names: TopicNames
) -> None:
    events = topic_names.name(Topic.EVENTS)
    await _create(kafka_bootstrap, NewTopic(events, 5, 1, topic_configs=dict(SPECS[Topic.EVENTS].config)))
    async with topic_admin(kafka_bootstrap) as admin:
        with pytest.raises(TopicMismatch) as refused:
            await apply_topics(admin, topic_names, partitions=3, replication=1)

        assert refused.value.differences == (Difference(events, "partitions", "3", "5"),)
        assert f"{events}: partitions is 5, wanted 3" in str(refused.value)
        assert len(await check_topics(admin, topic_names, partitions=5)) == len(Topic) - 1


async def test_every_setting_that_differs_is_named(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    keys = topic_names.name(Topic.KEYS)
    config = {**SPECS[Topic.KEYS].config, "cleanup.policy": "delete", "compression.type": "gzip"}
    await _create(kafka_bootstrap, NewTopic(keys, 3, 1, topic_configs=config))
    async with topic_admin(kafka_bootstrap) as admin:
        with pytest.raises(TopicMismatch) as refused:
            await apply_topics(admin, topic_names, partitions=3, replication=1)
    assert refused.value.differences == (
        Difference(keys, "cleanup.policy", "compact", "delete"),
        Difference(keys, "compression.type", "uncompressed", "gzip"),
    )


async def test_a_refusal_of_the_broker_is_told(kafka_bootstrap: str, topic_names: TopicNames) -> None:
    async with topic_admin(kafka_bootstrap) as admin:
        with pytest.raises(TopicRefused, match=r"[Rr]eplication"):
            await apply_topics(admin, topic_names, partitions=1, replication=3)


async def test_a_broker_that_is_away_is_told() -> None:
    (port,) = free_ports(1)
    with pytest.raises(TopicsUnavailable, match=f"127.0.0.1:{port}"):
        async with topic_admin(f"127.0.0.1:{port}"):
            pass


async def _create(bootstrap: str, topic: NewTopic) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        await client.create_topics([topic])
    finally:
        await client.close()
