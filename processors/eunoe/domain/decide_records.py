"""Commands about one record that exists: reject, confirm, resolve, retract, suspend, expire, forget.

What lets one into use is in `eunoe.domain.decide_approvals`.
"""

from typing import Final

from eunoe.domain import conflict, judging, lineage
from eunoe.domain.addressed import left_without, present, steps, unrestricted, wrong_state
from eunoe.domain.identity import cleared, gate, not_own, repeated, same_owner, seen_gate, within_limit
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState, Step
from eunoe.domain.retention import still_running
from eunoe.schemas.commands import (
    ConfirmMemory,
    ExpireMemory,
    ForgetMemory,
    RejectMemory,
    ResolveConflict,
    RetractMemory,
    SeenRef,
    SuspendMemory,
)
from eunoe.schemas.events import (
    ConflictResolved,
    Fact,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    Reason,
    SupersededRef,
)
from eunoe.schemas.ids import MemoryId, Millis, TenantId, is_name
from eunoe.schemas.values import Action, Confirmation, ConflictPolicy, Trust


def _uncoded() -> Refusal:
    return Refusal(reason=Reason.INVALID_FIELD, field="reason")


def reject(case: Case, command: RejectMemory) -> Fact | Refusal:
    """A human reviewer keeps a quarantined record out for good."""
    objection = gate(case, Action.REVIEW, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    if not is_name(command.reason):
        return _uncoded()
    record = present(case)
    if isinstance(record, Refusal):
        return record
    return steps(record, command.expected_version, Step.REJECTED) or MemoryRejected(
        memory_id=record.memory_id,
        version=record.version + 1,
        reason=command.reason,
        withdrawn=lineage.rejected_with(case, record),
    )


def confirm(case: Case, command: ConfirmMemory) -> Fact | Refusal:
    """A human reviewer other than the author stands behind a statement that was only proposed."""
    objection = seen_gate(case, Action.REVIEW, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    return (
        not_own(case, record)
        or unrestricted(case)
        or cleared(case, record)
        or steps(record, command.expected_version, Step.CONFIRMED)
        or (None if record.confirmation is Confirmation.PROPOSED else wrong_state(record))
        or still_running(record, case.now)
        or MemoryConfirmed(memory_id=record.memory_id, version=record.version + 1)
    )


def resolve(case: Case, command: ResolveConflict) -> Fact | Refusal:
    """A writer (who asked the person) or a human reviewer says which record of an open conflict holds (B40).

    It names all that gives way, each as it was seen (A25). That must be its owner's and unverified, and nobody have
    asked for a person; else a reviewer answers. And every reader of it must be one of what holds.
    """
    objection = (
        _writer_or_reviewer(case, command.tenant)
        or seen_gate(case, Action.WRITE if _may_write(case, command.tenant) else Action.REVIEW, command.tenant)
        or repeated(case, command.idempotency)
    )
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    objection = (
        unrestricted(case) or steps(record, command.expected_version, Step.UPHELD) or still_running(record, case.now)
    )
    if objection is not None:
        return objection
    claimant = conflict.of_record(record, record.trust)
    others = tuple(each for each in case.known.rivals if conflict.contradicts(claimant, each, case.now))
    ended = {
        each.memory_id
        for each in case.known.rivals
        if each not in others and conflict.contradicts(claimant, each, Millis(0))
    }
    objection = cleared(case, record, *others) or _seen(command.over, others, ended)
    if objection is not None:
        return objection
    if not others and ended:
        # The time of the other side is over: there is nothing left to retire, and nothing to wait for.
        return ConflictResolved(memory_id=record.memory_id, version=record.version + 1, superseded=())
    if not others:
        return Refusal(reason=Reason.NO_CONFLICT, current_version=record.version)
    if _needs_review(case, record, others):
        objection = gate(case, Action.REVIEW, command.tenant) or not_own(case, record)
        if objection is not None:
            return objection
    for each in others:
        if not conflict.covers(claimant, each, case.now):
            return left_without(each)
    return ConflictResolved(
        memory_id=record.memory_id,
        version=record.version + 1,
        superseded=tuple(SupersededRef(memory_id=each.memory_id, version=each.version + 1) for each in others),
        withdrawn=lineage.superseded_with(case, others, staying=record),
    )


def _seen(named: tuple[SeenRef, ...], others: tuple[MemoryState, ...], ended: set[MemoryId]) -> Refusal | None:
    """What gives way is what was looked at, as it was: nothing else, and nothing less. ``ended``: sides whose time ran
    out since; they need not give way, and may be named."""
    versions = {each.memory_id: each.version for each in named}
    for each in others:
        if versions.pop(each.memory_id, None) != each.version:
            return Refusal(
                reason=Reason.VERSION_CONFLICT, field="over", memory_id=each.memory_id, current_version=each.version
            )
    left = next((each for each in versions if each not in ended), None)
    return None if left is None else Refusal(reason=Reason.NO_CONFLICT, field="over", memory_id=left)


def _needs_review(case: Case, record: MemoryState, others: tuple[MemoryState, ...]) -> bool:
    """Whether a writer may not answer it: somebody asked for a person, or what would give way is not the writer's, or
    somebody stands behind it and nobody behind what would hold."""
    return any(each.conflict_policy is ConflictPolicy.REQUIRE_REVIEW for each in (record, *others)) or any(
        each.trust is Trust.VERIFIED
        or not same_owner(case, each)
        or (each.confirmation is Confirmation.CONFIRMED and record.confirmation is not Confirmation.CONFIRMED)
        for each in others
    )


def retract(case: Case, command: RetractMemory) -> Fact | Refusal:
    """The author, as a writer, or a human reviewer takes a record back."""
    objection = _writer_or_reviewer(case, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    author = record.author == case.opened.principal
    return (
        gate(case, Action.WRITE if author else Action.REVIEW, command.tenant)
        or (None if command.reason is None or is_name(command.reason) else _uncoded())
        or steps(record, command.expected_version, Step.RETRACTED)
        or MemoryRetracted(
            memory_id=record.memory_id,
            version=record.version + 1,
            reason=command.reason,
            withdrawn=lineage.retracted_with(case, record),
        )
    )


MOST_REASONS: Final = 8


def suspend(case: Case, command: SuspendMemory) -> Fact | Refusal:
    """A human reviewer sends a record that is in use back to waiting (B38).

    Taking out of use is possible at any time: switches, clearance and who wrote it are asked when it is let in again.
    """
    objection = gate(case, Action.REVIEW, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    reasons = tuple(dict.fromkeys(command.reasons))
    if not 0 < len(reasons) <= MOST_REASONS or not all(map(is_name, reasons)):
        return Refusal(reason=Reason.INVALID_FIELD, field="reasons")
    record = present(case)
    if isinstance(record, Refusal):
        return record
    return (
        steps(record, command.expected_version, Step.SUSPENDED)
        or still_running(record, case.now)
        or MemorySuspended(
            memory_id=record.memory_id,
            version=record.version + 1,
            reasons=reasons,
            subject=record.subject,
            generation=record.generation,
            about=record.about,
            claim_ref=record.claim_ref,
            expires_at=record.expires_at,
            reviewable_at=judging.reviewable_at(reasons, case.now, case.policy),
        )
    )


def expire(case: Case, command: ExpireMemory) -> Fact | Refusal:
    """The sweeper says that a record's time is over. Judged again by log time: its clock may be wrong (A36)."""
    objection = gate(case, Action.EXPIRE, command.tenant)
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    objection = steps(record, command.expected_version, Step.EXPIRED)
    if objection is not None:
        return objection
    if command.expires_at != record.expires_at:
        return Refusal(reason=Reason.INVALID_FIELD, field="expires_at")
    if case.now < record.expires_at or case.known.memory_held:
        return Refusal(reason=Reason.NOT_DUE, current_version=record.version)
    return MemoryExpired(memory_id=record.memory_id, version=record.version + 1)


def forget(case: Case, command: ForgetMemory) -> Fact | Refusal:
    """One record goes, whatever its state and version: the right to have it gone does not depend on either.

    What is not there, or gone already, is a refusal and never looks like a success (M19). Who acts for the person whom
    it is about needs no right to erase, where the record was left to them (C46).
    """
    not_officer = gate(case, Action.ERASE, command.tenant)
    for_person = not_officer is not None and gate(case, Action.SELF_SERVICE, command.tenant) is None
    objection = (None if for_person else not_officer) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    record = present(case)
    if isinstance(record, Refusal):
        return record
    objection = _theirs(record, command, for_person=for_person)
    if objection is not None:
        return objection
    key = case.known.key
    if case.known.memory_held:
        return Refusal(reason=Reason.ON_HOLD, current_version=record.version)
    return (
        within_limit(case)
        or steps(record, record.version, Step.FORGOTTEN)
        or MemoryForgotten(
            memory_id=record.memory_id,
            version=record.version + 1,
            own_key=key is not None and str(key.bucket) == record.memory_id,
            withdrawn=lineage.forgotten_with(case, record),
        )
    )


def _theirs(record: MemoryState, command: ForgetMemory, *, for_person: bool) -> Refusal | None:
    """It is about whoever was named, and theirs to forget where no officer asks."""
    if command.subject is not None and command.subject != record.subject:
        return Refusal(reason=Reason.NOT_FOUND, field="subject")
    if not for_person:
        return None
    if command.subject is None:
        return Refusal(reason=Reason.NOT_ALLOWED, field="subject")
    return None if record.user_visible else Refusal(reason=Reason.NOT_ALLOWED, field="export_delete_policy")


def _may_write(case: Case, tenant: TenantId) -> bool:
    return gate(case, Action.WRITE, tenant) is None


def _writer_or_reviewer(case: Case, tenant: TenantId) -> Refusal | None:
    """Whoever has neither right is told so before learning whether the record exists."""
    as_writer = gate(case, Action.WRITE, tenant)
    return as_writer and (gate(case, Action.REVIEW, tenant) and as_writer)
