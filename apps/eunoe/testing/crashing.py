"""Load for crash tests: publishes commands of many tenants and looks at what became of them."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from redis.asyncio import Redis

from eunoe.readmodels.key_source import RedisKeySource
from eunoe.runtime.brokers import connecting
from eunoe.runtime.kek import kek_of
from eunoe.runtime.principals import secrets_of
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.commands import RememberMemory
from eunoe.schemas.events import Event, MemoryAccepted
from eunoe.schemas.ids import CommandId, LogId, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.topics import Topic
from eunoe.testing.deciding import Surroundings
from eunoe.testing.platform import Platform
from eunoe.testing.projections import contents
from eunoe.testing.tenant import TestTenant
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role

_FLUSH: Final = """
local names = redis.call('KEYS', ARGV[1])
for _, name in ipairs(names) do redis.call('UNLINK', name) end
return #names
"""
_AGENT: Final = PrincipalName("dev-agent")


@dataclass(slots=True)
class Load:
    """``subjects``: for each tenant, its client side and two subjects with keys. ``follower`` reads what is decided."""

    platform: Platform
    around: Surroundings
    producer: AIOKafkaProducer
    subjects: Sequence[tuple[TestTenant, Sequence[Pseudonym]]]
    follower: AIOKafkaConsumer
    _accepted: int = 0
    remembered: list[RememberMemory] = field(default_factory=list)

    async def remember(self, count: int) -> list[CommandId]:
        """Publish ``count`` new records, spread over tenants and subjects; returns once the broker has them."""
        ids, sent = [], []
        for number in range(count):
            tenant, subjects = self.subjects[number % len(self.subjects)]
            whom = subjects[number // len(self.subjects) % len(subjects)]
            # The same words twice would be one memory.
            command = await tenant.remember(whom, f"Fact number {len(self.remembered)} about deliveries and returns.")
            self.remembered.append(command)
            command_id, future = await self.around.submit(self.producer, command)
            ids.append(command_id)
            sent.append(future)
        await asyncio.gather(*sent)
        return ids

    async def correct(self, count: int) -> list[CommandId]:
        """Publish a correction of each of the first ``count`` records; on an empty ledger all would be refused."""
        tenants = {tenant.name: tenant for tenant, _ in self.subjects}
        ids, sent = [], []
        for number, old in enumerate(self.remembered[:count]):
            draft = old.draft
            tenant = tenants[old.tenant]
            command = await tenant.correct(draft.subject, f"Corrected fact {number}.", draft.memory_id, 1)
            command_id, future = await self.around.submit(self.producer, command)
            ids.append(command_id)
            sent.append(future)
        await asyncio.gather(*sent)
        return ids

    async def events(self) -> list[Event]:
        return await self.around.events()

    async def decided(self, count: int) -> bool:
        """Whether so many records of this load were accepted. Each call reads on from where the last ended."""
        while self._accepted < count and (found := await self.follower.getmany(timeout_ms=50)):
            facts = [EVENTS.decode(each.value or b"").fact for records in found.values() for each in records]
            self._accepted += sum(isinstance(each, MemoryAccepted) for each in facts)
        return self._accepted >= count

    async def ends(self, topic: Topic) -> Mapping[int, int]:
        """The end of each partition of ``topic``, read committed."""
        name = self.platform.installation.topic(topic)
        partitions = [TopicPartition(name, each) for each in range(self.platform.installation.partitions)]
        consumer = AIOKafkaConsumer(**connecting(self.around.bootstrap), isolation_level="read_committed")
        await consumer.start()
        try:
            return {each.partition: end for each, end in (await consumer.end_offsets(partitions)).items()}
        finally:
            await consumer.stop()

    async def projected(self, redis: Redis | None = None) -> bool:
        """Whether every model has folded everything there is."""
        redis = redis or self.around.redis
        log_id = self.platform.installation.log_id
        for topic, models in (
            (Topic.LIFECYCLE, ("subjects", "outcomes", "history", "recall", "review")),
            (Topic.KEYS, ("keys",)),
        ):
            for partition, end in (await self.ends(topic)).items():
                for model in models:
                    mark = await redis.hget(f"eunoe:{log_id}:{{p{partition}}}:{model}:g1:watermark", "position")
                    if int(mark or 0) < end:
                        return False
        return True

    async def flush(self, redis: Redis) -> int:
        """Redis loses its data; how many keys that were."""
        return await flush_installation(redis, self.platform.installation.log_id)

    async def contents(self) -> Mapping[str, Any]:
        """What the live projections hold."""
        return await contents(self.around.redis, self.platform.installation.log_id)

    async def folded_once(self, redis_url: str) -> Mapping[str, Any]:
        """What one undisturbed projector makes of the whole log in the empty Redis at ``redis_url``."""
        settings = replace(self.platform.settings, redis=redis_url, group="reference")
        async with Redis.from_url(redis_url) as reference, running_services(settings, frozenset({Role.PROJECT})):
            await until(lambda: self.projected(reference), 180.0)
            return await contents(reference, self.platform.installation.log_id)


class _PlatformSurroundings(Surroundings):
    """Keys come from the read models of the running workers, secrets from the development folder."""

    def __init__(self, platform: Platform, redis: Redis) -> None:
        super().__init__(platform.settings.kafka, redis, platform.installation)
        self.kek = kek_of(platform.settings)  # type: ignore[assignment]  # a protocol of the same methods
        self.keys = RedisKeySource(redis, platform.installation)  # type: ignore[assignment]  # the same protocol
        self.signers = {_AGENT: secrets_of(platform.settings, _AGENT)[0]}
        self.agent = _AGENT

    async def refresh_keys(self) -> None:
        """Nothing to do: the source is live."""


@asynccontextmanager
async def published(platform: Platform, tenants: Sequence[TenantId], subjects: int = 2) -> AsyncIterator[Load]:
    """A load for ``tenants``; a worker runs while their keys are issued, and is gone when the block starts."""
    async with Redis.from_url(platform.settings.redis) as redis:
        around = _PlatformSurroundings(platform, redis)
        async with around.producer() as producer:
            made = []
            async with running_services(platform.settings):
                for name in tenants:
                    tenant = TestTenant(around, producer, name)
                    made.append((tenant, [await tenant.subject(f"customer-{n}") for n in range(subjects)]))
            async with _following(around) as follower:
                yield Load(platform, around, producer, made, follower)


@asynccontextmanager
async def _following(around: Surroundings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer of all that is decided, from the start."""
    installation = around.installation
    topic = installation.topic(Topic.LIFECYCLE)
    consumer = AIOKafkaConsumer(
        bootstrap_servers=around.bootstrap, isolation_level="read_committed", auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        consumer.assign([TopicPartition(topic, each) for each in range(installation.partitions)])
        yield consumer
    finally:
        await consumer.stop()


async def flush_installation(redis: Redis, log_id: LogId) -> int:
    """Take everything of one log out of Redis at one moment, as FLUSHALL does; how many keys."""
    return int(await redis.eval(_FLUSH, 0, f"eunoe:{log_id}:*"))
