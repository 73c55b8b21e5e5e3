"""The ``history`` read model: how did this record come to be what it is, now or as of a time.

Folds ``memory-lifecycle`` without opening anything: who, when, which policy, which reason; never a statement. Under
the partition's prefix:

``memory:<tenant>:<memory id>``    hash: log position -> `Stored`, MessagePack: one field per change of the record
``closed:<tenant>:<subject>``      hash: generation -> position and `Stored` of its forgetting, for all its records

A forgotten record keeps its entries: that it was there and was forgotten is what the history is for. A forgotten
tenant's go: nobody may ask for them any more.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from eunoe.readmodels.removing import Removal
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Operation
from eunoe.schemas.commands import Draft
from eunoe.schemas.errors import Undecodable
from eunoe.schemas.events import (
    ConflictRef,
    ConflictResolved,
    Event,
    Fact,
    Finding,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    Reason,
    SubjectForgotten,
    SubjectRef,
    SupersededRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import AgentId, CommandId, EventId, MemoryId, Millis, Offset, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import Confirmation, Sensitivity, Trust, Visibility

NAME: Final = "history"
SUPERSEDED: Final = "MemorySuperseded"
"""The kind of entry on the record that gave way; on the log it is part of the fact of the one that replaced it."""
CONTESTED: Final = "MemoryContested"
"""The kind of entry on a record that a newcomer contradicts and that stays; on the log it is part of the newcomer's."""


WITHDRAWN: Final = "MemoryWithdrawn"
"""The kind of entry on a record that went because of what it was built on; on the log it is part of that one's end."""


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who could read the record: an agent, or with ``shared`` every agent, for these purposes, if cleared so far."""

    agent: AgentId
    purposes: tuple[str, ...]
    shared: bool = False
    sensitivity: Sensitivity


class Stored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry without its position. ``kind``: the fact's name, `SUPERSEDED` or `CONTESTED`. No content, ever.

    ``place``: on the first entry, who could read it.

    ``version`` is the record's after the change (None for the forgetting of a whole subject). ``supersedes`` and
    ``superseded_by`` name the other record. ``reasons`` are codes. ``subjects``: on the first entry, whom it is about.
    ``conflicts``: the records that say otherwise since then; ``settled_by``: the signals by which it beat the one it
    supersedes. ``findings``: what the detectors found, by class. ``derived_from``: what it was built on;
    ``by_lineage``: those of ``subjects`` whom it concerns only because of that. ``withdrawn_with``: the record
    whose end ended it.
    """

    kind: str
    version: int | None = None
    decided_at: Millis
    principal: PrincipalName
    event_id: EventId
    command_id: CommandId
    policy_version: int
    policy_hash: str
    reasons: tuple[str, ...] = ()
    supersedes: MemoryId | None = None
    superseded_by: MemoryId | None = None
    trust: Trust | None = None
    confirmation: Confirmation | None = None
    subjects: tuple[SubjectRef, ...] = ()
    conflicts: tuple[MemoryId, ...] = ()
    settled_by: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    place: Place | None = None
    imported_by: PrincipalName | None = None
    imported_at: Millis | None = None
    derived_from: tuple[MemoryId, ...] = ()
    by_lineage: tuple[SubjectRef, ...] = ()
    withdrawn_with: MemoryId | None = None


class HistoryNames(msgspec.Struct, frozen=True):
    """The model's Redis keys in one partition."""

    prefix: Prefix

    def memory(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"memory:{tenant}:{memory_id}")

    def closed(self, tenant: TenantId, subject: Pseudonym) -> str:
        return self.prefix.key(f"closed:{tenant}:{subject}")


_ENCODER: Final = msgspec.msgpack.Encoder()
_CHANGE: Final = msgspec.msgpack.Decoder(Stored)
_CLOSING: Final = msgspec.msgpack.Decoder(tuple[Offset, Stored])


def change(value: bytes) -> Stored:
    """A field's value of ``memory:…``. Raises `Undecodable`."""
    try:
        return _CHANGE.decode(value)
    except msgspec.MsgspecError as error:
        raise Undecodable("history entry", type(error).__name__) from None


def closing(value: bytes) -> tuple[Offset, Stored]:
    """A field's value of ``closed:…``: where the generation was forgotten, and how. Raises `Undecodable`."""
    try:
        return _CLOSING.decode(value)
    except msgspec.MsgspecError as error:
        raise Undecodable("history entry", type(error).__name__) from None


class HistoryModel:
    """The fold, which reads nothing."""

    name: Final = NAME
    source: Final = Topic.LIFECYCLE
    folds_ahead: Final = True

    def __init__(self) -> None:
        self.functions: Final[LoadedFunctions] = DIGESTED.load()

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        names = HistoryNames(prefix)
        return [_writes(names, each.value, each.offset) for each in records]

    async def let_go(self, removal: Removal) -> None:
        """Every entry."""
        await removal.keys()


def _writes(names: HistoryNames, event: Event, offset: Offset) -> Sequence[Operation]:
    tenant = event.header.tenant
    if isinstance(event.fact, SubjectForgotten):
        where = names.closed(tenant, event.fact.subject)
        return (("HSET", where, event.fact.generation, _ENCODER.encode((offset, _entry(event)))),)
    return [
        ("HSET", names.memory(tenant, memory_id), offset, _ENCODER.encode(entry))
        for memory_id, entry in entries_of(event)
    ]


def entries_of(event: Event) -> Sequence[tuple[MemoryId, Stored]]:
    """The entry of each record that the event changed."""
    return (*_named(event), *_withdrawn(event))


def _withdrawn(event: Event) -> Sequence[tuple[MemoryId, Stored]]:
    refs: tuple[WithdrawnRef, ...] = getattr(event.fact, "withdrawn", ())
    return [
        (
            each.memory_id,
            _entry(
                event,
                kind=WITHDRAWN,
                version=each.version,
                reasons=(Reason.LINEAGE.value,),
                withdrawn_with=_ended(event.fact),
            ),
        )
        for each in refs
    ]


def _ended(fact: Fact) -> MemoryId | None:
    """The record whose end took others along; None where one fact ended several and does not say which."""
    match fact:
        case MemoryAccepted(supersedes=SupersededRef() as old) | MemoryPromoted(supersedes=SupersededRef() as old):
            return old.memory_id
        case ConflictResolved(superseded=(old,)):
            return old.memory_id
        case MemoryRetracted(memory_id=memory_id) | MemoryForgotten(memory_id=memory_id):
            return memory_id
        case _:
            return None


def _named(event: Event) -> Sequence[tuple[MemoryId, Stored]]:
    match event.fact:
        case MemoryAccepted(draft=draft, supersedes=old) as fact:
            entry = _entry(
                event,
                version=1,
                supersedes=old.memory_id if old else None,
                trust=fact.trust,
                confirmation=fact.confirmation,
                subjects=_subjects(fact),
                conflicts=_ids(fact.conflicts_with),
                settled_by=fact.settled_by,
                findings=fact.findings,
                place=_place(draft),
                derived_from=tuple(each.memory_id for each in draft.derived_from),
                by_lineage=_by_lineage(fact),
            )
            gone, contested = _gave_way(event, draft.memory_id, old), _contested(event, draft.memory_id, fact)
            return ((draft.memory_id, entry), *gone, *contested)
        case MemoryQuarantined(draft=draft) as fact:
            entry = _entry(
                event,
                version=1,
                reasons=tuple(each.value for each in fact.reasons),
                supersedes=fact.supersedes,
                trust=fact.trust,
                confirmation=fact.confirmation,
                subjects=_subjects(fact),
                conflicts=fact.conflicts_with,
                findings=fact.findings,
                place=_place(draft),
                derived_from=tuple(each.memory_id for each in draft.derived_from),
                by_lineage=_by_lineage(fact),
            )
            return ((draft.memory_id, entry),)
        case MemoryPromoted(memory_id=memory_id, supersedes=old) as fact:
            entry = _entry(
                event,
                version=fact.version,
                trust=fact.trust,
                supersedes=old.memory_id if old else None,
                conflicts=_ids(fact.conflicts_with),
            )
            return ((memory_id, entry), *_gave_way(event, memory_id, old), *_contested(event, memory_id, fact))
        case ConflictResolved(memory_id=memory_id, version=version, superseded=superseded):
            gone = tuple(each for old in superseded for each in _gave_way(event, memory_id, old))
            return ((memory_id, _entry(event, version=version)), *gone)
        case MemoryRejected(memory_id=memory_id, version=version, reason=reason):
            return ((memory_id, _entry(event, version=version, reasons=(reason,))),)
        case MemorySuspended(memory_id=memory_id, version=version, reasons=reasons):
            return ((memory_id, _entry(event, version=version, reasons=reasons)),)
        case MemoryRetracted(memory_id=memory_id, version=version, reason=code) if code is not None:
            return ((memory_id, _entry(event, version=version, reasons=(code,))),)
        case MemoryConfirmed() | MemoryRetracted() | MemoryExpired() | MemoryForgotten() as fact:
            return ((fact.memory_id, _entry(event, version=fact.version)),)
    return ()


def _gave_way(event: Event, newcomer: MemoryId, old: SupersededRef | None) -> Sequence[tuple[MemoryId, Stored]]:
    if old is None:
        return ()
    return ((old.memory_id, _entry(event, kind=SUPERSEDED, version=old.version, superseded_by=newcomer)),)


def _contested(
    event: Event, newcomer: MemoryId, fact: MemoryAccepted | MemoryPromoted
) -> Sequence[tuple[MemoryId, Stored]]:
    return tuple(
        (each.memory_id, _entry(event, kind=CONTESTED, version=each.version, conflicts=(newcomer,)))
        for each in fact.conflicts_with
    )


def _ids(refs: Sequence[ConflictRef]) -> tuple[MemoryId, ...]:
    return tuple(each.memory_id for each in refs)


def _subjects(fact: MemoryAccepted | MemoryQuarantined) -> tuple[SubjectRef, ...]:
    return (SubjectRef(subject=fact.draft.subject, generation=fact.draft.generation), *fact.about)


def _by_lineage(fact: MemoryAccepted | MemoryQuarantined) -> tuple[SubjectRef, ...]:
    return tuple(each for each in fact.about if each.subject not in fact.draft.about)


def _place(draft: Draft) -> Place:
    return Place(
        agent=draft.agent,
        purposes=draft.purposes,
        shared=draft.visibility is Visibility.SHARED,
        sensitivity=draft.sensitivity,
    )


def _entry(
    event: Event,
    *,
    kind: str | None = None,
    version: int | None = None,
    reasons: tuple[str, ...] = (),
    supersedes: MemoryId | None = None,
    superseded_by: MemoryId | None = None,
    trust: Trust | None = None,
    confirmation: Confirmation | None = None,
    subjects: tuple[SubjectRef, ...] = (),
    conflicts: tuple[MemoryId, ...] = (),
    settled_by: tuple[str, ...] = (),
    findings: tuple[Finding, ...] = (),
    place: Place | None = None,
    derived_from: tuple[MemoryId, ...] = (),
    by_lineage: tuple[SubjectRef, ...] = (),
    withdrawn_with: MemoryId | None = None,
) -> Stored:
    header, said = event.header, event.header.said
    return Stored(
        kind=kind or type(event.fact).__name__,
        version=version,
        decided_at=said.decided_at,
        principal=said.principal,
        event_id=said.event_id,
        command_id=said.command_id,
        policy_version=said.policy_version,
        policy_hash=said.policy_hash,
        imported_by=None if header.origin is None else header.principal,
        imported_at=None if header.origin is None else header.decided_at,
        reasons=reasons,
        supersedes=supersedes,
        superseded_by=superseded_by,
        trust=trust,
        confirmation=confirmation,
        subjects=subjects,
        conflicts=conflicts,
        settled_by=settled_by,
        findings=findings,
        place=place,
        derived_from=derived_from,
        by_lineage=by_lineage,
        withdrawn_with=withdrawn_with,
    )
