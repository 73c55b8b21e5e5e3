"""Bringing in what another installation exported, one fact at a time, in the order in which it happened there.

What a signer that the policy trusts vouches for is restored as it was: same ids, versions, states, and who decided it
when. Anything else is somebody's word: its record waits for a person, with the time of now, and says nothing of what
became of it elsewhere. Erased here stays erased, whoever signed: a forgotten tenant, a closed person, a forgotten
record, forgotten words.
"""

from eunoe.domain import admission, judging, lineage, retention
from eunoe.domain.decide_restored import about, born, changed, said_here
from eunoe.domain.identity import cleared, owner, repeated, within_scope, writing_gate
from eunoe.domain.known import Case, Opened, Refusal
from eunoe.schemas.commands import Command, Draft, RestoreMemory
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
    Fact,
    MemoryQuarantined,
    Origin,
    Reason,
)
from eunoe.schemas.instants import LAST
from eunoe.schemas.values import Action, Confirmation, Lifecycle, Trust, Writing


def restore(case: Case, command: RestoreMemory) -> Fact | Refusal:
    """The fact as it was, a quarantined record, or why neither."""
    objection = writing_gate(case, Action.IMPORT, command.tenant)
    if objection is None and case.writing is not Writing.ON:
        objection = Refusal(reason=Reason.WRITES_OFF)
    if objection is not None:
        return objection
    objection = _of_another_tenant(case, command)
    if objection is not None:
        return objection
    draft = command.draft
    if draft is None:
        return _erased(case) or repeated(case, command.idempotency) or changed(case, command)
    return (
        _erased_people(case, draft)
        or _erased(case)
        or repeated(case, command.idempotency)
        or admission.fitting_key(case, draft)
        or _fitting(case, command, draft)
        or (born(case, command.restored, draft) if case.opened.proven else _waiting(case, draft))
    )


def _of_another_tenant(case: Case, command: RestoreMemory) -> Refusal | None:
    """What was exported here of a tenant that had the name before is erased with that tenant."""
    tenant = case.known.tenant
    if case.opened.from_here and tenant is not None and command.restored.incarnation != tenant.incarnation:
        return Refusal(reason=Reason.TENANT_FORGOTTEN, field="restored")
    return None


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
    objection = admission.open_subjects(case, draft) or lineage.present(case)
    if objection is not None and objection.reason is Reason.SUBJECT_CLOSED:
        return Refusal(reason=Reason.ERASED, field=objection.field)
    return objection


def _erased(case: Case) -> Refusal | None:
    """The record, its people, what it was built on, or its very words are gone here, and its key is destroyed."""
    record = case.known.memory
    gone = (Lifecycle.FORGOTTEN, Lifecycle.WITHDRAWN)
    if record is not None and (record.lifecycle in gone or case.known.memory_closed):
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
    against = said_here(case, draft, Trust.UNTRUSTED)
    return MemoryQuarantined(
        draft=case.opened.redacted or draft,
        about=about(case, draft),
        incarnation=tenant.incarnation,
        owner=owner(case),
        trust=Trust.UNTRUSTED,
        confirmation=Confirmation.PROPOSED,
        content_hash=digests.content_hash,
        claim_ref=digests.claim_ref,
        reasons=reasons,
        policy_influence=judging.influences(case.opened.findings),
        reviewable_at=judging.reviewable_at(reasons, case.now, case.policy),
        conflicts_with=tuple(each.memory_id for each in against),
        unnamed=tuple(each.memory_id for each in against if cleared(case, each) is not None),
        findings=case.opened.findings,
    )
