"""The ``subjects`` read model: what is held on this person, and is their generation closed.

Folds ``memory-lifecycle`` without opening anything. Under the partition's prefix:

``subject:<tenant>:<subject>``             hash: ``generation`` (the latest), ``closed`` (the highest closed),
                                           ``root`` (key id of the root of the latest, while it is open),
                                           ``asked`` (somebody asked to forget them), ``hold`` (its review date, ms)
``holds:<tenant>``                         hash: ``<subject>:<generation>`` under a legal hold -> its review date
``asked:<tenant>``                         hash: ``<subject>:<generation>`` to be forgotten -> when, or nothing
``held:<tenant>:<subject>:<generation>``   set: ids of the records that are held, about others' records included
``record:<tenant>:<memory id>``            set: ``<subject>:<generation>`` of everyone a held record is about
``single:<tenant>:<key id>``               the record that the key serves alone; empty once that record is over
``alone:<tenant>:<memory id>``             the key that serves this record alone
``tenant:<tenant>``                        hash: which incarnation there is, see `tenants`

``single`` and ``alone`` say, when compaction has left nothing of a record's own key, whether it was destroyed or never
known.

*Held* is everything that can still be opened: a record leaves with its own forgetting, or withdrawal.
When a generation closes it is not touched (one event must not write 100,000 keys); its set is what the erasure then
works off.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.removing import Removal
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.store import answers, ask, text, texts
from eunoe.readmodels.tenants import KIND, tenant_writes
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Operation
from eunoe.schemas.events import (
    Event,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    KeyIssued,
    MemoryAccepted,
    MemoryExpired,
    MemoryForgotten,
    MemoryQuarantined,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
    SubjectRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import KeyId, MemoryId, Millis, Pseudonym, TenantId, is_uuid
from eunoe.schemas.topics import Topic

NAME: Final = "subjects"


class SubjectState(Struct, frozen=True, kw_only=True):
    """``generation``: the latest, from 1. ``closed_generation``: the highest that was forgotten, 0 for none.

    ``records`` counts what is held of the open generation, 0 when there is none. ``root_key_id``: its root, if issued.
    """

    generation: int
    closed_generation: int
    records: int
    root_key_id: KeyId | None
    asked: bool = False
    review_at: Millis | None = None

    @property
    def restricted(self) -> bool:
        """Nobody reads them for now: somebody asked to forget them, or a legal hold stands (until ``review_at``, when
        somebody looks at it)."""
        return self.asked or self.review_at is not None

    @property
    def closed(self) -> bool:
        """Forgotten and not readmitted."""
        return self.closed_generation >= self.generation


class SubjectNames(Struct, frozen=True):
    """The model's Redis keys in one partition."""

    prefix: Prefix

    def subject(self, tenant: TenantId, subject: Pseudonym) -> str:
        return self.prefix.key(f"subject:{tenant}:{subject}")

    def held(self, tenant: TenantId, subject: Pseudonym, generation: int) -> str:
        return self.prefix.key(f"held:{tenant}:{subject}:{generation}")

    def record(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"record:{tenant}:{memory_id}")

    def holds(self, tenant: TenantId) -> str:
        return self.prefix.key(f"holds:{tenant}")

    def asked(self, tenant: TenantId) -> str:
        return self.prefix.key(f"asked:{tenant}")

    def single(self, tenant: TenantId, key_id: KeyId) -> str:
        return self.prefix.key(f"single:{tenant}:{key_id}")

    def alone(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"alone:{tenant}:{memory_id}")


Owners = frozenset[SubjectRef]
_Record = tuple[TenantId, MemoryId]


class SubjectsModel:
    """The fold. Reads only what records have that are over: whom they are about, and a key of their own."""

    name: Final = NAME
    source: Final = Topic.LIFECYCLE

    def __init__(self, redis: Redis) -> None:
        self.functions: Final[LoadedFunctions] = DIGESTED.load()
        self._redis = redis

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        names = SubjectNames(prefix)
        owners = await self._owners(names, _ended(records, MemoryForgotten))
        alone = await self._alone(names, _ended(records, MemoryForgotten | MemoryExpired))
        return [
            (
                *_writes(names, each.value, owners),
                *_withdrawals(names, each.value, owners),
                *_key_writes(names, each.value, alone),
                *tenant_writes(prefix, each.value),
            )
            for each in records
        ]

    async def let_go(self, removal: Removal) -> None:
        """All that is held in the tenant; which incarnation there was stays."""
        await removal.keys(but=KIND)

    async def _owners(self, names: SubjectNames, wanted: Iterable[_Record]) -> dict[_Record, Owners]:
        records = sorted(wanted)
        if not records:
            return {}
        found = await ask(self._redis, *(("SMEMBERS", names.record(*each)) for each in records))
        return {record: frozenset(map(ref_of, members)) for record, members in zip(records, found, strict=True)}

    async def _alone(self, names: SubjectNames, wanted: Iterable[_Record]) -> dict[_Record, KeyId]:
        records = sorted(wanted)
        if not records:
            return {}
        found = await ask(self._redis, *(("GET", names.alone(*each)) for each in records))
        return {record: KeyId(text(each)) for record, each in zip(records, found, strict=True) if each is not None}


def _ended(records: Sequence[Positioned[Event]], how: Any) -> set[_Record]:
    """``how``: `MemoryForgotten`, `MemoryExpired` or both. What was built on a record that ended is among them."""
    named = {
        (each.value.header.tenant, each.value.fact.memory_id) for each in records if isinstance(each.value.fact, how)
    }
    return named | {(each.value.header.tenant, one) for each in records for one in _withdrawn(each.value.fact)}


def _withdrawn(fact: Fact) -> tuple[MemoryId, ...]:
    """What went because of what it was built on: its key is destroyed."""
    refs: tuple[WithdrawnRef, ...] = getattr(fact, "withdrawn", ())
    return tuple(each.memory_id for each in refs)


def ref_of(member: bytes | str) -> SubjectRef:
    subject, _, generation = text(member).partition(":")
    return SubjectRef(subject=Pseudonym(subject), generation=int(generation))


def _key_writes(names: SubjectNames, event: Event, alone: dict[_Record, KeyId]) -> Sequence[Operation]:
    """``alone`` holds the own keys, as Redis knows them, of records that end in this batch; it gains the batch's."""
    tenant = event.header.tenant
    match event.fact:
        case KeyIssued(created=True, subject=str(), bucket=str() as bucket, key_id=key_id) if is_uuid(bucket):
            alone[tenant, MemoryId(bucket)] = key_id
            return (
                ("SET", names.alone(tenant, MemoryId(bucket)), key_id),
                ("SET", names.single(tenant, key_id), bucket),
            )
        case MemoryForgotten(memory_id=memory_id) | MemoryExpired(memory_id=memory_id):
            return _destroyed(names, tenant, (memory_id, *_withdrawn(event.fact)), alone)
        case _:
            return _destroyed(names, tenant, _withdrawn(event.fact), alone)


def _destroyed(
    names: SubjectNames, tenant: TenantId, ended: Iterable[MemoryId], alone: dict[_Record, KeyId]
) -> Sequence[Operation]:
    own = (alone.get((tenant, each)) for each in ended)
    return [("SET", names.single(tenant, each), "") for each in own if each is not None]


def _writes(names: SubjectNames, event: Event, owners: dict[_Record, Owners]) -> Sequence[Operation]:
    """``owners`` holds what Redis knows of records that are forgotten in this batch, and gains what the batch adds."""
    tenant = event.header.tenant
    match event.fact:
        case KeyIssued(subject=str() as subject, generation=generation, root_key_id=root):
            where = names.subject(tenant, subject)
            known: Operation = ("HSET", where, "generation", generation)
            return (known,) if root is None else ((*known, "root", root),)
        case MemoryAccepted(draft=draft, about=about) | MemoryQuarantined(draft=draft, about=about):
            refs = {SubjectRef(subject=draft.subject, generation=draft.generation), *about}
            owners[tenant, draft.memory_id] = frozenset(refs)
            return _held(names, tenant, draft.memory_id, refs)
        case MemoryForgotten(memory_id=memory_id):
            return _let_go(names, tenant, memory_id, owners.pop((tenant, memory_id), frozenset()))
        case SubjectForgotten(subject=subject, generation=generation):
            where = names.subject(tenant, subject)
            return (
                ("HSET", where, "generation", generation, "closed", generation),
                ("HDEL", where, "root", "asked", "hold"),
                *_over(names, tenant, subject, generation),
            )
        case SubjectReadmitted(subject=subject, generation=generation):
            where = names.subject(tenant, subject)
            return (("HSET", where, "generation", generation), ("HDEL", where, "root"))
        case ForgettingRequested() | ForgettingWithdrawn() | SubjectHeld() | HoldLifted():
            return _restricted(names, tenant, event.fact)
    return ()


def _withdrawals(names: SubjectNames, event: Event, owners: dict[_Record, Owners]) -> Sequence[Operation]:
    tenant = event.header.tenant
    return [
        write
        for each in _withdrawn(event.fact)
        for write in _let_go(names, tenant, each, owners.pop((tenant, each), frozenset()))
    ]


def _restricted(
    names: SubjectNames,
    tenant: TenantId,
    fact: ForgettingRequested | ForgettingWithdrawn | SubjectHeld | HoldLifted,
) -> Sequence[Operation]:
    where, ref = names.subject(tenant, fact.subject), f"{fact.subject}:{fact.generation}"
    match fact:
        case ForgettingRequested(due_at=due_at):
            when = "" if due_at is None else due_at
            return (("HSET", where, "asked", 1), ("HSET", names.asked(tenant), ref, when))
        case ForgettingWithdrawn():
            return (("HDEL", where, "asked"), ("HDEL", names.asked(tenant), ref))
        case SubjectHeld(review_at=review_at):
            return (("HSET", where, "hold", review_at), ("HSET", names.holds(tenant), ref, review_at))
        case HoldLifted():
            return (("HDEL", where, "hold"), ("HDEL", names.holds(tenant), ref))


def _over(names: SubjectNames, tenant: TenantId, subject: Pseudonym, generation: int) -> Sequence[Operation]:
    ref = f"{subject}:{generation}"
    return (("HDEL", names.holds(tenant), ref), ("HDEL", names.asked(tenant), ref))


def _held(names: SubjectNames, tenant: TenantId, memory_id: MemoryId, refs: Iterable[SubjectRef]) -> list[Operation]:
    ordered = sorted(refs, key=lambda ref: (ref.subject, ref.generation))
    writes: list[Operation] = [
        ("SADD", names.record(tenant, memory_id), *(f"{ref.subject}:{ref.generation}" for ref in ordered))
    ]
    for ref in ordered:
        # A subject may be met first in `about`, without a key of its own.
        writes.append(("HSETNX", names.subject(tenant, ref.subject), "generation", ref.generation))
        writes.append(("SADD", names.held(tenant, ref.subject, ref.generation), memory_id))
    return writes


def _let_go(names: SubjectNames, tenant: TenantId, memory_id: MemoryId, refs: Owners) -> list[Operation]:
    ordered = sorted(refs, key=lambda ref: (ref.subject, ref.generation))
    writes: list[Operation] = [("SREM", names.held(tenant, ref.subject, ref.generation), memory_id) for ref in ordered]
    return [*writes, ("UNLINK", names.record(tenant, memory_id))]


def state_of(fields: Mapping[str, str], records: int) -> SubjectState | None:
    """The state in the hash ``subject:…``; None where the hash is not there: the subject is unknown."""
    if "generation" not in fields:
        return None
    generation, closed = int(fields["generation"]), int(fields.get("closed", "0"))
    root = fields.get("root")
    return SubjectState(
        generation=generation,
        closed_generation=closed,
        records=0 if closed >= generation else records,
        root_key_id=None if root is None or closed >= generation else KeyId(root),
        asked="asked" in fields,
        review_at=Millis(int(fields["hold"])) if "hold" in fields else None,
    )


class SubjectsReader:
    """Answers from the model; raises `StoreUnavailable`, and `BeingFilled` where it cannot know."""

    def __init__(self, redis: Redis, installation: Installation, generation: int | None = None) -> None:
        self._redis = redis
        self._installation = installation
        self._serving = Serving(redis, installation, NAME, generation)

    async def state(self, tenant: TenantId, subject: Pseudonym) -> SubjectState | None:
        """What is known of the subject; None for one that never was."""

        async def reading(prefix: Prefix) -> SubjectState | None:
            names = SubjectNames(prefix)
            with answers("reading a subject"):
                fields = texts((await ask(self._redis, ("HGETALL", names.subject(tenant, subject))))[0])
                held = names.held(tenant, subject, int(fields.get("generation", "0")))
                records = int((await ask(self._redis, ("SCARD", held)))[0])
            if not fields:
                await self._serving.filled(prefix)
            return state_of(fields, records)

        return await self._serving.read(self._installation.partition_of(tenant), reading)

    async def restricted(self, tenant: TenantId, *whom: Pseudonym) -> bool:
        """Whether one of them may not be read for now."""

        async def reading(prefix: Prefix) -> bool:
            names = SubjectNames(prefix)
            asked = (("HMGET", names.subject(tenant, each), "asked", "hold") for each in whom)
            with answers("reading subjects"):
                found = await ask(self._redis, *asked)
            return any(any(field is not None for field in fields) for fields in found)

        return await self._serving.read(self._installation.partition_of(tenant), reading)

    async def holds(self, tenant: TenantId) -> Sequence[tuple[SubjectRef, Millis]]:
        """Who is under a legal hold, with the date at which somebody has to look at it; the earliest first."""

        async def reading(prefix: Prefix) -> dict[str, str]:
            with answers("reading the holds"):
                return texts((await ask(self._redis, ("HGETALL", SubjectNames(prefix).holds(tenant))))[0])

        fields = await self._serving.read(self._installation.partition_of(tenant), reading)
        found = [(ref_of(ref), Millis(int(at))) for ref, at in fields.items()]
        return sorted(found, key=lambda each: (each[1], each[0].subject))

    async def held(self, tenant: TenantId, subject: Pseudonym, generation: int) -> AsyncIterator[MemoryId]:
        """Ids of the records held of one generation, open or closed, in no order, read in small steps.

        An id may come twice where records are added meanwhile (SSCAN) or another generation of the model began to
        serve, and none that stays is left out.
        """
        partition = self._installation.partition_of(tenant)
        prefix = await self._serving.look(partition)
        while True:
            async for each in self._held(SubjectNames(prefix).held(tenant, subject, generation)):
                yield each
            if (now := await self._serving.look(partition)) == prefix:
                return
            prefix = now

    async def _held(self, key: str) -> AsyncIterator[MemoryId]:
        cursor = 0
        while True:
            with answers("listing a subject's records"):
                following, members = (await ask(self._redis, ("SSCAN", key, cursor, "COUNT", 500)))[0]
            for member in members:
                yield MemoryId(text(member))
            cursor = int(following)
            if cursor == 0:
                return
