"""Drives `RedisKeySource` for the contract suite: folds straight into Redis, without a log in between."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.crypto.hierarchy import KeyKind, WrappedKey
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.keys import KeysModel
from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.source import KeyDestroyed, Positioned
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Step, Watermark
from eunoe.schemas.events import Fact, KeyIssued, SubjectForgotten, SubjectReadmitted
from eunoe.schemas.ids import KeyId, LogId, Millis, Offset, Partition, Pseudonym, TenantId, new_id
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import TopicNames
from eunoe.testing.samples import sample_event

_PARTITIONS: Final = 2


class RedisKeyDriver:
    """Both models of an installation of its own, with every partition folded as far as what was put."""

    def __init__(self, redis: Redis, nowhere: Redis) -> None:
        self._redis = redis
        self._nowhere = nowhere
        self._installation = Installation(log_id=LogId(new_id()), partitions=_PARTITIONS, names=TopicNames())
        self._tenants: dict[KeyId, WrappedKey] = {}
        self._generation: dict[tuple[TenantId, Pseudonym], int] = {}
        self._offset = 0
        self.source = RedisKeySource(redis, self._installation)

    async def put(self, key: WrappedKey) -> None:
        described = {name: getattr(key, name) for name in WrappedKey.__struct_fields__ if name != "kind"}
        record = KeyRecord(log_id=self._installation.log_id, kind=key.kind.value, **described)
        if key.kind is KeyKind.TENANT:
            self._tenants[key.key_id] = key
        await self._fold(KeysModel(self._redis), self._installation.partition_of(key.tenant), record)
        if key.kind is KeyKind.SUBJECT_ROOT and key.subject is not None:
            await self._root(key, key.subject)

    async def destroy(self, key_id: KeyId) -> None:
        for partition in range(_PARTITIONS):
            if await self._redis.exists(f"{self._prefix('keys', Partition(partition))}key:{key_id}"):
                await self._fold(KeysModel(self._redis), Partition(partition), KeyDestroyed(key_id))

    async def close_subject(self, tenant: TenantId, subject: Pseudonym) -> None:
        generation = self._generation[tenant, subject]
        await self._decided(tenant, SubjectForgotten(subject=subject, generation=generation, records=0))

    async def close_tenant(self, tenant: TenantId) -> None:
        for key in self._tenants.values():
            if key.tenant == tenant:
                await self.destroy(key.key_id)

    async def cut_off(self) -> None:
        self.source = RedisKeySource(self._nowhere, self._installation)

    async def _root(self, key: WrappedKey, subject: Pseudonym) -> None:
        if key.generation > 1:
            await self._decided(key.tenant, SubjectReadmitted(subject=subject, generation=key.generation))
        self._generation[key.tenant, subject] = key.generation
        issued = KeyIssued(
            incarnation=key.incarnation,
            subject=subject,
            generation=key.generation,
            key_id=key.key_id,
            root_key_id=key.key_id,
            created=True,
        )
        await self._decided(key.tenant, issued)

    async def _decided(self, tenant: TenantId, fact: Fact) -> None:
        event = sample_event(fact, tenant=tenant)
        await self._fold(SubjectsModel(self._redis), self._installation.partition_of(tenant), event)

    async def _fold(self, model: ReadModel[Any], partition: Partition, value: object) -> None:
        prefix = self._prefix(model.name, partition)
        watermark = Watermark(self._redis, prefix)
        self._offset += 1
        record = Positioned(Offset(self._offset), Millis(0), value)
        operations: Sequence[Any] = await model.fold(prefix, [record])
        await watermark.move([Step(await watermark.position(), self._offset + 1, operations[0])])

    def _prefix(self, model: str, partition: Partition) -> Prefix:
        return Prefix(self._installation.log_id, partition, model)


@asynccontextmanager
async def redis_key_driver(url: str) -> AsyncIterator[RedisKeyDriver]:
    async with Redis.from_url(url) as redis, Redis.from_url("redis://127.0.0.1:1") as nowhere:
        yield RedisKeyDriver(redis, nowhere)
