"""A record that is in use is sent back to waiting, and comes back into use only as any other that waits (B38)."""

from dataclasses import replace
from types import MappingProxyType

import pytest

from eunoe.schemas.events import ConflictRef, MemoryAccepted, MemoryPromoted, MemoryRejected, MemorySuspended, Reason
from eunoe.schemas.ids import Millis
from eunoe.schemas.policy import ReviewRules
from eunoe.schemas.values import Lifecycle, Review, SourceKind, Trust
from unit.domain.samples import (
    AGENT,
    ALICE,
    IN_A_MONTH,
    MONTH,
    NOW,
    POLICY,
    REVIEWER,
    ROBOT_REVIEWER,
    SECOND_REVIEWER,
    correct,
    draft,
    forget_subject,
    memory,
    promote,
    reject,
    remember,
    suspend,
)
from unit.domain.scenario import Refused, Scenario, replayed

SENT_BACK = MemorySuspended(
    memory_id=memory("used"),
    version=2,
    reasons=("policy.untrusted_source",),
    subject=ALICE,
    generation=1,
    expires_at=IN_A_MONTH,
    reviewable_at=NOW,
)


def told() -> Scenario:
    scenario = Scenario()
    return scenario.given(remember(draft("used", scenario.key(ALICE, MONTH))))


def test_it_waits_with_its_reasons_and_an_approval_brings_it_back() -> None:
    scenario = told()
    scenario.when(suspend("used", 1, "policy.untrusted_source")).then(SENT_BACK)
    record = scenario.record(memory("used"))
    assert (record.lifecycle, record.review, record.version) == (Lifecycle.QUARANTINED, Review.PENDING, 2)
    scenario.when(promote("used", 2)).then(MemoryPromoted(memory_id=memory("used"), version=3, trust=Trust.VERIFIED))
    assert scenario.record(memory("used")).lifecycle is Lifecycle.ACTIVE
    assert replayed(scenario.events) == scenario.store


def test_or_it_is_kept_out_for_good() -> None:
    told().given(suspend("used")).when(reject("used", 2)).then(
        MemoryRejected(memory_id=memory("used"), version=3, reason="spam")
    )


@pytest.mark.parametrize(
    ("code", "waits"), [("policy.routing", 7), ("routing", 7), ("seen_twice", 2), ("policy.untrusted_source", 2)]
)
def test_it_waits_as_long_as_anything_that_waits_for_that_reason(code: str, waits: int) -> None:
    review = ReviewRules(waiting=MappingProxyType({"routing": 7}), usual=2)
    scenario = Scenario(policy=replace(POLICY, review=review))
    scenario.given(remember(draft("used", scenario.key(ALICE, MONTH))), suspend("used", 1, code))
    scenario.now = Millis(NOW + waits - 1)
    scenario.when(promote("used", 2)).then(Refused(reason=Reason.WAITING_PERIOD, current_version=2))
    scenario.now = Millis(NOW + waits)
    scenario.given(promote("used", 2))


def test_it_takes_a_person_who_may_review_and_signs_and_the_version_they_saw() -> None:
    scenario = told()
    scenario.when(suspend("used"), by=AGENT, signed=False).then(Refused(reason=Reason.NOT_ALLOWED, field="review"))
    scenario.when(suspend("used"), by=ROBOT_REVIEWER).then(Refused(reason=Reason.NOT_ALLOWED, field="review"))
    scenario.when(suspend("used"), by=REVIEWER, signed=False).then(Refused(reason=Reason.SIGNATURE_REQUIRED))
    scenario.when(suspend("used", 2)).then(Refused(reason=Reason.VERSION_CONFLICT, current_version=1))
    scenario.when(suspend("other")).then(Refused(reason=Reason.NOT_FOUND))
    scenario.given(suspend("used"))
    scenario.when(suspend("used", 2)).then(Refused(reason=Reason.WRONG_STATE, current_version=2))


@pytest.mark.parametrize("reasons", [("free text",), tuple(f"code{n}" for n in range(9))])
def test_reasons_are_codes_and_few(reasons: tuple[str, ...]) -> None:
    told().when(suspend("used", 1, *reasons)).then(Refused(reason=Reason.INVALID_FIELD, field="reasons"))


def test_whoever_sent_it_back_may_let_it_in_but_its_author_may_not() -> None:
    scenario = Scenario()
    scenario.given(remember(draft("used", scenario.key(ALICE, MONTH))), by=REVIEWER)
    scenario.given(suspend("used"))
    scenario.when(promote("used", 2), by=REVIEWER).then(Refused(reason=Reason.OWN_MEMORY))
    scenario.when(promote("used", 2), by=SECOND_REVIEWER).then(
        MemoryPromoted(memory_id=memory("used"), version=3, trust=Trust.VERIFIED)
    )


def test_what_waits_again_contradicts_nobody_is_replaced_by_nobody_and_meets_its_rivals_when_it_returns() -> None:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("used", key)), claim="window", text="mornings").given(suspend("used"))
    fact = scenario.ask(
        remember(draft("rival", key, source_kind=SourceKind.USER_EXPLICIT)), claim="window", text="noon"
    )
    assert isinstance(fact, MemoryAccepted)
    assert (fact.conflicts_with, fact.supersedes) == ((), None)
    scenario.unchecked = len(scenario.events)
    scenario.when(correct(draft("newer", key), "used", 2), claim="window", text="evenings").then(
        Refused(reason=Reason.WRONG_STATE)
    )
    back = scenario.ask(promote("used", 2))
    assert isinstance(back, MemoryPromoted)
    touched = back.conflicts_with or (back.supersedes,)
    assert touched[0] is not None
    assert touched[0].memory_id == memory("rival")
    assert isinstance(touched[0], ConflictRef) or scenario.record(memory("rival")).lifecycle is Lifecycle.SUPERSEDED
    assert replayed(scenario.events) == scenario.store


def test_who_is_forgotten_takes_it_along() -> None:
    told().given(suspend("used"), forget_subject()).when(promote("used", 2)).then(Refused(reason=Reason.ERASED))
