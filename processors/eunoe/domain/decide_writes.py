"""Remember and correct: what becomes of a draft."""

from eunoe.domain import admission, retention
from eunoe.domain.identity import repeated, source_allowed, writing_gate
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import Step, allowed
from eunoe.schemas.commands import CorrectMemory, Draft, RememberMemory
from eunoe.schemas.events import (
    Fact,
    MemoryAccepted,
    MemoryQuarantined,
    Reason,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import MemoryId
from eunoe.schemas.values import Action, Trust


def remember(case: Case, command: RememberMemory) -> Fact | Refusal:
    """A new record: active at version 1, or quarantined where its source is untrusted (A15)."""
    draft = command.draft
    return (
        writing_gate(case, Action.WRITE, command.tenant)
        or source_allowed(case, draft)
        or admission.open_subjects(case, draft)
        or repeated(case, command.idempotency)
        or admission.fitting_key(case, draft)
        or _admissible(case, draft)
        or _unborn(case, draft, command.expected_version)
        or _born(case, draft, None)
    )


def correct(case: Case, command: CorrectMemory) -> Fact | Refusal:
    """A new record in place of one that is active, at the expected version and of the same scope (A28, A31)."""
    draft = command.draft
    return (
        writing_gate(case, Action.WRITE, command.tenant)
        or source_allowed(case, draft)
        or admission.open_subjects(case, draft)
        or repeated(case, command.idempotency)
        or admission.fitting_key(case, draft)
        or _admissible(case, draft)
        or _unborn(case, draft, 0)
        or _replaceable(case, command)
        or _born(case, draft, command.supersedes)
    )


def _admissible(case: Case, draft: Draft) -> Refusal | None:
    opened, policy, key = case.opened, case.policy, case.known.key
    if opened.body is None or opened.digests is None or key is None:
        return Refusal(reason=Reason.UNREADABLE_BODY, field="body")
    objection = admission.fields(draft, opened.body, policy)
    if objection is not None:
        return objection
    rule = policy.kinds[draft.kind]
    return retention.expiry(draft, rule, case.now, policy.expiry_tolerance) or retention.fitting_bucket(
        draft, rule, key.bucket
    )


def _unborn(case: Case, draft: Draft, expected: int) -> Refusal | None:
    """The version of what does not exist is 0 (A24)."""
    current = 0 if case.known.memory is None else case.known.memory.version
    if current or expected:
        return Refusal(reason=Reason.VERSION_CONFLICT, memory_id=draft.memory_id, current_version=current)
    return None


def _replaceable(case: Case, command: CorrectMemory) -> Refusal | None:
    old = case.known.superseded
    if old is None:
        return Refusal(reason=Reason.NOT_FOUND, field="supersedes")
    if case.known.superseded_closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="supersedes", memory_id=old.memory_id)
    if old.version != command.expected_version:
        return Refusal(reason=Reason.VERSION_CONFLICT, memory_id=old.memory_id, current_version=old.version)
    if allowed(old, Step.SUPERSEDED) is None:
        return Refusal(reason=Reason.WRONG_STATE, memory_id=old.memory_id, current_version=old.version)
    return retention.still_running(old, case.now) or admission.same_scope(command.draft, old)


def _born(case: Case, draft: Draft, supersedes: MemoryId | None) -> Fact:
    """The fact of a draft that met every rule. Trust and confirmation come from policy, never from the draft (A22)."""
    known, digests = case.known, case.opened.digests
    assert known.tenant is not None
    assert digests is not None
    source = case.policy.sources[draft.source_kind]
    about = tuple(
        SubjectRef(subject=subject, generation=1 if state is None else state.generation)
        for subject, state in zip(draft.about, known.about, strict=True)
    )
    if source.trust is Trust.UNTRUSTED:
        return MemoryQuarantined(
            draft=draft,
            about=about,
            incarnation=known.tenant.incarnation,
            trust=source.trust,
            confirmation=source.confirmation,
            content_hash=digests.content_hash,
            claim_ref=digests.claim_ref,
            supersedes=supersedes,
            reasons=(Reason.UNTRUSTED_SOURCE,),
        )
    old = known.superseded
    return MemoryAccepted(
        draft=draft,
        about=about,
        incarnation=known.tenant.incarnation,
        trust=source.trust,
        confirmation=source.confirmation,
        content_hash=digests.content_hash,
        claim_ref=digests.claim_ref,
        supersedes=None if old is None else SupersededRef(memory_id=old.memory_id, version=old.version + 1),
    )
