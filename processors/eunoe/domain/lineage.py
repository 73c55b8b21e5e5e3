"""Lineage: a record says what it was built on, and goes with it (M7, M20).

Whom a source concerns, the record concerns too: it is about them as if its author had said so, and ends with any one of
them in the single event that forgets the person, however long the chain. A source that goes by itself (forgotten,
retracted, superseded) takes along, in the same fact, what was built on it; which of the last two do is policy. Either
way the record's key is destroyed, so one that is built on others has a key of its own. A correction says anew what it
stands on: naming nothing, it stands on its own.
"""

from collections.abc import Collection, Iterable
from typing import Final

from eunoe.domain.addressed import erased
from eunoe.domain.identity import SENSITIVITY_RANK, cleared
from eunoe.domain.known import Case, Refusal, Source
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.domain.retention import still_running
from eunoe.schemas.commands import Draft, SourceRef
from eunoe.schemas.events import Reason, SubjectRef, WithdrawnRef
from eunoe.schemas.ids import MemoryId, Pseudonym
from eunoe.schemas.values import Lifecycle, Visibility

MOST: Final = 64
"""Records that one may stand on, and that may stand on one, through whatever lies between: one fact names all that goes
and one call to Redis removes them (20 records take it about 2 ms)."""
_FIELD: Final = "derived_from"
_GOING: Final = frozenset({Lifecycle.ACTIVE, Lifecycle.QUARANTINED})


def present(case: Case) -> Refusal | None:
    """Nothing it was built on is forgotten or restricted. Asked before the idempotency key, as about the people."""
    for source in case.known.sources:
        if erased(source.record, closed=source.closed):
            return Refusal(reason=Reason.ERASED, field=_FIELD)
        if source.restricted:
            return Refusal(reason=Reason.SUBJECT_RESTRICTED, field=_FIELD)
    return None


def admissible(case: Case, draft: Draft) -> Refusal | None:
    """Each source is in this tenant and in use, and whoever writes could have read it for all these purposes (A8)."""
    named = zip(draft.derived_from, case.known.sources, strict=True)
    objections = (_usable(case, draft, ref, source) for ref, source in named)
    objection = next((each for each in objections if each is not None), None)
    return objection or _fits(case)


def brought_in(case: Case, draft: Draft) -> Refusal | None:
    """Of a record that comes from elsewhere: what it was built on is here, in a scope that it could be built in, and
    has not gone here meanwhile. It may wait for a person, as the record may."""
    for source in case.known.sources:
        record = source.record
        if record is None:
            return Refusal(reason=Reason.NOT_FOUND, field=_FIELD)
        if record.lifecycle is Lifecycle.WITHDRAWN:
            # What that was built on is gone, and its own text with that.
            return Refusal(reason=Reason.ERASED, field=_FIELD)
        if _out_of_scope(draft, record):
            return Refusal(reason=Reason.OTHER_SCOPE, field=_FIELD)
        if len(record.derived) >= MOST:
            return Refusal(reason=Reason.LIMIT_REACHED, field=_FIELD, memory_id=record.memory_id)
        if _ended(case, record):
            return _not_in_use(record)
    return _fits(case)


def standing(case: Case) -> Refusal | None:
    """What a record that waits was built on was let in itself. Only of imports both can wait; with a source that ends
    otherwise the record has gone already."""
    found = (each.record for each in case.known.sources if each.record is not None)
    waiting = (each for each in found if each.lifecycle in (Lifecycle.QUARANTINED, Lifecycle.REJECTED))
    return next((_not_in_use(each) for each in waiting), None)


def _ended(case: Case, source: MemoryState) -> bool:
    """Whether it ended in a way that takes along what was built on it."""
    match source.lifecycle:
        case Lifecycle.SUPERSEDED:
            return case.policy.lineage.superseded
        case Lifecycle.RETRACTED:
            return case.policy.lineage.retracted
        case Lifecycle.REJECTED | Lifecycle.WITHDRAWN | Lifecycle.FORGOTTEN:
            return True
        case _:
            return False


def _fits(case: Case) -> Refusal | None:
    return Refusal(reason=Reason.TOO_LONG, field=_FIELD) if len(_ancestors(case)) > MOST else None


def _out_of_scope(draft: Draft, source: MemoryState) -> bool:
    readable = source.visibility is Visibility.SHARED or source.agent == draft.agent
    return not readable or not set(draft.purposes) <= set(source.purposes)


def _not_in_use(source: MemoryState) -> Refusal:
    return Refusal(reason=Reason.WRONG_STATE, field=_FIELD, memory_id=source.memory_id, current_version=source.version)


def _usable(case: Case, draft: Draft, ref: SourceRef, source: Source) -> Refusal | None:
    record = source.record
    if record is None or ref.version > record.version:
        # What is another tenant's is not there, and a version that never was is no version of it.
        return Refusal(reason=Reason.NOT_FOUND, field=_FIELD)
    if _out_of_scope(draft, record):
        return Refusal(reason=Reason.OTHER_SCOPE, field=_FIELD)
    if record.lifecycle is not Lifecycle.ACTIVE:
        return _not_in_use(record)
    if len(record.derived) >= MOST:
        return Refusal(reason=Reason.LIMIT_REACHED, field=_FIELD, memory_id=record.memory_id)
    return cleared(case, record) or still_running(record, case.now)


def _ancestors(case: Case) -> set[MemoryId]:
    records = [each.record for each in case.known.sources if each.record is not None]
    return {one for each in records for one in (each.memory_id, *each.sources)}


def people(case: Case, draft: Draft, about: Iterable[SubjectRef]) -> tuple[SubjectRef, ...]:
    """Everybody the draft concerns besides its subject: ``about``, and whom its sources concern."""
    found: dict[Pseudonym, SubjectRef] = {each.subject: each for each in about}
    for source in case.known.sources:
        if source.record is not None:
            own = SubjectRef(subject=source.record.subject, generation=source.record.generation)
            # Of each only the generation that is open: a source of an earlier one was refused.
            for each in (own, *source.record.about):
                found.setdefault(each.subject, each)
    found.pop(draft.subject, None)
    return tuple(found.values())


def lowers(case: Case, draft: Draft) -> bool:
    """Whether more people would read it than could read what it was built on."""
    ranks = [SENSITIVITY_RANK[each.record.sensitivity] for each in case.known.sources if each.record is not None]
    return SENSITIVITY_RANK[draft.sensitivity] < max(ranks, default=0)


def forgotten_with(case: Case, record: MemoryState) -> tuple[WithdrawnRef, ...]:
    """Everything that stands on a record that is forgotten, whatever became of it meanwhile: its text is left."""
    return _refs(each for each in case.known.dependents if each.memory_id in record.derived)


def retracted_with(case: Case, record: MemoryState) -> tuple[WithdrawnRef, ...]:
    return _ending(case, (record,), ()) if case.policy.lineage.retracted else ()


def rejected_with(case: Case, record: MemoryState) -> tuple[WithdrawnRef, ...]:
    """Only what was in use once, and had to wait again, has anything built on it."""
    return _ending(case, (record,), ())


def superseded_with(
    case: Case, gone: Iterable[MemoryState | None], staying: MemoryState | None = None
) -> tuple[WithdrawnRef, ...]:
    """What goes with records that gave way. What took their place stays, and so does what stands on that."""
    if not case.policy.lineage.superseded:
        return ()
    kept = () if staying is None else (staying.memory_id, *staying.derived)
    return _ending(case, [each for each in gone if each is not None], kept)


def _ending(case: Case, gone: Collection[MemoryState], staying: Collection[MemoryId]) -> tuple[WithdrawnRef, ...]:
    named = {one for each in gone for one in each.derived} - {each.memory_id for each in gone} - set(staying)
    found = (each for each in case.known.dependents if each.memory_id in named)
    return _refs(each for each in found if each.lifecycle in _GOING)


def _refs(records: Iterable[MemoryState]) -> tuple[WithdrawnRef, ...]:
    return tuple(
        WithdrawnRef(memory_id=each.memory_id, version=each.version + 1)
        for each in records
        if allowed(each, Step.WITHDRAWN) is not None
    )
