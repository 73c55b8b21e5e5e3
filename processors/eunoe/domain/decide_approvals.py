"""A person lets a record that waits into use, and says what gives way to it."""

from eunoe.domain import conflict, lineage
from eunoe.domain.addressed import erased, left_without, present, steps, unrestricted
from eunoe.domain.identity import cleared, not_own, repeated, seen_gate
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.domain.retention import still_running
from eunoe.schemas.commands import (
    PromoteMemory,
    SeenRef,
)
from eunoe.schemas.events import (
    ConflictRef,
    Fact,
    MemoryPromoted,
    Reason,
    SupersededRef,
)
from eunoe.schemas.values import Action, Trust


def promote(case: Case, command: PromoteMemory) -> Fact | Refusal:
    """A human reviewer other than the author lets a quarantined record into use, verified (A18–A21)."""
    objection = seen_gate(case, Action.REVIEW, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    old = case.known.superseded
    return (
        not_own(case, record)
        or unrestricted(case)
        or cleared(case, record, *(() if old is None else (old,)))
        or steps(record, command.expected_version, Step.PROMOTED)
        or still_running(record, case.now)
        or _waited(case, record)
        or lineage.standing(case)
        or _promoted(case, record, command.replaces)
    )


def _promoted(case: Case, record: MemoryState, replaces: SeenRef | None) -> Fact | Refusal:
    """Of what stands against it only what its author or the reviewer named, as they saw it, gives way.

    Whatever else says otherwise stays, and readers see the conflict: an approval settles nothing that was not shown.
    The very words that are in use already are no other memory: see `conflict.same_words`.
    """
    newcomer = conflict.of_record(record, Trust.VERIFIED)
    twin = conflict.same_words(case, newcomer, record)
    if isinstance(twin, Refusal):
        return twin
    gone = (
        _corrected(case, record, newcomer, replaces)
        if record.supersedes is not None
        else _named(case, newcomer, replaces)
    )
    if isinstance(gone, Refusal):
        return gone
    gone = gone or twin
    withdrawn = lineage.superseded_with(case, (gone,), staying=record)
    going = {each.memory_id for each in withdrawn} | (set() if gone is None else {gone.memory_id})
    stays = tuple(
        each
        for each in case.known.rivals
        if each.memory_id not in going and conflict.contradicts(newcomer, each, case.now)
    )
    return MemoryPromoted(
        memory_id=record.memory_id,
        version=record.version + 1,
        trust=Trust.VERIFIED,
        supersedes=None if gone is None else SupersededRef(memory_id=gone.memory_id, version=gone.version + 1),
        conflicts_with=tuple(ConflictRef(memory_id=each.memory_id, version=each.version + 1) for each in stays),
        unnamed=tuple(each.memory_id for each in stays if cleared(case, each) is not None),
        withdrawn=withdrawn,
    )


def _corrected(
    case: Case, record: MemoryState, newcomer: conflict.Claimant, replaces: SeenRef | None
) -> MemoryState | Refusal:
    """What a correction replaces: still in use, and as its author saw it, or as the reviewer says they did (A25).

    Of one that was brought in from elsewhere nobody knows what its author saw here: the reviewer says it. Where that is
    over, the reviewer may name what stands in its place now.
    """
    old = case.known.superseded
    if old is None:
        return Refusal(reason=Reason.NOT_FOUND, field="supersedes", memory_id=record.supersedes)
    if replaces is not None and replaces.memory_id != old.memory_id and allowed(old, Step.SUPERSEDED) is None:
        return _named(case, newcomer, replaces) or old
    if replaces is not None and replaces.memory_id != old.memory_id:
        return Refusal(reason=Reason.INVALID_FIELD, field="replaces", memory_id=old.memory_id)
    if erased(old, closed=case.known.superseded_closed):
        return Refusal(reason=Reason.ERASED, field="supersedes", memory_id=old.memory_id)
    if allowed(old, Step.SUPERSEDED) is None:
        return Refusal(
            reason=Reason.WRONG_STATE, field="supersedes", memory_id=old.memory_id, current_version=old.version
        )
    if (record.supersedes_version if replaces is None else replaces.version) != old.version:
        return Refusal(
            reason=Reason.VERSION_CONFLICT, field="supersedes", memory_id=old.memory_id, current_version=old.version
        )
    return old if conflict.covers(newcomer, old, case.now) else left_without(old)


def _named(case: Case, newcomer: conflict.Claimant, replaces: SeenRef | None) -> MemoryState | Refusal | None:
    """What the reviewer says gives way: it says otherwise, is as it was seen, and leaves no reader of it without."""
    if replaces is None:
        return None
    old = next((each for each in case.known.rivals if each.memory_id == replaces.memory_id), None)
    if old is None or not conflict.contradicts(newcomer, old, case.now):
        return Refusal(reason=Reason.NO_CONFLICT, field="replaces", memory_id=replaces.memory_id)
    hidden = cleared(case, old)
    if hidden is not None:
        return hidden
    if old.version != replaces.version:
        return Refusal(
            reason=Reason.VERSION_CONFLICT, field="replaces", memory_id=old.memory_id, current_version=old.version
        )
    return old if conflict.covers(newcomer, old, case.now) else left_without(old)


def _waited(case: Case, record: MemoryState) -> Refusal | None:
    """Nobody lets it in before its waiting period is over (C15)."""
    if case.now < record.reviewable_at:
        return Refusal(reason=Reason.WAITING_PERIOD, current_version=record.version)
    return None
