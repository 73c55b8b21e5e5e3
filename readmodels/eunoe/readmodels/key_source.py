"""`KeySource` on the ``keys`` and ``subjects`` read models.

A Redis that lost data would answer "unknown", or hold a subject open that was closed. So every answer comes with the
watermarks read after it, and one behind what this process has seen before is `KeySourceUnavailable`, until the
projectors have caught up again.
"""

from collections.abc import Sequence
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyClosed, KeySourceUnavailable
from eunoe.crypto.hierarchy import NO_TENANT, WrappedKey
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.crypto.records import from_record
from eunoe.readmodels import keys, subjects
from eunoe.readmodels.errors import StoreUnavailable
from eunoe.readmodels.keys import Gone, KeyNames, access_field, index_field, open_tenant_key, stored
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.store import answers, ask, text, texts
from eunoe.readmodels.subjects import SubjectNames, ref_of, state_of
from eunoe.readmodels.tenants import standing_of, tenant_key
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.ids import Bucket, KeyId, MemoryId, Partition, Pseudonym, TenantId
from eunoe.schemas.keys import KeyRecord

_SOURCE: Final = "redis"


class RedisKeySource:
    """Implements `eunoe.crypto.key_source.KeySource`; the errors are described there."""

    def __init__(self, redis: Redis, installation: Installation) -> None:
        self._redis = redis
        self._installation = installation
        self._serving = {each: Serving(redis, installation, each) for each in (keys.NAME, subjects.NAME)}
        self._seen: dict[tuple[str, Partition], int] = {}

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        """The tenant key of the open incarnation."""
        key_id, _ = await self._open(tenant, None)
        return None if key_id is None else await self.key(tenant, key_id)

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        """Any key by its id."""
        if tenant == NO_TENANT:
            return await self._dead_letter_key(key_id)
        names = self._keys(self._installation.partition_of(tenant))
        _, closed = await self._open(tenant, None)
        (value,) = await self._ask(names.prefix, ("GET", names.key(key_id)))
        if value is None and await self._record_over(tenant, key_id):
            raise KeyClosed("key", tenant, None, key_id)
        found = _answer(tenant, key_id, value)
        if found is not None and found.incarnation <= closed:
            raise KeyClosed("tenant", tenant, None, key_id)
        return found

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        """The data key that serves this bucket of this generation."""
        names = self._keys(self._installation.partition_of(tenant))
        return await self._pointed(tenant, names, names.subject(tenant, subject, generation), bucket)

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        """Whether the subject is known, and open."""
        partition = self._installation.partition_of(tenant)
        names = self._subjects(partition)
        await self._open(tenant, subject)
        state = state_of(texts((await self._ask(names.prefix, ("HGETALL", names.subject(tenant, subject))))[0]), 0)
        if state is None:
            return None
        return SubjectKeyState(generation=state.generation, closed=state.closed, root_key_id=state.root_key_id)

    # Beyond the protocol: pointers that only some callers need.

    async def index_key(self, tenant: TenantId, read_model: str, generation: int) -> WrappedKey | None:
        """The index key of one generation of a read model."""
        names = self._keys(self._installation.partition_of(tenant))
        return await self._pointed(tenant, names, names.index(tenant), index_field(Bucket(read_model), generation))

    async def access_key(self, tenant: TenantId, incarnation: int, day: Bucket) -> WrappedKey | None:
        """The access key that the incarnation of the tenant has for a UTC day."""
        names = self._keys(self._installation.partition_of(tenant))
        return await self._pointed(tenant, names, names.access(tenant), access_field(day, incarnation))

    async def dead_letter_key(self, partition: Partition, day: Bucket) -> WrappedKey | None:
        """The key of a UTC day that the decider of ``partition`` made for its dead letters."""
        names = self._keys(partition)
        pointer = (await self._ask(names.prefix, ("HGET", names.dead_letter, day)))[0]
        return None if pointer is None else await self._dead_letter_key(KeyId(text(pointer)))

    async def _pointed(self, tenant: TenantId, names: KeyNames, where: str, field: str) -> WrappedKey | None:
        pointer = (await self._ask(names.prefix, ("HGET", where, field)))[0]
        return None if pointer is None else await self.key(tenant, KeyId(text(pointer)))

    async def _dead_letter_key(self, key_id: KeyId) -> WrappedKey | None:
        # They belong to no tenant and so lie in the partition of whoever made them; opening one is rare.
        for partition in range(self._installation.partitions):
            names = self._keys(Partition(partition))
            value = (await self._ask(names.prefix, ("GET", names.key(key_id))))[0]
            if value is not None:
                return _answer(NO_TENANT, key_id, value)
        return None

    async def _record_over(self, tenant: TenantId, key_id: KeyId) -> bool:
        """Whether the log says that the key served one record alone, and that record is over or about a forgotten
        person: then it was destroyed, though compaction has left nothing that says so."""
        names = self._subjects(self._installation.partition_of(tenant))
        (found,) = await self._ask(names.prefix, ("GET", names.single(tenant, key_id)))
        if found is None:
            return False
        memory_id = MemoryId(text(found))
        if not memory_id:
            return True
        (members,) = await self._ask(names.prefix, ("SMEMBERS", names.record(tenant, memory_id)))
        whom = [ref_of(each) for each in members]
        if not whom:
            return False
        fields = await self._ask(names.prefix, *(("HGETALL", names.subject(tenant, each.subject)) for each in whom))
        states = [state_of(texts(each), 0) for each in fields]
        return any(
            state is not None and ref.generation <= state.closed_generation
            for ref, state in zip(whom, states, strict=True)
        )

    async def _open(self, tenant: TenantId, subject: Pseudonym | None) -> tuple[KeyId | None, int]:
        """The id of the tenant key that is open, None where none is known, and the last incarnation that was forgotten.

        Raises `KeyClosed` where the tenant is forgotten: the log says so, or its key is destroyed.
        """
        partition = self._installation.partition_of(tenant)
        names, of_tenant = self._keys(partition), self._subjects(partition).prefix
        (fields,) = await self._ask(of_tenant, ("HGETALL", tenant_key(of_tenant, tenant)))
        standing = standing_of(texts(fields))
        if standing.forgotten:
            raise KeyClosed("tenant", tenant, subject, None)
        (incarnations,) = await self._ask(names.prefix, ("HGETALL", names.tenant(tenant)))
        key_id = open_tenant_key(texts(incarnations), standing.closed)
        if key_id == "":
            raise KeyClosed("tenant", tenant, subject, None)
        return key_id, standing.closed

    def _keys(self, partition: Partition) -> KeyNames:
        return KeyNames(self._serving[keys.NAME].known(partition))

    def _subjects(self, partition: Partition) -> SubjectNames:
        return SubjectNames(self._serving[subjects.NAME].known(partition))

    async def _ask(self, prefix: Prefix, *commands: Sequence[str]) -> list[Any]:
        """The answers, given by the generation that serves and that has not fallen behind what was seen of the model.

        Generations differ in nothing but the prefix: where another one serves by now, it is asked the same.
        """
        serving, place = self._serving[prefix.model], (prefix.model, prefix.partition)
        seen, asked = self._seen.get(place, 0), prefix
        try:
            while True:
                with answers("reading keys"):
                    *found, position = await ask(
                        self._redis,
                        *([each.replace(str(prefix), str(asked)) for each in command] for command in commands),
                        ("HGET", asked.watermark, "position"),
                    )
                if (now := await serving.look(prefix.partition)) == asked:
                    break
                asked = now
        except StoreUnavailable as away:
            raise KeySourceUnavailable(_SOURCE, away.cause) from away
        at = int(position or 0)
        if at < seen:
            raise KeySourceUnavailable(_SOURCE, f"the {prefix.model} read model is being filled again")
        self._seen[place] = max(at, self._seen.get(place, 0))
        return found


def _answer(tenant: TenantId, key_id: KeyId, value: bytes | None) -> WrappedKey | None:
    try:
        found = stored(value)
    except SchemaError as error:
        raise KeySourceUnavailable(_SOURCE, str(error)) from error
    match found:
        case None:
            return None
        case Gone(tenant=owner):
            if owner is not None and owner != tenant:
                return None
            raise KeyClosed("key", tenant, None, key_id)
        case KeyRecord():
            return from_record(found) if found.tenant == tenant else None
