"""A whole tenant forgotten: by two people, later where a hold stands, and its name afterwards another tenant's."""

from dataclasses import replace

import pytest
from msgspec import structs

from eunoe.domain.entries import TenantState, goes_with, tenant_key
from eunoe.domain.ledger_tenants import cut_after
from eunoe.schemas.commands import Command, IssueKey
from eunoe.schemas.events import (
    CommandRejected,
    KeyIssued,
    MemoryAccepted,
    Reason,
    SubjectForgotten,
    TenantActionProposed,
    TenantForgettingRequested,
    TenantForgotten,
    TenantReadmitted,
)
from eunoe.schemas.ids import KeyId, Millis, PrincipalName, TenantId
from eunoe.schemas.policy import ErasureRules
from unit.domain.samples import (
    ACME,
    AGENT,
    ALICE,
    BOB,
    COLLEAGUE,
    IN_A_MONTH,
    MONTH,
    OFFICER,
    POLICY,
    ROBOT_OFFICER,
    SECOND_OFFICER,
    complete_tenant,
    draft,
    expire,
    export,
    forget,
    forget_subject,
    forget_tenant,
    hold,
    lift,
    readmit_tenant,
    remember,
    retract,
    withdraw,
)
from unit.domain.scenario import Refused, Scenario, replayed

ACME_2 = TenantId("acme-2")
GONE = Refused(reason=Reason.TENANT_FORGOTTEN, field="tenant")
TWO = replace(POLICY, erasure=ErasureRules())
ALONE = replace(POLICY, erasure=ErasureRules(two_people=False))


def told() -> Scenario:
    """Two people of one tenant, one of another whose name begins like it."""
    scenario = Scenario(policy=TWO)
    scenario.given(remember(draft("tea", scenario.key(ALICE, MONTH))))
    scenario.given(remember(draft("milk", scenario.key(BOB, MONTH), subject=BOB)))
    other = draft("gin", scenario.key(ALICE, MONTH, ACME_2))
    return scenario.given(structs.replace(remember(other), tenant=ACME_2))


def key_of(scenario: Scenario) -> KeyId:
    state = scenario.entry(tenant_key(ACME))
    assert isinstance(state, TenantState)
    assert state.key_id is not None
    return state.key_id


def ended() -> Scenario:
    scenario = told().given(forget_tenant())
    return scenario.given(forget_tenant(), by=SECOND_OFFICER)


def readmitted() -> Scenario:
    """Under its second incarnation, whose key was asked for."""
    scenario = ended().given(readmit_tenant())
    scenario.given(readmit_tenant(), by=SECOND_OFFICER)
    return scenario.given(IssueKey(tenant=ACME))


def test_two_people_of_different_owners_end_a_tenant_and_nothing_of_it_stays_known() -> None:
    scenario = told()
    key_id, others = key_of(scenario), {key: value for key, value in scenario.store.items() if ACME_2 in key}
    proposed = TenantActionProposed(incarnation=1, action="forget_tenant", owner=f"owner of {OFFICER}")
    scenario.when(forget_tenant()).then(proposed)
    scenario.when(forget_tenant()).then(Refused(reason=Reason.SAME_OWNER))
    scenario.when(forget_tenant(), by=COLLEAGUE).then(Refused(reason=Reason.SAME_OWNER))
    scenario.when(forget_tenant(), by=SECOND_OFFICER).then(TenantForgotten(incarnation=1, key_id=key_id))
    assert scenario.entry(tenant_key(ACME)) == TenantState(incarnation=1, key_id=None, closed=True)
    assert not [key for key in scenario.store if goes_with(key, ACME)]
    assert {key: value for key, value in scenario.store.items() if ACME_2 in key} == others
    assert replayed(scenario.events) == scenario.store


@pytest.mark.parametrize("by", [AGENT, ROBOT_OFFICER])
def test_who_may_not_erase_and_who_is_no_human_end_nothing(by: PrincipalName) -> None:
    told().when(forget_tenant(), by=by).then(Refused(reason=Reason.NOT_ALLOWED, field="erase"))


def test_it_needs_a_signature() -> None:
    told().when(forget_tenant(), signed=False).then(Refused(reason=Reason.SIGNATURE_REQUIRED))


def test_a_proposal_lapses_and_where_the_policy_says_so_one_is_enough() -> None:
    scenario = told().given(forget_tenant())
    scenario.now = Millis(scenario.now + POLICY.erasure.proposal + 1)
    scenario.when(forget_tenant(), by=SECOND_OFFICER).then(
        TenantActionProposed(incarnation=1, action="forget_tenant", owner=f"owner of {SECOND_OFFICER}")
    )
    scenario.policy = ALONE
    scenario.ask(forget_tenant())
    assert isinstance(scenario.events[-1].fact, TenantForgotten)


def test_a_tenant_counts_against_what_one_principal_may_have_destroyed_in_an_hour() -> None:
    scenario = told()
    scenario.policy = replace(POLICY, erasure=ErasureRules(two_people=False, per_hour=1))
    scenario.given(forget_subject())
    scenario.when(forget_tenant()).then(Refused(reason=Reason.LIMIT_REACHED))


@pytest.mark.parametrize(
    "command",
    [
        IssueKey(tenant=ACME),
        IssueKey(tenant=ACME, subject=ALICE, bucket=MONTH),
        remember(draft("tea", KeyId("k"))),
        retract("tea"),
        expire("tea"),
        forget("tea"),
        forget_subject(),
        hold(),
        lift(),
        withdraw(),
        export(),
        forget_tenant(),
        complete_tenant(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_everything_is_refused_afterwards_with_the_reason(command: Command) -> None:
    ended().when(command).then(GONE)


def test_a_hold_on_anybody_defers_it_until_the_last_one_is_lifted() -> None:
    scenario = told()
    scenario.policy = ALONE
    scenario.given(hold(), hold(), hold(subject=BOB))
    scenario.when(forget_tenant()).then(TenantForgettingRequested(incarnation=1, holds=2))
    scenario.when(forget_tenant()).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(IssueKey(tenant=ACME, subject=BOB, bucket=MONTH)).then(
        Refused(reason=Reason.TENANT_RESTRICTED, field="tenant")
    )
    scenario.when(complete_tenant()).then(Refused(reason=Reason.NOT_DUE))
    scenario.given(lift())
    scenario.when(complete_tenant()).then(Refused(reason=Reason.NOT_DUE))
    scenario.given(lift(BOB))
    key_id = key_of(scenario)
    scenario.when(complete_tenant()).then(TenantForgotten(incarnation=1, key_id=key_id))
    assert replayed(scenario.events) == scenario.store


def test_without_a_request_the_sweeper_ends_nothing() -> None:
    told().when(complete_tenant()).then(Refused(reason=Reason.WRONG_STATE))


def test_the_name_is_readmitted_by_two_people_as_a_tenant_that_starts_empty() -> None:
    scenario = ended()
    first = scenario.events[0].fact
    scenario.when(readmit_tenant()).then(
        TenantActionProposed(incarnation=1, action="readmit_tenant", owner=f"owner of {OFFICER}")
    )
    scenario.when(readmit_tenant(), by=SECOND_OFFICER).then(TenantReadmitted(incarnation=2))
    scenario.when(IssueKey(tenant=ACME, incarnation=2, subject=ALICE, bucket=MONTH)).then(
        Refused(reason=Reason.TENANT_NOT_OPEN)
    )
    opened = scenario.ask(IssueKey(tenant=ACME))
    assert isinstance(opened, KeyIssued)
    assert isinstance(first, KeyIssued)
    assert (opened.incarnation, opened.created) == (2, True)
    assert opened.key_id != first.key_id
    assert not [key for key in scenario.store if goes_with(key, ACME)]
    assert replayed(scenario.events) == scenario.store


def test_what_was_made_under_the_earlier_one_is_refused_by_the_later_one() -> None:
    scenario = readmitted()
    for command in (
        IssueKey(tenant=ACME, subject=ALICE, bucket=MONTH),
        remember(draft("tea", KeyId("k"))),
        forget_subject(),
        forget_tenant(),
    ):
        scenario.when(command).then(GONE)
    scenario.when(structs.replace(retract("tea"), incarnation=2)).then(Refused(reason=Reason.NOT_FOUND))
    scenario.when(IssueKey(tenant=ACME, incarnation=3, subject=ALICE, bucket=MONTH)).then(
        Refused(reason=Reason.INVALID_FIELD, field="incarnation")
    )


def test_the_later_one_lives_and_ends_like_any_other() -> None:
    scenario = readmitted()
    scenario.policy = ALONE
    key = scenario.ask(IssueKey(tenant=ACME, incarnation=2, subject=ALICE, bucket=MONTH))
    assert isinstance(key, KeyIssued)
    assert (key.incarnation, key.created) == (2, True)
    # The same id as a record of the earlier one: that one is not known any more.
    fact = scenario.ask(structs.replace(remember(draft("tea", key.key_id)), incarnation=2))
    assert isinstance(fact, MemoryAccepted)
    assert fact.incarnation == 2
    scenario.now = IN_A_MONTH
    scenario.given(expire("tea"))  # the sweeper means the tenant that there is
    scenario.unchecked = len(scenario.events)
    scenario.when(structs.replace(forget_subject(), incarnation=2)).then(
        SubjectForgotten(subject=ALICE, generation=1, records=1)
    )
    scenario.when(forget_tenant(2)).then(TenantForgotten(incarnation=2, key_id=key_of_second(scenario)))
    assert replayed(scenario.events) == scenario.store


def key_of_second(scenario: Scenario) -> KeyId:
    found = [each.fact for each in scenario.events if isinstance(each.fact, KeyIssued) and each.fact.incarnation == 2]
    return found[0].key_id


def test_only_a_forgotten_tenant_is_readmitted() -> None:
    told().when(readmit_tenant()).then(Refused(reason=Reason.WRONG_STATE))
    Scenario().when(readmit_tenant()).then(Refused(reason=Reason.NOT_FOUND))
    readmitted().when(readmit_tenant()).then(GONE)


def test_who_was_let_in_by_name_is_let_into_the_first_incarnation_alone() -> None:
    scenario = readmitted()
    command = IssueKey(tenant=ACME, incarnation=2, subject=ALICE, bucket=MONTH)

    def letting_in(*tenants: str) -> None:
        rule = replace(POLICY.principals[AGENT], tenants=frozenset(map(TenantId, tenants)))
        scenario.policy = replace(POLICY, principals={**POLICY.principals, AGENT: rule})

    letting_in("acme")
    scenario.when(command).then(Refused(reason=Reason.FOREIGN_TENANT, field="tenant"))
    letting_in("acme", "acme#3")
    scenario.when(command).then(Refused(reason=Reason.FOREIGN_TENANT, field="tenant"))
    letting_in("acme#2")
    assert not isinstance(scenario.ask(command), CommandRejected)


def test_a_batch_is_cut_where_a_tenant_may_end() -> None:
    assert cut_after([1, 2, 3, 2], lambda each: each == 2) == [[1, 2], [3, 2], []]
    assert cut_after([], lambda _: True) == [[]]
