"""Commands about handing out what is held: who may, and that it is written down before anything is read.

Whoever exports sees everything, so nothing else may limit them: a report that silently leaves out what its author was
not cleared for would be taken for all that is held.
"""

from typing import Final

from eunoe.domain.admission import is_pseudonym
from eunoe.domain.identity import gate, repeated
from eunoe.domain.known import Case, Refusal
from eunoe.schemas.commands import RecordExport
from eunoe.schemas.events import ExportRecorded, Fact, Reason
from eunoe.schemas.values import Action, Sensitivity

IDENTITY_CHECK_CHARS: Final = 200


def record_export(case: Case, command: RecordExport) -> Fact | Refusal:
    """Legal holds and requests to forget do not stand against it: a person's right to know what is held outlasts both.

    A forgotten person is refused as ``erased``, one that nobody ever wrote about as ``not_found``. Who acts for the
    person needs no right to export, and has what was left to the person handed out, no more (C46).
    """
    not_officer = gate(case, Action.EXPORT, command.tenant)
    for_person = not_officer is not None and gate(case, Action.SELF_SERVICE, command.tenant) is None
    for_person = for_person and command.subject is not None
    objection = (None if for_person else not_officer) or _sees_all(case) or _checked(command)
    if objection is not None:
        return objection
    answer = repeated(case, command.idempotency)
    if answer is not None:
        return answer
    if case.known.tenant is None or case.known.tenant.key_id is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    if command.subject is None:
        return ExportRecorded(identity_check=command.identity_check)
    if not is_pseudonym(command.subject):
        return Refusal(reason=Reason.INVALID_FIELD, field="subject")
    state = case.known.subject
    if state is None:
        return Refusal(reason=Reason.NOT_FOUND, field="subject")
    if state.closed:
        return Refusal(reason=Reason.ERASED, field="subject")
    return ExportRecorded(
        subject=command.subject,
        generation=state.generation,
        records=state.records,
        identity_check=command.identity_check,
        user_visible_only=for_person,
    )


def _sees_all(case: Case) -> Refusal | None:
    rule = case.policy.principals[case.opened.principal]
    if rule.max_sensitivity is not tuple(Sensitivity)[-1]:
        return Refusal(reason=Reason.NOT_ALLOWED, field="max_sensitivity")
    if rule.purposes is not None:
        return Refusal(reason=Reason.NOT_ALLOWED, field="purposes")
    if rule.agents is not None:
        return Refusal(reason=Reason.NOT_ALLOWED, field="agent")
    return None if case.reading else Refusal(reason=Reason.READS_OFF)


def _checked(command: RecordExport) -> Refusal | None:
    """Somebody says how they know who asks."""
    said = command.identity_check
    if not said.strip() or len(said) > IDENTITY_CHECK_CHARS or not said.isprintable():
        return Refusal(reason=Reason.INVALID_FIELD, field="identity_check")
    return None
