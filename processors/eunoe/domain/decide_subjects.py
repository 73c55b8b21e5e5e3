"""Commands about a subject or the tenant itself: issue a key, forget, readmit."""

from eunoe.domain.admission import is_pseudonym
from eunoe.domain.identity import gate, repeated, writing_gate
from eunoe.domain.known import Case, Refusal
from eunoe.domain.retention import day_at_hand, is_day, issuable
from eunoe.schemas.commands import ForgetSubject, IssueKey, ReadmitSubject
from eunoe.schemas.events import (
    CommandDuplicate,
    Fact,
    KeyIssued,
    Reason,
    SubjectForgotten,
    SubjectReadmitted,
)
from eunoe.schemas.ids import Bucket, KeyId, Pseudonym
from eunoe.schemas.values import Action

_INVALID_SUBJECT = Refusal(reason=Reason.INVALID_FIELD, field="subject")
_INVALID_BUCKET = Refusal(reason=Reason.INVALID_FIELD, field="bucket")


def issue_key(case: Case, command: IssueKey) -> Fact | Refusal:
    """The key of a subject's bucket, or the tenant's own; made if it is not there, and the same answer if it is.

    Whoever may write in the tenant may ask, and for a day's access key whoever may read: traces of reads are sealed
    under it. The first key of a generation brings the subject root with it.
    """
    if command.subject is None and command.bucket is not None and is_day(command.bucket):
        return _day(case, command, command.bucket)
    objection = writing_gate(case, Action.WRITE, command.tenant)
    if objection is not None:
        return objection
    if command.subject is None:
        return _INVALID_BUCKET if command.bucket is not None else _tenant(case)
    if not is_pseudonym(command.subject):
        return _INVALID_SUBJECT
    if command.bucket is None:
        return _INVALID_BUCKET
    return issuable(command.bucket, case.now, case.policy) or _bucket(case, command.subject, command.bucket)


def _tenant(case: Case) -> Fact:
    tenant = case.known.tenant
    if tenant is not None:
        return KeyIssued(incarnation=tenant.incarnation, key_id=tenant.key_id, created=False)
    return KeyIssued(incarnation=1, key_id=_fresh(case.opened.fresh_key_id), created=True)


def _day(case: Case, command: IssueKey, day: Bucket) -> Fact | Refusal:
    objection = gate(case, Action.READ, command.tenant)
    if objection is not None:
        return objection
    if not day_at_hand(day, case.now):
        return _INVALID_BUCKET
    tenant, known = case.known.tenant, case.known.day
    if tenant is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    return KeyIssued(
        incarnation=tenant.incarnation,
        bucket=day,
        key_id=_fresh(case.opened.fresh_key_id) if known is None else known.key_id,
        created=known is None,
    )


def _bucket(case: Case, subject: Pseudonym, bucket: Bucket) -> Fact | Refusal:
    tenant, state, key = case.known.tenant, case.known.subject, case.known.key
    if tenant is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    if state is not None and state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    root = None if state is None else state.root_key_id
    return KeyIssued(
        incarnation=tenant.incarnation,
        subject=subject,
        generation=1 if state is None else state.generation,
        bucket=bucket,
        key_id=_fresh(case.opened.fresh_key_id) if key is None else key.key_id,
        root_key_id=_fresh(case.opened.fresh_root_key_id) if root is None else root,
        created=key is None,
    )


def _fresh(key_id: KeyId | None) -> KeyId:
    assert key_id is not None, "the shell brings fresh ids with every IssueKey"
    return key_id


def forget_subject(case: Case, command: ForgetSubject) -> Fact | Refusal:
    """Close the subject's generation, in one event, with the count of what became unreadable (A38, A44).

    A privacy officer must be able to trust a yes: only the event that closed the generation is one. A retry under the
    same idempotency key is answered as a duplicate of it, unless the subject was readmitted meanwhile: then that yes no
    longer holds, and the subject is forgotten again. Asked anew for a subject that is closed already the answer is
    ``subject_closed``, and for one that nobody ever wrote about ``not_found`` (M19). A subject with keys but without
    records is closed all the same, with a count of 0, for writers that hold such a key must be stopped.
    """
    state = case.known.subject
    objection = gate(case, Action.ERASE, command.tenant) or _still(case, command.idempotency, closed=True)
    if objection is not None:
        return objection
    if not is_pseudonym(command.subject):
        return _INVALID_SUBJECT
    if state is None:
        return Refusal(reason=Reason.NOT_FOUND, field="subject")
    if state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    return SubjectForgotten(subject=command.subject, generation=state.generation, records=state.records)


def readmit_subject(case: Case, command: ReadmitSubject) -> Fact | Refusal:
    """A forgotten subject may be written about again, in a new and empty generation.

    A retry is a duplicate only while the subject is open: forgotten again, it is readmitted by a new decision.
    """
    state = case.known.subject
    objection = writing_gate(case, Action.READMIT, command.tenant) or _still(case, command.idempotency, closed=False)
    if objection is not None:
        return objection
    if not is_pseudonym(command.subject):
        return _INVALID_SUBJECT
    if state is None:
        return Refusal(reason=Reason.NOT_FOUND, field="subject")
    if not state.closed:
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    return SubjectReadmitted(subject=command.subject, generation=state.generation + 1)


def _still(case: Case, idempotency: bytes, *, closed: bool) -> CommandDuplicate | Refusal | None:
    """`repeated`, where what the first request got holds still: the subject is (or is not) ``closed`` now."""
    answer = repeated(case, idempotency)
    state = case.known.subject
    holds = state is not None and state.closed is closed
    return None if isinstance(answer, CommandDuplicate) and not holds else answer
