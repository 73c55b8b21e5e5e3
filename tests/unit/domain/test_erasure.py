"""Who may destroy, and when: requests, grace, legal holds, two people, limits."""

from dataclasses import replace

import pytest

from eunoe.schemas.events import (
    ActionProposed,
    CommandDuplicate,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    MemoryExpired,
    MemoryForgotten,
    Reason,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
)
from eunoe.schemas.ids import Millis, PrincipalName
from eunoe.schemas.policy import ErasureRules
from unit.domain.samples import (
    AGENT,
    ALICE,
    ASKER,
    COLLEAGUE,
    DAY,
    IN_A_MONTH,
    MONTH,
    NOW,
    OFFICER,
    OTHER_ASKER,
    POLICY,
    ROBOT_OFFICER,
    SECOND_OFFICER,
    complete,
    draft,
    expire,
    forget,
    forget_subject,
    hold,
    lift,
    once,
    readmit,
    remember,
    withdraw,
)
from unit.domain.scenario import Refused, Scenario, replayed

REQUESTED = ForgettingRequested(subject=ALICE, generation=1)
FORGOTTEN = SubjectForgotten(subject=ALICE, generation=1, records=1)


def told(rules: ErasureRules | None = None) -> Scenario:
    """One record on Alice."""
    scenario = Scenario(policy=replace(POLICY, erasure=rules or POLICY.erasure))
    key = scenario.key(ALICE, MONTH)
    return scenario.given(remember(draft("tea", key)))


def again(scenario: Scenario, name: str) -> None:
    scenario.when(remember(draft(name, scenario.key(ALICE, MONTH))))


def test_who_may_only_ask_blocks_reads_and_destroys_nothing() -> None:
    scenario = told()
    scenario.when(forget_subject(), by=ASKER, signed=False).then(REQUESTED)
    assert scenario.subject(ALICE).restricted
    assert not scenario.subject(ALICE).closed
    again(scenario, "milk")
    scenario.then(Refused(reason=Reason.SUBJECT_RESTRICTED, field="subject"))
    scenario.when(forget_subject(), by=ASKER, signed=False).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(complete(NOW), complete(Millis(0))).then(
        Refused(reason=Reason.WRONG_STATE), Refused(reason=Reason.WRONG_STATE)
    )
    scenario.when(forget_subject()).then(FORGOTTEN)
    assert replayed(scenario.events) == scenario.store


@pytest.mark.parametrize(
    ("by", "signed", "reason"),
    [
        (AGENT, False, Reason.NOT_ALLOWED),
        (ROBOT_OFFICER, True, Reason.NOT_ALLOWED),
        (OFFICER, False, Reason.SIGNATURE_REQUIRED),
    ],
)
def test_who_may_neither_erase_nor_ask_changes_nothing(by: PrincipalName, signed: bool, reason: Reason) -> None:
    scenario = told()
    scenario.when(forget_subject(), by=by, signed=signed).then(Refused(reason=reason, field="erase"))
    scenario.when(forget("tea"), by=by, signed=signed).then(Refused(reason=reason, field="erase"))
    assert not scenario.subject(ALICE).restricted


def test_a_request_is_carried_out_by_itself_when_the_policy_gives_it_a_time() -> None:
    scenario = told(ErasureRules(grace=2 * DAY))
    due = Millis(NOW + 2 * DAY)
    scenario.when(forget_subject(), by=ASKER, signed=False).then(
        ForgettingRequested(subject=ALICE, generation=1, due_at=due)
    )
    scenario.when(complete(due)).then(Refused(reason=Reason.NOT_DUE))
    scenario.when(complete(due), by=ASKER).then(Refused(reason=Reason.NOT_ALLOWED, field="expire"))
    scenario.now = due
    scenario.when(complete(Millis(due + 1))).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(complete(due)).then(FORGOTTEN)
    scenario.when(complete(due)).then(Refused(reason=Reason.WRONG_STATE))


def test_a_request_is_withdrawn_by_who_made_it_or_who_may_erase() -> None:
    scenario = told()
    key = once()
    scenario.given(forget_subject(idempotency=key), by=ASKER, signed=False)
    repeated = scenario.ask(forget_subject(idempotency=key), by=ASKER, signed=False)
    assert isinstance(repeated, CommandDuplicate)
    scenario.unchecked = len(scenario.events)
    scenario.when(withdraw(), by=OTHER_ASKER, signed=False).then(Refused(reason=Reason.NOT_ALLOWED))
    scenario.when(withdraw(), by=ASKER, signed=False).then(
        ForgettingWithdrawn(subject=ALICE, generation=1, restricted=False)
    )
    scenario.when(withdraw(), by=ASKER, signed=False).then(Refused(reason=Reason.WRONG_STATE))
    again(scenario, "milk")
    assert scenario.subject(ALICE).records == 2
    scenario.unchecked = len(scenario.events)
    # The same request once more is a new one: its answer no longer held.
    scenario.when(forget_subject(idempotency=key), by=ASKER, signed=False).then(REQUESTED)
    scenario.when(withdraw(), by=OFFICER).then(ForgettingWithdrawn(subject=ALICE, generation=1, restricted=False))
    assert replayed(scenario.events) == scenario.store


def test_a_hold_defers_erasure_and_expiry_and_the_erasure_runs_when_it_lifts() -> None:
    scenario = told()
    scenario.when(hold()).then(SubjectHeld(subject=ALICE, generation=1, review_at=IN_A_MONTH))
    again(scenario, "milk")
    scenario.then(Refused(reason=Reason.SUBJECT_RESTRICTED))
    scenario.when(forget("tea")).then(Refused(reason=Reason.ON_HOLD))
    scenario.when(forget_subject()).then(ForgettingRequested(subject=ALICE, generation=1, due_at=NOW, authorized=True))
    scenario.when(forget_subject()).then(Refused(reason=Reason.WRONG_STATE))
    scenario.now = Millis(IN_A_MONTH + DAY)
    scenario.when(complete(NOW), expire("tea")).then(Refused(reason=Reason.NOT_DUE), Refused(reason=Reason.NOT_DUE))
    scenario.when(lift()).then(HoldLifted(subject=ALICE, generation=1, restricted=True))
    scenario.when(complete(NOW)).then(FORGOTTEN)
    assert replayed(scenario.events) == scenario.store


def test_what_expired_under_a_hold_expires_once_it_is_lifted() -> None:
    scenario = told().given(hold())
    scenario.now = Millis(IN_A_MONTH + DAY)
    scenario.when(lift()).then(HoldLifted(subject=ALICE, generation=1, restricted=False))
    fact = scenario.ask(expire("tea"))
    assert isinstance(fact, MemoryExpired)


def test_a_hold_takes_effect_only_before_the_generation_closes() -> None:
    scenario = told()
    scenario.when(hold(Millis(NOW))).then(Refused(reason=Reason.INVALID_FIELD, field="review_at"))
    scenario.when(lift()).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(hold(), by=ROBOT_OFFICER).then(Refused(reason=Reason.NOT_ALLOWED))
    scenario.given(forget_subject())
    scenario.when(hold(), lift()).then(Refused(reason=Reason.SUBJECT_CLOSED), Refused(reason=Reason.WRONG_STATE))


def test_readmission_takes_two_people_of_different_owners() -> None:
    scenario = told(ErasureRules()).given(forget_subject())
    proposed = ActionProposed(subject=ALICE, generation=1, action="readmit", owner=f"owner of {OFFICER}")
    scenario.when(readmit()).then(proposed)
    scenario.when(readmit()).then(Refused(reason=Reason.SAME_OWNER))
    scenario.when(readmit(), by=COLLEAGUE).then(Refused(reason=Reason.SAME_OWNER))
    assert scenario.subject(ALICE).closed
    scenario.when(readmit(), by=SECOND_OFFICER).then(SubjectReadmitted(subject=ALICE, generation=2))
    assert replayed(scenario.events) == scenario.store


def test_a_proposal_counts_for_a_while_and_for_one_action() -> None:
    scenario = told(ErasureRules(proposal=DAY)).given(hold())
    scenario.given(lift())
    scenario.now = Millis(NOW + DAY + 1)
    fact = scenario.ask(lift(), by=SECOND_OFFICER)
    assert isinstance(fact, ActionProposed)
    assert scenario.subject(ALICE).review_at is not None
    fact = scenario.ask(lift())
    assert isinstance(fact, HoldLifted)
    # What was agreed on was the hold: readmission is proposed anew.
    scenario.given(forget_subject())
    assert isinstance(scenario.ask(readmit(), by=SECOND_OFFICER), ActionProposed)


def test_a_principal_destroys_only_so_much_in_an_hour() -> None:
    scenario = told(ErasureRules(per_hour=2))
    key = scenario.key(ALICE, MONTH)
    scenario.given(*(remember(draft(name, key)) for name in ("milk", "rum", "gin")))
    scenario.given(forget("milk"), forget("rum"))
    scenario.when(forget("gin"), forget_subject()).then(
        Refused(reason=Reason.LIMIT_REACHED), Refused(reason=Reason.LIMIT_REACHED)
    )
    assert isinstance(scenario.ask(forget("gin"), by=SECOND_OFFICER), MemoryForgotten)
    scenario.now = Millis(NOW + 3_600_000)
    scenario.unchecked = len(scenario.events)
    scenario.when(forget_subject()).then(FORGOTTEN)
    assert replayed(scenario.events) == scenario.store
