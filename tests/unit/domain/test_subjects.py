"""Keys are issued through the log; forgetting a subject is one event that counts."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from eunoe.domain.retention import day_of
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.events import CommandDuplicate, KeyIssued, Reason, SubjectForgotten, SubjectReadmitted
from eunoe.schemas.ids import Bucket, KeyId, Millis, Pseudonym, TenantId
from eunoe.schemas.values import Action, Writing
from unit.domain.samples import (
    ACME,
    ALICE,
    BOB,
    DAY,
    MONTH,
    NOW,
    OTHER_AGENT,
    REVIEWER,
    SWEEPER,
    draft,
    expire,
    forget,
    forget_subject,
    memory,
    readmit,
    remember,
    retract,
)
from unit.domain.scenario import Refused, Scenario


def key_for(subject: Pseudonym | None, bucket: str | None) -> IssueKey:
    return IssueKey(tenant=ACME, subject=subject, bucket=None if bucket is None else Bucket(bucket))


def issued(scenario: Scenario, subject: Pseudonym | None, bucket: str | None) -> KeyIssued:
    fact = scenario.ask(key_for(subject, bucket))
    assert isinstance(fact, KeyIssued), fact
    scenario.unchecked = len(scenario.events)
    return fact


@pytest.fixture
def scenario() -> Scenario:
    scenario = Scenario()
    issued(scenario, None, None)
    return scenario


def test_the_first_command_opens_the_tenant_and_the_next_gets_the_same_answer() -> None:
    scenario = Scenario()
    scenario.when(key_for(ALICE, MONTH)).then(Refused(reason=Reason.TENANT_NOT_OPEN))
    first = issued(scenario, None, None)
    assert (first.created, first.incarnation, first.subject) == (True, 1, None)
    again = issued(scenario, None, None)
    assert (again.created, again.key_id) == (False, first.key_id)


def test_two_askers_get_one_key_and_one_root(scenario: Scenario) -> None:
    first = issued(scenario, ALICE, MONTH)
    assert (first.created, first.generation) == (True, 1)
    second = scenario.ask(key_for(ALICE, MONTH), by=OTHER_AGENT)
    assert isinstance(second, KeyIssued)
    assert (second.created, second.key_id, second.root_key_id) == (False, first.key_id, first.root_key_id)


def test_every_bucket_has_a_key_under_the_same_root(scenario: Scenario) -> None:
    month, own = issued(scenario, ALICE, MONTH), issued(scenario, ALICE, memory("m"))
    assert month.key_id != own.key_id
    assert month.root_key_id == own.root_key_id
    assert issued(scenario, BOB, MONTH).root_key_id != month.root_key_id


@pytest.mark.parametrize(
    ("subject", "bucket", "reason", "field"),
    [
        (ALICE, None, Reason.INVALID_FIELD, "bucket"),
        (None, MONTH, Reason.INVALID_FIELD, "bucket"),
        (Pseudonym("Alice"), MONTH, Reason.INVALID_FIELD, "subject"),
        (ALICE, "2027-13", Reason.INVALID_FIELD, "bucket"),
        (ALICE, "2027-2", Reason.INVALID_FIELD, "bucket"),
        (ALICE, "2027-02:x", Reason.INVALID_FIELD, "bucket"),
        (ALICE, "2026-12", Reason.EXPIRY_PASSED, "bucket"),
        (ALICE, "2028-02", Reason.EXPIRY_TOO_FAR, "bucket"),
    ],
)
def test_a_bucket_is_a_reachable_month_or_a_record(
    scenario: Scenario, subject: Pseudonym | None, bucket: str | None, reason: Reason, field: str
) -> None:
    scenario.when(key_for(subject, bucket)).then(Refused(reason=reason, field=field))
    issued(scenario, ALICE, "2027-01")
    issued(scenario, ALICE, "2028-01")


def test_whoever_may_write_may_ask_and_nobody_else(scenario: Scenario) -> None:
    scenario.given(key_for(ALICE, MONTH), by=REVIEWER)
    scenario.when(key_for(ALICE, MONTH), by=SWEEPER).then(Refused(reason=Reason.NOT_ALLOWED, field="write"))


def test_a_closed_subject_gets_no_key_until_it_is_readmitted(scenario: Scenario) -> None:
    old = issued(scenario, ALICE, MONTH)
    scenario.given(forget_subject())
    scenario.when(key_for(ALICE, MONTH), key_for(ALICE, memory("m"))).then(
        Refused(reason=Reason.SUBJECT_CLOSED), Refused(reason=Reason.SUBJECT_CLOSED)
    )
    scenario.when(readmit()).then(SubjectReadmitted(subject=ALICE, generation=2))
    new = issued(scenario, ALICE, MONTH)
    assert (new.generation, new.created) == (2, True)
    assert new.key_id != old.key_id
    assert new.root_key_id != old.root_key_id
    assert not issued(scenario, ALICE, MONTH).created


def test_forgetting_counts_every_record_not_forgotten_before(scenario: Scenario) -> None:
    alices = issued(scenario, ALICE, MONTH).key_id
    bobs = issued(scenario, BOB, MONTH).key_id
    own = issued(scenario, BOB, memory("both")).key_id
    scenario.given(*(remember(draft(name, alices)) for name in ("kept", "retracted", "forgotten")))
    scenario.given(
        remember(draft("bobs", bobs, subject=BOB)),
        remember(draft("both", own, subject=BOB, about=(ALICE,))),
        retract("retracted"),
        forget("forgotten"),
    )
    command = forget_subject()
    scenario.when(command).then(SubjectForgotten(subject=ALICE, generation=1, records=3))
    first = scenario.events[-1].header.command_id
    scenario.when(command).then(CommandDuplicate(first_command_id=first, records=3))
    scenario.when(forget_subject(BOB)).then(SubjectForgotten(subject=BOB, generation=1, records=2))


def test_a_repeated_yes_gives_the_count_of_its_own_erasure(scenario: Scenario) -> None:
    scenario.given(remember(draft("kept", issued(scenario, ALICE, MONTH).key_id)))
    scenario.given(first := forget_subject())
    command_id = scenario.events[-1].header.command_id
    scenario.given(readmit(), forget_subject())
    scenario.when(first).then(CommandDuplicate(first_command_id=command_id, records=1))


def test_forgetting_one_record_takes_it_off_the_count_of_everyone_it_is_about(scenario: Scenario) -> None:
    own = issued(scenario, ALICE, memory("both")).key_id
    scenario.given(remember(draft("both", own, about=(BOB,))), forget("both"))
    assert (scenario.subject(ALICE).records, scenario.subject(BOB).records) == (0, 0)


def test_forgetting_touches_one_entry_however_many_records_there_are(scenario: Scenario) -> None:
    key = issued(scenario, ALICE, MONTH).key_id
    scenario.given(*(remember(draft(str(n), key)) for n in range(100)))
    before = dict(scenario.store)
    scenario.when(forget_subject()).then(SubjectForgotten(subject=ALICE, generation=1, records=100))
    changed = {name[:2] for name, value in scenario.store.items() if before.get(name) != value}
    assert changed == {"s:", "q:", "c:", "i:"}


def test_a_yes_is_only_what_closed_the_generation(scenario: Scenario) -> None:
    issued(scenario, ALICE, MONTH)
    command = forget_subject()
    scenario.when(forget_subject(BOB)).then(Refused(reason=Reason.NOT_FOUND, field="subject"))
    scenario.when(command).then(SubjectForgotten(subject=ALICE, generation=1, records=0))
    first = scenario.events[-1].header.command_id
    scenario.when(command).then(CommandDuplicate(first_command_id=first, records=0))
    scenario.when(forget_subject()).then(Refused(reason=Reason.SUBJECT_CLOSED, field="subject"))


def test_only_a_closed_subject_is_readmitted(scenario: Scenario) -> None:
    scenario.when(readmit()).then(Refused(reason=Reason.NOT_FOUND))
    issued(scenario, ALICE, MONTH)
    scenario.when(readmit()).then(Refused(reason=Reason.WRONG_STATE))
    scenario.given(forget_subject(), readmit())
    scenario.when(readmit()).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(forget_subject()).then(SubjectForgotten(subject=ALICE, generation=2, records=0))


def test_a_subject_that_is_no_pseudonym_is_refused(scenario: Scenario) -> None:
    name = Pseudonym("Alice Smith")
    scenario.when(forget_subject(name), readmit(name)).then(
        Refused(reason=Reason.INVALID_FIELD, field="subject"), Refused(reason=Reason.INVALID_FIELD, field="subject")
    )


def test_another_tenant_with_a_similar_name_shares_nothing(scenario: Scenario) -> None:
    key = issued(scenario, ALICE, MONTH).key_id
    other = scenario.key(ALICE, MONTH, TenantId("acme-2"))
    assert other != key
    scenario.given(remember(draft("m", key)), forget_subject())
    assert not scenario.subject(ALICE, TenantId("acme-2")).closed


def test_an_expired_record_is_still_counted(scenario: Scenario) -> None:
    key = issued(scenario, ALICE, "2027-01").key_id
    scenario.given(remember(draft("m", KeyId(key), expires_at=Millis(NOW + DAY))))
    scenario.now = Millis(NOW + DAY)
    scenario.given(expire("m", expires_at=Millis(NOW + DAY)))
    scenario.when(forget_subject()).then(SubjectForgotten(subject=ALICE, generation=1, records=1))


def test_a_days_access_key_is_made_once_for_whoever_may_read(scenario: Scenario) -> None:
    reader = replace(scenario.policy.principals[OTHER_AGENT], actions=frozenset({Action.READ}))
    principals = {**scenario.policy.principals, OTHER_AGENT: reader}
    scenario.policy = replace(scenario.policy, principals=MappingProxyType(principals))
    today = day_of(NOW)
    first = scenario.ask(key_for(None, today), by=OTHER_AGENT, writing=Writing.OFF)
    assert isinstance(first, KeyIssued)
    assert (first.created, first.subject, first.bucket, first.root_key_id) == (True, None, today, None)
    again = scenario.ask(key_for(None, today), by=OTHER_AGENT)
    assert isinstance(again, KeyIssued)
    assert (again.created, again.key_id) == (False, first.key_id)
    scenario.unchecked = len(scenario.events)
    scenario.when(key_for(None, today)).then(Refused(reason=Reason.NOT_ALLOWED, field="read"))
    for wrong in (day_of(Millis(NOW - 2 * DAY)), day_of(Millis(NOW + 2 * DAY))):
        scenario.when(key_for(None, wrong), by=OTHER_AGENT).then(Refused(reason=Reason.INVALID_FIELD, field="bucket"))
    tomorrow = scenario.ask(key_for(None, day_of(Millis(NOW + DAY))), by=OTHER_AGENT)
    assert isinstance(tomorrow, KeyIssued)
    assert tomorrow.key_id != first.key_id
    # The tenant's own key is still the one it was.
    assert issued(scenario, None, None).created is False


def test_a_tenant_that_is_not_open_has_no_access_key() -> None:
    scenario = Scenario()
    reader = replace(scenario.policy.principals[OTHER_AGENT], actions=frozenset({Action.READ}))
    principals = {**scenario.policy.principals, OTHER_AGENT: reader}
    scenario.policy = replace(scenario.policy, principals=MappingProxyType(principals))
    scenario.when(key_for(None, day_of(NOW)), by=OTHER_AGENT).then(Refused(reason=Reason.TENANT_NOT_OPEN))
