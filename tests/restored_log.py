"""Backups of an installation, restored beside it: its topics under another prefix, its Redis in another database.

Of topics partition 0 alone.
"""

import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from redis.asyncio import Redis

from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import LogId, new_id
from eunoe.schemas.topics import Topic


@dataclass(frozen=True, slots=True)
class Copied:
    """A record as it was."""

    key: bytes | None
    value: bytes | None
    timestamp: int


TopicsBackup = dict[Topic, Sequence[Copied]]
Change = Callable[[Sequence[Copied]], Sequence[Copied]]


async def topics_backup(settings: Settings) -> TopicsBackup:
    """Everything that is committed in them now."""
    return {each: await _copied(settings, each) for each in Topic}


async def _copied(settings: Settings, topic: Topic) -> Sequence[Copied]:
    at = TopicPartition(settings.topics.name(topic), 0)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.kafka, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    await consumer.start()
    try:
        consumer.assign([at])
        end = (await consumer.end_offsets([at]))[at]
        await consumer.seek_to_beginning(at)
        found: list[Copied] = []
        while await consumer.position(at) < end:
            batch = await consumer.getmany(at, timeout_ms=200)
            found += [Copied(each.key, each.value, each.timestamp) for each in batch.get(at, ())]
        return found
    finally:
        await consumer.stop()


async def restored(settings: Settings, backup: TopicsBackup, **changed: Change) -> Settings:
    """The settings of what was restored. ``changed``: by topic (its name in `Topic`), what is done to it first."""
    there = replace(settings, prefix=f"restored-{new_id()[-10:]}-")
    async with topic_admin(there.kafka) as admin:
        await apply_topics(admin, there.topics, 1, 1, there.topic_specs)
    producer = AIOKafkaProducer(bootstrap_servers=there.kafka, acks="all", linger_ms=5)
    await producer.start()
    try:
        for topic, records in backup.items():
            for each in changed.get(topic.name, _same)(records):
                await producer.send(
                    there.topics.name(topic), each.value, key=each.key, partition=0, timestamp_ms=each.timestamp
                )
        await producer.flush()
    finally:
        await producer.stop()
    return there


RedisBackup = Mapping[bytes, bytes]


async def redis_backup(redis: Redis, log_id: LogId) -> RedisBackup:
    """Every key of the installation, as Redis dumps it."""
    keys = [each async for each in redis.scan_iter(f"eunoe:{log_id}:*", count=1_000)]
    dumped = {key: await redis.dump(key) for key in keys}
    return {key: bytes(value) for key, value in dumped.items() if value is not None}


@asynccontextmanager
async def another_database(settings: Settings, log_id: LogId, backup: RedisBackup) -> AsyncIterator[Settings]:
    """The settings of a database that holds the backup and nothing else of the installation; emptied afterwards."""
    url = urllib.parse.urlunsplit(urllib.parse.urlsplit(settings.redis)._replace(path="/1"))
    async with Redis.from_url(url) as redis:
        await redis.delete(f"eunoe:installation:{settings.prefix}")
        await put_back(redis, log_id, backup)
        try:
            yield replace(settings, redis=url)
        finally:
            await redis.delete(f"eunoe:installation:{settings.prefix}")
            await put_back(redis, log_id, {})


async def put_back(redis: Redis, log_id: LogId, backup: RedisBackup) -> None:
    """What the installation has there is as it was."""
    for key in [each async for each in redis.scan_iter(f"eunoe:{log_id}:*", count=1_000)]:
        await redis.delete(key)
    for key, value in backup.items():
        await redis.restore(key, 0, value, replace=True)  # clients that run go on writing


def _same(records: Sequence[Copied]) -> Sequence[Copied]:
    return records
