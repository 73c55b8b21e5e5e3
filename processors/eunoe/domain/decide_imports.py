"""Bringing in what another installation exported, one fact at a time, in the order in which it happened there.

What a signer that the policy trusts vouches for is restored as it was: same ids, versions, states, and who decided it
when. Anything else is somebody's word: its record waits for a person, with the time of now, and says nothing of what
became of it elsewhere. Erased here stays erased, whoever signed: a closed person, a forgotten record, forgotten words.
"""

from typing import Final

from eunoe.domain import admission, judging, lineage, retention
from eunoe.domain.identity import repeated, within_scope, writing_gate
from eunoe.domain.known import Case, Opened, Refusal
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.schemas.commands import Command, Draft, RestoreMemory
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
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
    Origin,
    Reason,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import MemoryId, is_name
from eunoe.schemas.instants import LAST
from eunoe.schemas.restored import Restored
from eunoe.schemas.values import Action, Confirmation, Lifecycle, Trust, Writing

_CHANGES: Final = {
    MemoryPromoted.__name__: Step.PROMOTED,
    MemoryRejected.__name__: Step.REJECTED,
    MemoryConfirmed.__name__: Step.CONFIRMED,
    MemoryRetracted.__name__: Step.RETRACTED,
    MemorySuspended.__name__: Step.SUSPENDED,
    ConflictResolved.__name__: Step.UPHELD,
}
_KNOWN_REASONS: Final = {each.value: each for each in Reason}


def restore(case: Case, command: RestoreMemory) -> Fact | Refusal:
    """The fact as it was, a quarantined record, or why neither."""
    objection = writing_gate(case, Action.IMPORT, command.tenant)
    if objection is None and case.writing is not Writing.ON:
        objection = Refusal(reason=Reason.WRITES_OFF)
    if objection is not None:
        return objection
    draft = command.draft
    if draft is None:
        return _erased(case) or repeated(case, command.idempotency) or _changed(case, command)
    return (
        _erased_people(case, draft)
        or _erased(case)
        or repeated(case, command.idempotency)
        or admission.fitting_key(case, draft)
        or _fitting(case, command, draft)
        or (_restored(case, command.restored, draft) if case.opened.proven else _waiting(case, draft))
    )


def origin_of(command: Command, opened: Opened, fact: Fact) -> Origin | None:
    """Of a fact that was brought in as it was; what only waits for a person was said here and now."""
    if not isinstance(command, RestoreMemory) or command.proof is None or not opened.proven:
        return None
    if isinstance(fact, CommandRejected | CommandDuplicate):
        return None
    restored = command.restored
    return Origin(
        log_id=command.proof.log_id,
        signer=command.proof.signer,
        decided_at=restored.at,
        principal=restored.by,
        event_id=restored.event_id,
        command_id=restored.command_id,
        policy_version=restored.policy_version,
        policy_hash=restored.policy_hash,
    )


def _erased_people(case: Case, draft: Draft) -> Refusal | None:
    objection = admission.open_subjects(case, draft) or lineage.present(case, draft)
    if objection is not None and objection.reason is Reason.SUBJECT_CLOSED:
        return Refusal(reason=Reason.ERASED, field=objection.field)
    return objection


def _erased(case: Case) -> Refusal | None:
    """The record, its people, or its very words were forgotten here."""
    record = case.known.memory
    if record is not None and (record.lifecycle is Lifecycle.FORGOTTEN or case.known.memory_closed):
        return Refusal(reason=Reason.ERASED, field="memory_id")
    return Refusal(reason=Reason.ERASED, field="statement") if case.known.value_forgotten else None


def _fitting(case: Case, command: RestoreMemory, draft: Draft) -> Refusal | None:
    """What holds for every record, wherever it comes from."""
    body, key, policy = case.opened.body, case.known.key, case.policy
    if body is None or key is None:
        return Refusal(reason=Reason.UNREADABLE_BODY, field="body")
    if draft.memory_id != command.memory_id:
        return Refusal(reason=Reason.INVALID_FIELD, field="memory_id")
    if case.known.memory is not None:
        return Refusal(reason=Reason.VERSION_CONFLICT, current_version=case.known.memory.version)
    objection = (
        admission.fields(draft, body, policy) or within_scope(case, draft) or admission.observed(draft, case.now)
    )
    if objection is not None:
        return objection
    objection = lineage.brought_in(case, draft)
    if objection is not None:
        return objection
    if draft.expires_at <= case.now:
        return Refusal(reason=Reason.EXPIRY_PASSED, field="expires_at")
    if draft.expires_at > LAST:
        return Refusal(reason=Reason.EXPIRY_TOO_FAR, field="expires_at")
    return retention.fitting_bucket(draft, policy.kinds[draft.kind], key.bucket)


def _waiting(case: Case, draft: Draft) -> Fact | Refusal:
    """Nobody vouches for it: untrusted, and judged like any candidate besides."""
    body, digests, tenant = case.opened.body, case.opened.digests, case.known.tenant
    assert body is not None
    assert digests is not None
    assert tenant is not None
    objection = retention.expiry(
        draft, case.policy.kinds[draft.kind], case.now, case.policy.expiry_tolerance
    ) or judging.objection(draft, body, case.opened.findings, case.policy)
    if objection is not None:
        return objection
    doubts = judging.doubts(draft, case.opened.findings, case.policy)
    lowered = (Reason.SENSITIVITY_LOWERED,) if lineage.lowers(case, draft) else ()
    reasons = tuple(dict.fromkeys((Reason.UNPROVEN_IMPORT, *doubts, *lowered)))
    return MemoryQuarantined(
        draft=case.opened.redacted or draft,
        about=_about(case, draft),
        incarnation=tenant.incarnation,
        trust=Trust.UNTRUSTED,
        confirmation=Confirmation.PROPOSED,
        content_hash=digests.content_hash,
        claim_ref=digests.claim_ref,
        reasons=reasons,
        policy_influence=judging.influences(case.opened.findings),
        reviewable_at=judging.reviewable_at(reasons, case.now, case.policy),
        findings=case.opened.findings,
    )


def _restored(case: Case, restored: Restored, draft: Draft) -> Fact | Refusal:
    digests, tenant = case.opened.digests, case.known.tenant
    assert digests is not None
    assert tenant is not None
    if restored.trust is None or restored.confirmation is None or restored.version != 1:
        return Refusal(reason=Reason.INVALID_FIELD, field="restored")
    gone = _gave_way(case, restored)
    claim = _claim(case, restored)
    about = _about(case, draft)
    findings = tuple(
        Finding(detector=each.detector, rule=each.rule, verdict=each.verdict) for each in restored.findings
    )
    if restored.what == MemoryAccepted.__name__:
        return MemoryAccepted(
            draft=draft,
            about=about,
            incarnation=tenant.incarnation,
            trust=restored.trust,
            confirmation=restored.confirmation,
            content_hash=digests.content_hash,
            claim_ref=claim,
            supersedes=_refs(gone)[0] if gone else None,
            conflicts_with=() if claim is None else _conflicts(case, restored),
            settled_by=restored.settled_by,
            claim_changed=restored.claim_changed,
            findings=findings,
            withdrawn=lineage.superseded_with(case, gone[:1]),
        )
    reasons = tuple(_KNOWN_REASONS[each] for each in restored.reasons if each in _KNOWN_REASONS)
    if restored.what != MemoryQuarantined.__name__ or not reasons:
        return Refusal(reason=Reason.INVALID_FIELD, field="restored")
    return MemoryQuarantined(
        draft=draft,
        about=about,
        incarnation=tenant.incarnation,
        trust=restored.trust,
        confirmation=restored.confirmation,
        content_hash=digests.content_hash,
        claim_ref=claim,
        supersedes=restored.supersedes,
        reasons=reasons,
        policy_influence=restored.policy_influence,
        reviewable_at=restored.reviewable_at,
        conflicts_with=restored.conflicts,
        findings=findings,
    )


def _changed(case: Case, command: RestoreMemory) -> Fact | Refusal:
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
    return tuple(ConflictRef(memory_id=each.memory_id, version=each.version + 1) for each in found)


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


def _about(case: Case, draft: Draft) -> tuple[SubjectRef, ...]:
    named = (
        SubjectRef(subject=subject, generation=1 if state is None else state.generation)
        for subject, state in zip(draft.about, case.known.about, strict=True)
    )
    return lineage.people(case, draft, named)
