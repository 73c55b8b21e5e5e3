"""Issuing keys: of a subject's bucket, of the tenant, of a day. Keys are issued through the log."""

from eunoe.domain.admission import is_pseudonym
from eunoe.domain.identity import gate, writing_gate
from eunoe.domain.known import Case, Refusal
from eunoe.domain.rates import within_rate
from eunoe.domain.retention import day_at_hand, is_day, issuable
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.events import Fact, KeyIssued, Reason
from eunoe.schemas.ids import Bucket, KeyId, Pseudonym
from eunoe.schemas.values import Action, Lifecycle

_INVALID_SUBJECT = Refusal(reason=Reason.INVALID_FIELD, field="subject")
_INVALID_BUCKET = Refusal(reason=Reason.INVALID_FIELD, field="bucket")


def issue_key(case: Case, command: IssueKey) -> Fact | Refusal:
    """The key of a subject's bucket, or the tenant's own; made if it is not there, and the same answer if it is.

    Whoever may write or import in the tenant may ask, and for a day's access key whoever may read: traces of reads are
    sealed under it. The first key of a generation brings the subject root with it.
    """
    if command.subject is None and command.bucket is not None and is_day(command.bucket):
        return _day(case, command, command.bucket)
    if writing_gate(case, Action.IMPORT, command.tenant) is not None:  # who moves a whole tenant is not held up
        objection = writing_gate(case, Action.WRITE, command.tenant) or within_rate(case)
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
    incarnation = 1 if tenant is None else tenant.incarnation
    if tenant is None or tenant.key_id is None:
        return KeyIssued(incarnation=incarnation, key_id=_fresh(case.opened.fresh_key_id), created=True)
    return KeyIssued(incarnation=incarnation, key_id=tenant.key_id, created=False)


def _day(case: Case, command: IssueKey, day: Bucket) -> Fact | Refusal:
    objection = gate(case, Action.READ, command.tenant)
    if objection is not None:
        return objection
    if not day_at_hand(day, case.now):
        return _INVALID_BUCKET
    tenant, known = case.known.tenant, case.known.day
    if tenant is None or tenant.key_id is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    return KeyIssued(
        incarnation=tenant.incarnation,
        bucket=day,
        key_id=_fresh(case.opened.fresh_key_id) if known is None else known.key_id,
        created=known is None,
    )


def _bucket(case: Case, subject: Pseudonym, bucket: Bucket) -> Fact | Refusal:
    tenant, state, key = case.known.tenant, case.known.subject, case.known.key
    if tenant is None or tenant.key_id is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    if state is not None and state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    objection = _destroyed(case)
    if objection is not None:
        return objection
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


def _destroyed(case: Case) -> Refusal | None:
    """A key that served one record alone went with it: whoever waited for it would wait for ever."""
    record = case.known.memory
    if record is None:
        return None
    if case.known.memory_closed or record.lifecycle in (Lifecycle.FORGOTTEN, Lifecycle.WITHDRAWN):
        return Refusal(reason=Reason.ERASED, field="bucket")
    expired = record.lifecycle is Lifecycle.EXPIRED
    return Refusal(reason=Reason.EXPIRY_PASSED, field="bucket") if expired else None


def _fresh(key_id: KeyId | None) -> KeyId:
    assert key_id is not None, "the shell brings fresh ids with every IssueKey"
    return key_id
