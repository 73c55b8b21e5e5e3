"""What speaks against a draft: findings, circumstances, missing answers, copies; and the waiting period."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from eunoe.domain.known import BodyFacts
from eunoe.schemas.events import CandidateObserved, CommandRejected, Finding, MemoryAccepted, MemoryQuarantined, Reason
from eunoe.schemas.ids import Millis
from eunoe.schemas.policy import KindRule, Policy, PurposeRule, ReviewRules, SourceRule
from eunoe.schemas.values import (
    Circumstance,
    Confirmation,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Trust,
    Verdict,
    Writing,
)
from unit.domain.samples import (
    AGENT,
    ALICE,
    BODY,
    DAY,
    MONTH,
    NOW,
    POLICY,
    REVIEWER,
    SECOND_REVIEWER,
    confirm,
    draft,
    memory,
    promote,
    remember,
)
from unit.domain.scenario import Refused, Scenario


def finding(rule: str, verdict: Verdict) -> Finding:
    return Finding(detector="text", rule=rule, verdict=verdict)


def outcome(policy: Policy = POLICY, findings: tuple[Finding, ...] = (), body: BodyFacts = BODY, **changes: Any) -> Any:
    told = Scenario(policy=policy)
    key = told.key(ALICE, MONTH)
    return told.ask(remember(draft("m", key, **changes)), findings=findings, body=body)


def test_a_rejected_finding_is_a_refusal_with_its_class_and_no_text() -> None:
    fact = outcome(findings=(finding("secret", Verdict.REJECT),))
    assert isinstance(fact, CommandRejected)
    assert (fact.reason, fact.field) == (Reason.SECRET, "statement")
    assert fact.findings == (finding("secret", Verdict.REJECT),)


def test_a_quarantined_finding_waits_and_an_allowed_one_is_only_noted() -> None:
    waits = outcome(findings=(finding("instruction", Verdict.QUARANTINE),))
    assert isinstance(waits, MemoryQuarantined)
    assert waits.reasons == (Reason.INSTRUCTION,)
    noted = outcome(findings=(finding("personal_data", Verdict.ALLOW),))
    assert isinstance(noted, MemoryAccepted)
    assert noted.findings == (finding("personal_data", Verdict.ALLOW),)


@pytest.mark.parametrize("rule", ["policy_influence", "privilege", "routing"])
def test_influence_is_never_active_unreviewed_whatever_the_policy_says(rule: str) -> None:
    fact = outcome(findings=(finding(rule, Verdict.ALLOW),))
    assert isinstance(fact, MemoryQuarantined)
    assert fact.policy_influence
    assert fact.reasons == (Reason(rule),)


def test_a_detector_that_failed_and_a_class_of_a_plug_in_have_their_codes() -> None:
    fact = outcome(findings=(finding("failed", Verdict.QUARANTINE), finding("shouting", Verdict.QUARANTINE)))
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.DETECTOR_FAILED, Reason.DETECTED)


def test_what_was_redacted_is_kept_as_it_was_sealed_anew() -> None:
    told = Scenario()
    asked = draft("m", told.key(ALICE, MONTH))
    anew = structs.replace(asked, body_version=2, body=b"redacted")
    fact = told.ask(remember(asked), findings=(finding("secret", Verdict.REDACT),), redacted=anew)
    assert isinstance(fact, MemoryAccepted)
    assert fact.draft == anew


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [(Verdict.REJECT, CommandRejected), (Verdict.QUARANTINE, MemoryQuarantined), (Verdict.ALLOW, MemoryAccepted)],
)
def test_a_declared_circumstance_does_what_the_policy_says(verdict: Verdict, expected: type) -> None:
    policy = replace(POLICY, circumstances=MappingProxyType({Circumstance.LIVE_QUERYABLE: verdict}))
    fact = outcome(policy, circumstances=(Circumstance.LIVE_QUERYABLE,))
    assert type(fact) is expected
    if isinstance(fact, CommandRejected):
        assert (fact.reason, fact.field) == (Reason.CIRCUMSTANCE, "circumstances.live_queryable")


def test_a_circumstance_that_the_policy_does_not_name_is_refused() -> None:
    assert isinstance(outcome(circumstances=(Circumstance.ONE_OFF,)), CommandRejected)


def copying(verdict: Verdict) -> Policy:
    tool = SourceRule(kind=SourceKind.TOOL, trust=Trust.ASSERTED, confirmation=Confirmation.CONFIRMED, copies=verdict)
    return replace(POLICY, sources=MappingProxyType({**POLICY.sources, SourceKind.TOOL: tool}))


def test_where_a_reference_would_do_a_copy_does_not() -> None:
    refused = outcome(copying(Verdict.REJECT), source_kind=SourceKind.TOOL)
    assert isinstance(refused, CommandRejected)
    assert refused.reason is Reason.PREFER_REFERENCE
    assert isinstance(outcome(copying(Verdict.QUARANTINE), source_kind=SourceKind.TOOL), MemoryQuarantined)
    named = structs.replace(BODY, names_record=True)
    accepted = outcome(copying(Verdict.REJECT), body=named, source_kind=SourceKind.TOOL, reference=True)
    assert isinstance(accepted, MemoryAccepted)
    unnamed = outcome(copying(Verdict.REJECT), source_kind=SourceKind.TOOL, reference=True)
    assert isinstance(unnamed, CommandRejected)
    assert (unnamed.reason, unnamed.field) == (Reason.NO_PROVENANCE, "reference")


def kinds(**changes: Any) -> Policy:
    rule = replace(POLICY.kinds["fact"], **changes)
    assert isinstance(rule, KindRule)
    return replace(POLICY, kinds=MappingProxyType({**POLICY.kinds, "fact": rule}))


def test_a_kind_may_ask_for_answers() -> None:
    policy = kinds(answers=frozenset({"future_use", "staleness"}))
    refused = outcome(policy, body=structs.replace(BODY, answers=frozenset({"future_use"})))
    assert isinstance(refused, CommandRejected)
    assert (refused.reason, refused.field) == (Reason.UNJUSTIFIED, "answers.staleness")
    given = structs.replace(BODY, answers=frozenset({"future_use", "staleness", "readers"}))
    assert isinstance(outcome(policy, body=given), MemoryAccepted)


def test_a_kind_may_ask_for_confirmation() -> None:
    waits = outcome(kinds(confirmed_only=True), source_kind=SourceKind.INFERRED)
    assert isinstance(waits, MemoryQuarantined)
    assert waits.reasons == (Reason.CONFIRMATION_NEEDED,)
    assert isinstance(outcome(kinds(confirmed_only=True)), MemoryAccepted)


def test_a_purpose_may_ask_for_less_than_the_principal_has() -> None:
    support = PurposeRule(name="support", owner="x", fallback="y", max_sensitivity=Sensitivity.INTERNAL)
    policy = replace(POLICY, purposes=MappingProxyType({**POLICY.purposes, "support": support}))
    refused = outcome(policy)
    assert isinstance(refused, CommandRejected)
    assert (refused.reason, refused.field) == (Reason.PURPOSE_SENSITIVITY, "purposes")
    assert isinstance(outcome(policy, sensitivity=Sensitivity.INTERNAL), MemoryAccepted)


def test_nobody_lets_in_what_has_not_waited() -> None:
    review = ReviewRules(waiting=MappingProxyType({"routing": DAY}), usual=0)
    told = Scenario(policy=replace(POLICY, review=review))
    key = told.key(ALICE, MONTH)
    told.given(
        remember(draft("letter", key, source_kind=SourceKind.THIRD_PARTY)),
        findings=(finding("routing", Verdict.QUARANTINE),),
    )
    assert told.record(memory("letter")).reviewable_at == NOW + DAY
    told.now = Millis(NOW + DAY - 1)
    told.when(promote("letter")).then(Refused(reason=Reason.WAITING_PERIOD, current_version=1))
    told.now = Millis(NOW + DAY)
    told.given(promote("letter"))


def test_whoever_shares_an_owner_with_the_author_does_not_judge() -> None:
    owner = POLICY.principals[AGENT].owner
    kin = replace(POLICY.principals[SECOND_REVIEWER], owner=owner)
    policy = replace(POLICY, principals=MappingProxyType({**POLICY.principals, SECOND_REVIEWER: kin}))
    told = Scenario(policy=policy)
    key = told.key(ALICE, MONTH)
    told.given(remember(draft("letter", key, source_kind=SourceKind.THIRD_PARTY)))
    told.given(remember(draft("guess", key, source_kind=SourceKind.INFERRED)))
    told.when(promote("letter"), confirm("guess"), by=SECOND_REVIEWER)
    told.then(Refused(reason=Reason.SAME_OWNER), Refused(reason=Reason.SAME_OWNER))
    told.given(promote("letter"), confirm("guess"), by=REVIEWER)


@pytest.mark.parametrize("since", ["left", "moved"])
def test_nor_does_whoever_shared_one_with_an_author_who_has_left_or_moved(since: str) -> None:
    owner = POLICY.principals[AGENT].owner
    kin = replace(POLICY.principals[SECOND_REVIEWER], owner=owner)
    told = Scenario(policy=replace(POLICY, principals=MappingProxyType({**POLICY.principals, SECOND_REVIEWER: kin})))
    key = told.key(ALICE, MONTH)
    told.given(remember(draft("letter", key, source_kind=SourceKind.THIRD_PARTY)))
    told.given(remember(draft("guess", key, source_kind=SourceKind.INFERRED)))
    principals = {name: rule for name, rule in told.policy.principals.items() if name != AGENT}
    if since == "moved":
        principals[AGENT] = replace(POLICY.principals[AGENT], owner="another team")
    told.policy = replace(told.policy, principals=MappingProxyType(principals))
    told.when(promote("letter"), confirm("guess"), by=SECOND_REVIEWER)
    told.then(Refused(reason=Reason.SAME_OWNER), Refused(reason=Reason.SAME_OWNER))
    told.given(promote("letter"), confirm("guess"), by=REVIEWER)


def test_where_memory_only_observes_the_candidate_is_recorded_and_nothing_is_stored() -> None:
    told = Scenario()
    key = told.key(ALICE, MONTH)
    before = dict(told.store)
    told.when(remember(draft("m", key, source_kind=SourceKind.THIRD_PARTY)), writing=Writing.OBSERVE)
    told.then(
        CandidateObserved(
            memory_id=memory("m"),
            kind="fact",
            purposes=("support",),
            verdict="quarantined",
            reasons=(Reason.UNTRUSTED_SOURCE,),
        )
    )
    assert {name for name in told.store if name not in before} == {
        name for name in told.store if name.startswith("c:") and name not in before
    }
    told.when(remember(draft("m", key, purposes=("nonsense",))), writing=Writing.OBSERVE)
    told.then(Refused(reason=Reason.UNKNOWN_PURPOSE))


def test_a_kind_is_kept_only_as_the_classes_it_may_have() -> None:
    refused = outcome(kinds(classes=frozenset({MemoryClass.SHORT_TERM})))
    assert isinstance(refused, CommandRejected)
    assert (refused.reason, refused.field) == (Reason.CLASS_NOT_ALLOWED, "class")
    assert isinstance(outcome(kinds(classes=frozenset({MemoryClass.LONG_TERM}))), MemoryAccepted)


def test_a_surface_that_the_policy_does_not_know_is_refused() -> None:
    policy = replace(POLICY, surfaces=frozenset({"chat"}))
    refused = outcome(policy, surfaces=("chat", "billboard"))
    assert isinstance(refused, CommandRejected)
    assert (refused.reason, refused.field) == (Reason.UNKNOWN_SURFACE, "surfaces")
    assert isinstance(outcome(policy, surfaces=("chat",)), MemoryAccepted)


def test_what_is_derived_names_its_events_and_is_proposed_whoever_says_it() -> None:
    kinds = MappingProxyType(
        {**POLICY.kinds, "summary": KindRule(name="summary", ttl_max=365 * DAY, own_bucket=False, derived=True)}
    )
    told = Scenario(policy=replace(POLICY, kinds=kinds))
    key = told.key(ALICE, MONTH)
    told.when(remember(draft("bare", key, kind="summary")), body=structs.replace(BODY, event_ids=0)).then(
        Refused(reason=Reason.NO_PROVENANCE, field="event_ids")
    )
    fact = told.ask(remember(draft("summary", key, kind="summary")))
    assert isinstance(fact, MemoryAccepted)
    assert fact.confirmation is Confirmation.PROPOSED
    told.given(remember(draft("fact", key)), body=structs.replace(BODY, event_ids=0))
