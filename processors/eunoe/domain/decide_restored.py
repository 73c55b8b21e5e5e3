"""What a signer that the policy trusts vouches for, as a fact here: a record that begins, or what became of one.

Of other records it touches those that are in use here and came from the same log: only to them can it happen again.
"""

from typing import Final, TypedDict

from msgspec.structs import replace

from eunoe.domain import conflict, judging, lineage
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.schemas.commands import Draft, RestoreMemory
from eunoe.schemas.events import (
    ConflictRef,
    ConflictResolved,
    Fact,
    Finding,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    Reason,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import MemoryId, is_name
from eunoe.schemas.restored import Restored
from eunoe.schemas.values import Confirmation, Lifecycle, Trust

_CHANGES: Final = {
    MemoryPromoted.__name__: Step.PROMOTED,
    MemoryRejected.__name__: Step.REJECTED,
    MemoryConfirmed.__name__: Step.CONFIRMED,
    MemoryRetracted.__name__: Step.RETRACTED,
    MemorySuspended.__name__: Step.SUSPENDED,
    ConflictResolved.__name__: Step.UPHELD,
}
_KNOWN_REASONS: Final = {each.value: each for each in Reason}


class _Begun(TypedDict):
    """What an accepted and a quarantined record have in common."""

    draft: Draft
    about: tuple[SubjectRef, ...]
    incarnation: int
    owner: str
    trust: Trust
    confirmation: Confirmation
    content_hash: bytes
    claim_ref: bytes | None
    findings: tuple[Finding, ...]


def born(case: Case, restored: Restored, draft: Draft) -> Fact | Refusal:
    """The record as it was; what would change rules here waits here, whoever let it in there (C14)."""
    if restored.trust is None or restored.confirmation is None or restored.version != 1:
        return Refusal(reason=Reason.INVALID_FIELD, field="restored")
    digests, tenant = case.opened.digests, case.known.tenant
    assert digests is not None
    assert tenant is not None
    begun = _Begun(
        draft=draft,
        about=about(case, draft),
        incarnation=tenant.incarnation,
        owner=restored.owner,
        trust=restored.trust,
        confirmation=restored.confirmation,
        content_hash=digests.content_hash,
        claim_ref=_claim(case, restored),
        findings=_findings(restored),
    )
    if restored.what == MemoryAccepted.__name__:
        if judging.influences(case.opened.findings):
            again = _looked_at_again(case, restored, draft)
            return _quarantined(case, again, _Begun(**{**begun, "findings": case.opened.findings}))
        return _accepted(case, restored, begun)
    if restored.what == MemoryQuarantined.__name__:
        return _quarantined(case, restored, begun)
    return Refusal(reason=Reason.INVALID_FIELD, field="restored")


def _accepted(case: Case, restored: Restored, begun: _Begun) -> MemoryAccepted:
    gone, here = _gave_way(case, restored), said_here(case, begun["draft"], begun["trust"])
    return MemoryAccepted(
        **begun,
        supersedes=_refs(gone)[0] if gone else None,
        conflicts_with=() if begun["claim_ref"] is None else (*_conflicts(case, restored), *map(contested, here)),
        settled_by=restored.settled_by,
        claim_changed=restored.claim_changed,
        withdrawn=lineage.superseded_with(case, gone[:1]),
    )


def _quarantined(case: Case, restored: Restored, begun: _Begun) -> Fact | Refusal:
    reasons = tuple(_KNOWN_REASONS[each] for each in restored.reasons if each in _KNOWN_REASONS)
    if not reasons:
        return Refusal(reason=Reason.INVALID_FIELD, field="restored")
    here = said_here(case, begun["draft"], begun["trust"])
    return MemoryQuarantined(
        **begun,
        supersedes=restored.supersedes if _is_known(case, restored.supersedes) else None,
        reasons=reasons,
        policy_influence=restored.policy_influence,
        reviewable_at=restored.reviewable_at,
        conflicts_with=(*restored.conflicts, *(each.memory_id for each in here)),
    )


def _is_known(case: Case, memory_id: MemoryId | None) -> bool:
    """What was never here gives way to nothing: its correction is let in as any other record."""
    return any(each.memory_id == memory_id for each in case.known.others)


def said_here(case: Case, draft: Draft, trust: Trust) -> tuple[MemoryState, ...]:
    """The records in use on its claim that say otherwise and came from anywhere but the log that it came from: how it
    stood to those from there is told by the facts from there."""
    digests, command = case.opened.digests, case.opened.command
    assert digests is not None
    assert isinstance(command, RestoreMemory)
    there = command.proof.log_id if case.opened.proven and command.proof is not None else None
    newcomer = conflict.of_draft(case, draft, trust, judging.confirmation(draft, case.policy), digests.content_hash)
    return tuple(
        each
        for each in case.known.rivals
        if (there is None or each.origin != there) and conflict.contradicts(newcomer, each, case.now)
    )


def contested(record: MemoryState) -> ConflictRef:
    return ConflictRef(memory_id=record.memory_id, version=record.version + 1)


def _looked_at_again(case: Case, restored: Restored, draft: Draft) -> Restored:
    """As a quarantined record that would replace, when promoted, what it had replaced there."""
    found, gone = case.opened.findings, _gave_way(case, restored)
    reasons = judging.doubts(draft, found, case.policy)
    return replace(
        restored,
        what=MemoryQuarantined.__name__,
        supersedes=gone[0].memory_id if gone else None,
        conflicts=tuple(each.memory_id for each in _in_use(case, restored.contested)),
        reasons=tuple(each.value for each in reasons),
        policy_influence=True,
        reviewable_at=judging.reviewable_at(reasons, case.now, case.policy),
    )


def _findings(restored: Restored) -> tuple[Finding, ...]:
    return tuple(Finding(detector=each.detector, rule=each.rule, verdict=each.verdict) for each in restored.findings)


def changed(case: Case, command: RestoreMemory) -> Fact | Refusal:
    restored, record = command.restored, case.known.memory
    if not case.opened.proven:
        return Refusal(reason=Reason.UNPROVEN_IMPORT, field="proof")
    if record is None:
        return Refusal(reason=Reason.NOT_FOUND, field="memory_id")
    # A change is signed for the record of that log; one that came otherwise under its id has other words.
    if command.proof is None or record.origin != command.proof.log_id:
        return Refusal(reason=Reason.UNPROVEN_IMPORT, field="memory_id")
    if restored.version != record.version + 1:
        return Refusal(reason=Reason.VERSION_CONFLICT, current_version=record.version)
    step = _CHANGES.get(restored.what)
    if step is None or allowed(record, step) is None:
        return Refusal(reason=Reason.WRONG_STATE, current_version=record.version)
    return _change(case, restored, record, step)


def _change(case: Case, restored: Restored, record: MemoryState, step: Step) -> Fact | Refusal:
    memory_id, version = record.memory_id, restored.version
    gone = _gave_way(case, restored)
    reason = next((each for each in restored.reasons if is_name(each)), None)
    match step:
        case Step.PROMOTED if restored.trust is not None:
            return MemoryPromoted(
                memory_id=memory_id,
                version=version,
                trust=restored.trust,
                supersedes=_refs(gone)[0] if gone else None,
                conflicts_with=() if record.claim_ref is None else _conflicts(case, restored),
                withdrawn=lineage.superseded_with(case, gone[:1], staying=record),
            )
        case Step.REJECTED if reason is not None:
            return MemoryRejected(
                memory_id=memory_id, version=version, reason=reason, withdrawn=lineage.rejected_with(case, record)
            )
        case Step.CONFIRMED:
            return MemoryConfirmed(memory_id=memory_id, version=version)
        case Step.RETRACTED:
            return MemoryRetracted(
                memory_id=memory_id, version=version, reason=reason, withdrawn=lineage.retracted_with(case, record)
            )
        case Step.SUSPENDED if reason is not None:
            return MemorySuspended(
                memory_id=memory_id,
                version=version,
                reasons=tuple(each for each in restored.reasons if is_name(each)),
                subject=record.subject,
                generation=record.generation,
                about=record.about,
                claim_ref=record.claim_ref,
                expires_at=record.expires_at,
                reviewable_at=restored.reviewable_at,
            )
        case Step.UPHELD:
            return ConflictResolved(
                memory_id=memory_id,
                version=version,
                superseded=_refs(gone),
                withdrawn=lineage.superseded_with(case, gone, staying=record),
            )
    return Refusal(reason=Reason.INVALID_FIELD, field="restored")


def _claim(case: Case, restored: Restored) -> bytes | None:
    """A correction that names no claim makes that of the record it replaces, or would replace."""
    own = None if case.opened.digests is None else case.opened.digests.claim_ref
    old = {restored.supersedes, *restored.superseded}
    return own or next((each.claim_ref for each in case.known.others if each.memory_id in old), None)


def _gave_way(case: Case, restored: Restored) -> tuple[MemoryState, ...]:
    return _in_use(case, restored.superseded)


def _refs(gone: tuple[MemoryState, ...]) -> tuple[SupersededRef, ...]:
    return tuple(SupersededRef(memory_id=each.memory_id, version=each.version + 1) for each in gone)


def _conflicts(case: Case, restored: Restored) -> tuple[ConflictRef, ...]:
    found = _in_use(case, restored.contested)
    return tuple(map(contested, found))


def _in_use(case: Case, ids: tuple[MemoryId, ...]) -> tuple[MemoryState, ...]:
    """Those of ``ids`` that are in use here and came from there: only to them can it happen again."""
    assert isinstance(case.opened.command, RestoreMemory)
    proof = case.opened.command.proof
    known = {
        each.memory_id: each
        for each in case.known.others
        if each.lifecycle is Lifecycle.ACTIVE and proof is not None and each.origin == proof.log_id
    }
    return tuple(known[each] for each in ids if each in known)


def about(case: Case, draft: Draft) -> tuple[SubjectRef, ...]:
    named = (
        SubjectRef(subject=subject, generation=1 if state is None else state.generation)
        for subject, state in zip(draft.about, case.known.about, strict=True)
    )
    return lineage.people(case, draft, named)
