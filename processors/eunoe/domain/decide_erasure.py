"""Commands about all that is held on a person: forget, withdraw, hold, lift, readmit; and who may do which.

Who may erase and is a human destroys at once. Everybody else who may ask only asks: nobody reads the person from then
on, and nothing is destroyed until somebody who may says so, or a grace period is over that the policy sets. A legal
hold stands above both: what is asked under it is carried out when it lifts. What brings a person back into reach
(readmission, lifting a hold) takes two people of different owners where the policy says so.
"""

from collections.abc import Callable

from eunoe.domain.admission import is_pseudonym
from eunoe.domain.entries import Proposal, SubjectState
from eunoe.domain.identity import gate, may_ask_to_forget, repeated, within_limit, writing_gate
from eunoe.domain.known import Case, Refusal
from eunoe.schemas.commands import (
    CompleteForgetting,
    ForgetSubject,
    HoldSubject,
    LiftHold,
    ReadmitSubject,
    WithdrawForgetting,
)
from eunoe.schemas.events import (
    ActionProposed,
    CommandDuplicate,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    Reason,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
)
from eunoe.schemas.ids import Millis, Pseudonym
from eunoe.schemas.values import Action

READMIT = "readmit"
LIFT_HOLD = "lift_hold"
_PersonCommand = ForgetSubject | ReadmitSubject | WithdrawForgetting | HoldSubject | LiftHold


def forget_subject(case: Case, command: ForgetSubject) -> Fact | Refusal:
    """Close the subject's generation, in one event, with the count of what became unreadable (A38, A44).

    A privacy officer must be able to trust a yes: only the event that closed the generation is one. A retry under the
    same idempotency key is answered as a duplicate of it, unless the subject was readmitted meanwhile: then that yes no
    longer holds, and the subject is forgotten again. Asked anew for a subject that is closed already the answer is
    ``subject_closed``, and for one that nobody ever wrote about ``not_found`` (M19). A subject with keys but without
    records is closed all the same, with a count of 0, for writers that hold such a key must be stopped.
    """
    asking = gate(case, Action.ERASE, command.tenant)
    destroys = asking is None
    objection = (asking and (may_ask_to_forget(case, command.tenant) and asking)) or _still(
        case, command, lambda state: state.closed or state.request is not None
    )
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    if state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    limit = within_limit(case)
    if limit is not None:
        return limit
    if destroys and state.review_at is None:
        return SubjectForgotten(subject=command.subject, generation=state.generation, records=state.records)
    return _request(case, command.subject, state, authorized=destroys)


def _request(case: Case, subject: Pseudonym, state: SubjectState, *, authorized: bool) -> Fact | Refusal:
    """Reads end now; destruction waits for a person, for the grace period, or for the hold to lift."""
    pending = state.request
    if pending is not None and (pending.authorized or not authorized):
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    grace = 0 if authorized else case.policy.erasure.grace
    return ForgettingRequested(
        subject=subject,
        generation=state.generation,
        due_at=None if grace is None else Millis(case.now + grace),
        authorized=authorized,
    )


def complete_forgetting(case: Case, command: CompleteForgetting) -> Fact | Refusal:
    """The sweeper's proposal, judged by log time: a request that still stands, is due, and that no hold defers."""
    objection = gate(case, Action.EXPIRE, command.tenant)
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    request = state.request
    if request is None or (state.generation, request.due_at) != (command.generation, command.due_at):
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    if state.review_at is not None or case.now < command.due_at:
        return Refusal(reason=Reason.NOT_DUE, field="due_at")
    return SubjectForgotten(subject=command.subject, generation=state.generation, records=state.records)


def withdraw(case: Case, command: WithdrawForgetting) -> Fact | Refusal:
    """Whoever asked takes it back, or a human who may erase; once it is carried out there is nothing to take back."""
    as_eraser = gate(case, Action.ERASE, command.tenant)
    objection = (as_eraser and (may_ask_to_forget(case, command.tenant) and as_eraser)) or repeated(
        case, command.idempotency
    )
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    if state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    if state.request is None:
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    if as_eraser is not None and (state.request.principal != case.opened.principal or state.request.authorized):
        return as_eraser
    return ForgettingWithdrawn(
        subject=command.subject, generation=state.generation, restricted=state.review_at is not None
    )


def hold(case: Case, command: HoldSubject) -> Fact | Refusal:
    """Before the generation closes; after that there is nothing left to hold (M17). Set again, it moves the date."""
    objection = gate(case, Action.HOLD, command.tenant) or repeated(case, command.idempotency)
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    if state.closed:
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    if command.review_at <= case.now:
        return Refusal(reason=Reason.INVALID_FIELD, field="review_at")
    return SubjectHeld(subject=command.subject, generation=state.generation, review_at=command.review_at)


def lift(case: Case, command: LiftHold) -> Fact | Refusal:
    """By two people. What was asked for under the hold is due from here on."""
    objection = gate(case, Action.HOLD, command.tenant) or _still(
        case, command, lambda state: state.review_at is None or _proposed_by(case, state, LIFT_HOLD)
    )
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    if state.review_at is None:
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    return _second(case, command.subject, state, LIFT_HOLD) or HoldLifted(
        subject=command.subject, generation=state.generation, restricted=state.request is not None
    )


def readmit_subject(case: Case, command: ReadmitSubject) -> Fact | Refusal:
    """A forgotten subject may be written about again, in a new and empty generation. By two people.

    A retry is a duplicate only while the subject is open: forgotten again, it is readmitted by a new decision.
    """
    objection = writing_gate(case, Action.READMIT, command.tenant) or _still(
        case, command, lambda state: not state.closed or _proposed_by(case, state, READMIT)
    )
    if objection is not None:
        return objection
    state = _person(case, command.subject)
    if isinstance(state, Refusal):
        return state
    if not state.closed:
        return Refusal(reason=Reason.WRONG_STATE, field="subject")
    return _second(case, command.subject, state, READMIT) or SubjectReadmitted(
        subject=command.subject, generation=state.generation + 1
    )


def _second(case: Case, subject: Pseudonym, state: SubjectState, action: str) -> ActionProposed | Refusal | None:
    """None where one is enough, or where this is the second of two people of different owners."""
    rules = case.policy.erasure
    if not rules.two_people:
        return None
    owner = case.policy.principals[case.opened.principal].owner
    proposal = _standing(case, state, action)
    if proposal is None:
        return ActionProposed(subject=subject, generation=state.generation, action=action, owner=owner)
    if owner == proposal.owner or case.opened.principal == proposal.principal:
        return Refusal(reason=Reason.SAME_OWNER, field=action)
    return None


def _standing(case: Case, state: SubjectState, action: str) -> Proposal | None:
    found = state.proposal
    if found is None or found.action != action or case.now - found.at > case.policy.erasure.proposal:
        return None
    return found


def _proposed_by(case: Case, state: SubjectState, action: str) -> bool:
    proposal = _standing(case, state, action)
    return proposal is not None and proposal.principal == case.opened.principal


def _person(case: Case, subject: Pseudonym) -> SubjectState | Refusal:
    if not is_pseudonym(subject):
        return Refusal(reason=Reason.INVALID_FIELD, field="subject")
    state = case.known.subject
    return Refusal(reason=Reason.NOT_FOUND, field="subject") if state is None else state


def _still(
    case: Case, command: _PersonCommand, holds: Callable[[SubjectState], bool]
) -> CommandDuplicate | Refusal | None:
    """`repeated`, where what the first request got still ``holds`` of the subject now."""
    answer = repeated(case, command.idempotency)
    state = case.known.subject
    if isinstance(answer, CommandDuplicate) and (state is None or not holds(state)):
        return None
    return answer
