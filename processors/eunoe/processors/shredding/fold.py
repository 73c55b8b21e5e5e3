"""What the log makes due: a pure fold of ``memory-lifecycle`` and, for dead letters, of ``memory-keys``.

Both are folded like any read model, data and watermark in one step: what is due is known exactly once its fact is
committed, and never before. Times are compared by whoever works it off; nothing here knows what time it is.
"""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

from eunoe.crypto.hierarchy import KeyKind
from eunoe.processors.shredding.due import day_over, month_over, record_over
from eunoe.processors.shredding.issued import ids_of, record_of
from eunoe.processors.shredding.names import LETTERS, MODEL, ShredNames
from eunoe.processors.shredding.units import Generation, Incarnation, OneKey, OneRecord, member
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import (
    Event,
    HoldLifted,
    KeyIssued,
    MemoryAccepted,
    MemoryExpired,
    MemoryForgotten,
    MemoryQuarantined,
    SubjectForgotten,
    SubjectHeld,
    TenantForgotten,
    WithdrawnRef,
)
from eunoe.schemas.ids import TenantId
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import Topic

T_co = TypeVar("T_co", covariant=True)


class Placed(Protocol[T_co]):
    """A record of the log, wherever it lies."""

    @property
    def value(self) -> T_co: ...


class DueModel:
    """The fold of ``memory-lifecycle``, in the form that a projecting lane takes."""

    name: Final = MODEL
    source: Final = Topic.LIFECYCLE
    functions: Final = None

    async def fold(self, prefix: Prefix, records: Sequence[Placed[Event]]) -> Sequence[Sequence[Operation]]:
        """The Redis writes of each record, in order. Reads nothing."""
        names = ShredNames(prefix)
        return [_writes(names, each.value) for each in records]


class DueLettersModel:
    """The fold of ``memory-keys``: no fact tells of a dead letter's day key, for it belongs to no tenant."""

    name: Final = LETTERS
    source: Final = Topic.KEYS
    functions: Final = None

    async def fold(self, prefix: Prefix, records: Sequence[Placed[object]]) -> Sequence[Sequence[Operation]]:
        """The Redis writes of each record, in order. Reads nothing."""
        names = ShredNames(prefix)
        return [_letter_writes(names, each.value) for each in records]


def _writes(names: ShredNames, event: Event) -> Sequence[Operation]:
    tenant, at = event.header.tenant, event.header.decided_at
    refs: tuple[WithdrawnRef, ...] = getattr(event.fact, "withdrawn", ())
    # What was built on a record that is gone has a key of its own, and is left to nobody.
    built_on: list[Operation] = [("ZADD", names.todo, at, member(OneRecord(tenant, each.memory_id))) for each in refs]
    return (*_named(names, event), *built_on)


def _named(names: ShredNames, event: Event) -> Sequence[Operation]:
    tenant, at = event.header.tenant, event.header.decided_at
    match event.fact:
        case KeyIssued(created=True) as fact:
            return _issued(names, tenant, fact)
        case MemoryAccepted() | MemoryQuarantined() as fact:
            return _held(names, tenant, fact)
        case MemoryForgotten(memory_id=memory_id) | MemoryExpired(memory_id=memory_id):
            return (("ZADD", names.todo, at, member(OneRecord(tenant, memory_id))),)
        case SubjectHeld(subject=subject, generation=generation):
            return (("SADD", names.held, member(Generation(tenant, subject, generation))),)
        case HoldLifted(subject=subject, generation=generation):
            return (("SREM", names.held, member(Generation(tenant, subject, generation))),)
        case SubjectForgotten(subject=subject, generation=generation):
            return (("ZADD", names.todo, at, member(Generation(tenant, subject, generation))),)
        case TenantForgotten(incarnation=incarnation, key_id=key_id):
            due: Operation = ("ZADD", names.todo, at, member(Incarnation(tenant, incarnation)))
            return (due,) if key_id is None else (("SREM", names.guarded, key_id), due)
    return ()


def _issued(names: ShredNames, tenant: TenantId, fact: KeyIssued) -> Sequence[Operation]:
    whole = names.tenant(tenant, fact.incarnation)
    if fact.subject is None:
        given: Operation = ("SADD", whole, fact.key_id)
        if fact.bucket is None:
            return (given, ("SADD", names.guarded, fact.key_id))
        return (given, ("ZADD", names.due, day_over(fact.bucket, Topic.ACCESS), member(OneKey(fact.key_id))))
    keys, memory_id = names.keys(tenant, fact.subject, fact.generation), record_of(fact)
    own = () if memory_id is None else (names.own(tenant, memory_id),)
    held: list[Operation] = [
        ("SADD", whole, *ids_of(fact), *(names.rest(each) for each in (keys, *own))),
        ("SADD", keys, *ids_of(fact)),
        *(("SET", each, fact.key_id) for each in own),
    ]
    if fact.bucket is not None and memory_id is None:
        held.append(("ZADD", names.due, month_over(fact.bucket), member(OneKey(fact.key_id))))
    return held


def _held(names: ShredNames, tenant: TenantId, fact: MemoryAccepted | MemoryQuarantined) -> Sequence[Operation]:
    draft = fact.draft
    about = [names.about(tenant, each.subject, each.generation) for each in fact.about]
    # For a month's key this says again what its issue said; for a record's own it is the first that tells of its end.
    writes: list[Operation] = [("ZADD", names.due, record_over(draft.expires_at), member(OneKey(draft.key_id)))]
    writes += [("SADD", each, draft.memory_id) for each in about]
    if about:
        writes.append(("SADD", names.tenant(tenant, fact.incarnation), *map(names.rest, about)))
    return writes


def _letter_writes(names: ShredNames, change: object) -> Sequence[Operation]:
    if isinstance(change, KeyRecord) and change.kind == KeyKind.DEAD_LETTER and change.bucket is not None:
        return (("ZADD", names.due, day_over(change.bucket, Topic.DEAD_LETTERS), member(OneKey(change.key_id))),)
    return ()
