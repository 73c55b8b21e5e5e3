"""A real log to fold: topics with their genesis, a transactional writer, lanes in the background."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from redis.asyncio import Redis

from eunoe.readmodels.projector import Pace, ProjectorLane, ReadModel
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.source import KeyChange, KeyDestroyed
from eunoe.readmodels.waiting import wait_for_position
from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.codec import EVENTS, KEY_RECORDS
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Offset, Partition, TenantId
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.testing.samples import SAMPLE_TENANT

FAST = Pace(poll_ms=50, check_s=0.05, settle_s=0.2)


class Log:
    """One installation and what a test does with it. Everything goes to ``partition``, the sample tenant's."""

    def __init__(self, bootstrap: str, installation: Installation, redis: Redis, producer: AIOKafkaProducer) -> None:
        self.bootstrap = bootstrap
        self.installation = installation
        self.redis = redis
        self.producer = producer
        self.partition = installation.partition_of(SAMPLE_TENANT)

    async def write(self, *events: Event) -> list[Offset]:
        """Commit ``events`` in one transaction; their offsets."""
        return await self.write_values(Topic.LIFECYCLE, *((None, EVENTS.encode(each)) for each in events))

    async def write_keys(self, *changes: KeyChange) -> list[Offset]:
        values: list[tuple[bytes | None, bytes | None]] = []
        for each in changes:
            value = None if isinstance(each, KeyDestroyed) else KEY_RECORDS.encode(each)
            values.append((each.key_id.encode(), value))
        return await self.write_values(Topic.KEYS, *values)

    async def write_values(self, topic: Topic, *values: tuple[bytes | None, bytes | None]) -> list[Offset]:
        async with self.producer.transaction():
            return await self._send(topic, values)

    async def abort(self, *events: Event) -> None:
        """Write ``events`` in a transaction that is rolled back: on disk, and never to be seen."""
        await self.producer.begin_transaction()
        await self._send(Topic.LIFECYCLE, [(None, EVENTS.encode(each)) for each in events])
        await self.producer.abort_transaction()

    async def _send(self, topic: Topic, values: Sequence[tuple[bytes | None, bytes | None]]) -> list[Offset]:
        name = self.installation.topic(topic)
        sent = [await self.producer.send(name, value, key=key, partition=self.partition) for key, value in values]
        return [Offset((await each).offset) for each in sent]

    async def end(self, topic: Topic = Topic.LIFECYCLE) -> Offset:
        """The committed end, markers included."""
        at = TopicPartition(self.installation.topic(topic), self.partition)
        consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap, isolation_level="read_committed")
        try:
            await consumer.start()
            return Offset((await consumer.end_offsets([at]))[at])
        finally:
            await consumer.stop()

    async def cut_off_before(self, offset: int) -> Offset:
        """What retention does: the log starts at ``offset`` from now on."""
        at = TopicPartition(self.installation.topic(Topic.LIFECYCLE), self.partition)
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            await admin.start()
            await admin.delete_records({at: RecordsToDelete(before_offset=offset)})
        finally:
            await admin.close()
        return Offset(offset)

    def neighbour(self) -> TenantId:
        """Another tenant whose records would lie in the same partition."""
        names = (TenantId(f"other-{number}") for number in range(1_000))
        return next(each for each in names if self.installation.partition_of(each) == self.partition)

    def prefix(self, model: str, generation: int = 1) -> Prefix:
        return Prefix(self.installation.log_id, self.partition, model, generation)

    def lane(self, model: ReadModel[Any], **over: Any) -> ProjectorLane[Any]:
        settings: dict[str, Any] = {
            "installation": self.installation, "bootstrap": self.bootstrap, "redis": self.redis, "pace": FAST
        }  # fmt: skip
        return ProjectorLane(model, Partition(self.partition), **(settings | over))

    async def fold(self, *models: ReadModel[Any], **over: Any) -> None:
        """Bring ``models`` to the ends of their topics, each by a lane of its own."""
        for model in models:
            await asyncio.wait_for(self.lane(model, **over).run(until=await self.end(model.source)), 20)

    async def caught_up(self, model: ReadModel[Any]) -> Offset:
        """Wait until ``model``, folded by somebody else, is at the end of its topic."""
        serving = Serving(self.redis, self.installation, model.name)
        return await wait_for_position(serving, Partition(self.partition), await self.end(model.source), 20)

    async def contents(self, model: str, generation: int = 1) -> dict[str, Any]:
        """Everything under the model's prefix but wall-clock marks, keys shortened: what two runs are compared by."""
        prefix = str(self.prefix(model, generation))
        found: dict[str, Any] = {}
        async for key in self.redis.scan_iter(match=prefix.replace("[", "\\[") + "*", count=1000):
            found[key.decode().removeprefix(prefix)] = await _value(self.redis, key)
        if "watermark" in found:
            # Wall-clock time, and where the log ended when it was looked at: the two things that no log gives.
            for mark in (b"caught_up_at", b"log_end"):
                found["watermark"].pop(mark, None)
        return found


async def _value(redis: Any, key: bytes) -> Any:
    match await redis.type(key):
        case b"hash":
            return await redis.hgetall(key)
        case b"set":
            return await redis.smembers(key)
        case b"zset":
            return await redis.zrange(key, 0, -1, withscores=True)
        case _:
            return await redis.get(key)


@asynccontextmanager
async def opened(bootstrap: str, names: TopicNames, redis: Redis, partitions: int = 2) -> AsyncIterator[Log]:
    async with topic_admin(bootstrap) as admin:
        await apply_topics(admin, names, partitions, 1)
    installation = await open_installation(bootstrap, names)
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=f"{names.prefix}writer", retry_backoff_ms=10, linger_ms=5
    )
    await producer.start()
    try:
        yield Log(bootstrap, installation, redis, producer)
    finally:
        await producer.stop()


@asynccontextmanager
async def running(*lanes: ProjectorLane[Any], quiet: bool = False) -> AsyncIterator[list["asyncio.Task[None]"]]:
    """``lanes`` in the background. What one of them raised meanwhile is raised at the end, unless ``quiet``."""
    tasks = [asyncio.create_task(lane.run()) for lane in lanes]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    for error in ended:
        if isinstance(error, Exception) and not quiet:
            raise error
