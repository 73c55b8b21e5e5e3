"""A stored record under a policy that came later: still allowed, would wait, or would be refused."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from msgspec import structs

from eunoe.domain.memory import evolve
from eunoe.domain.reevaluation import TRUST_LOWERED, Judgement, Standing, Stored, judged
from eunoe.schemas.events import (
    Fact,
    Finding,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryPromoted,
    MemoryQuarantined,
    Reason,
)
from eunoe.schemas.ids import KeyId
from eunoe.schemas.policy import Policy, SourceRule
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, SourceKind, Trust, Verdict
from eunoe.testing.samples import sample_accepted, sample_event, sample_quarantined
from unit.domain.samples import AGENT, BODY, DAY, NOW, POLICY, draft

KEY = KeyId("00000000-0000-4000-8000-000000000001")
REJECTED = Finding(detector="text", rule="secret", verdict=Verdict.REJECT)
WAITING = Finding(detector="text", rule="instruction", verdict=Verdict.QUARANTINE)
CUT = Finding(detector="text", rule="personal_data", verdict=Verdict.REDACT)


def stored(
    *later: Fact,
    born: MemoryAccepted | MemoryQuarantined | None = None,
    findings: tuple[Finding, ...] = (),
    **changes: Any,
) -> Stored:
    """Written by `AGENT`, let in at `NOW`."""
    first = born or sample_accepted(draft("used", KEY, **changes))
    state, header = None, sample_event(first, principal=AGENT).header
    for fact in (first, *later):
        state = evolve(state, draft("used", KEY).memory_id, header, fact)
    assert state is not None
    return Stored(
        draft=first.draft,
        state=state,
        decided_at=NOW,
        reasons=first.reasons if isinstance(first, MemoryQuarantined) else (),
        body=BODY,
        findings=findings,
    )


def quarantined(**changes: Any) -> MemoryQuarantined:
    born = sample_quarantined(draft("used", KEY, **changes))
    return structs.replace(born, reasons=(Reason.UNTRUSTED_SOURCE,))


def without(**tables: Any) -> Policy:
    """The policy without these entries of its tables."""
    changed: dict[str, Any] = {
        name: MappingProxyType({key: value for key, value in getattr(POLICY, name).items() if key != gone})
        for name, gone in tables.items()
    }
    return replace(POLICY, **changed)


def trusting(trust: Trust, confirmation: Confirmation = Confirmation.CONFIRMED) -> Policy:
    rule = SourceRule(kind=SourceKind.USER_EXPLICIT, trust=trust, confirmation=confirmation)
    return replace(POLICY, sources=MappingProxyType({**POLICY.sources, SourceKind.USER_EXPLICIT: rule}))


def with_kind(**changes: Any) -> Policy:
    rule = replace(POLICY.kinds["fact"], **changes)
    return replace(POLICY, kinds=MappingProxyType({**POLICY.kinds, "fact": rule}))


def test_under_the_policy_it_was_let_in_by_it_stays() -> None:
    assert judged(stored(), POLICY) == Judgement(standing=Standing.ALLOWED)


@pytest.mark.parametrize(
    ("policy", "reason", "field"),
    [
        (without(kinds="fact"), Reason.UNKNOWN_KIND, "kind"),
        (with_kind(classes=frozenset({MemoryClass.PROFILE})), Reason.CLASS_NOT_ALLOWED, "class"),
        (without(purposes="support"), Reason.UNKNOWN_PURPOSE, "purposes"),
        (without(sources=SourceKind.USER_EXPLICIT), Reason.SOURCE_NOT_ALLOWED, "source_kind"),
        (with_kind(ttl_max=7 * DAY), Reason.EXPIRY_TOO_FAR, "expires_at"),
        (with_kind(answers=frozenset({"future_use"})), Reason.UNJUSTIFIED, "answers.future_use"),
        (
            replace(
                POLICY,
                principals=MappingProxyType(
                    {AGENT: replace(POLICY.principals[AGENT], max_sensitivity=Sensitivity.INTERNAL)}
                ),
            ),
            Reason.NOT_ALLOWED,
            "sensitivity",
        ),
    ],
)
def test_what_would_be_refused_says_why(policy: Policy, reason: Reason, field: str) -> None:
    expected = Judgement(standing=Standing.REFUSED, reasons=(reason.value,), field=field)
    assert judged(stored(), policy) == expected


def test_what_the_detectors_find_now_counts() -> None:
    assert judged(stored(findings=(REJECTED,)), POLICY).reasons == ("secret",)
    assert judged(stored(findings=(REJECTED,)), POLICY).standing is Standing.REFUSED
    for finding, code in ((WAITING, "instruction"), (CUT, "personal_data")):
        found = judged(stored(findings=(finding,)), POLICY)
        assert (found.standing, found.reasons) == (Standing.WAITS, (code,))


def test_a_source_that_is_trusted_less_now_waits() -> None:
    untrusted = judged(stored(), trusting(Trust.UNTRUSTED))
    assert (untrusted.standing, untrusted.reasons) == (Standing.WAITS, ("untrusted_source", TRUST_LOWERED))
    verified = stored(born=structs.replace(sample_accepted(draft("used", KEY)), trust=Trust.VERIFIED))
    assert judged(verified, POLICY).reasons == (TRUST_LOWERED,)
    assert judged(verified, trusting(Trust.VERIFIED)).standing is Standing.ALLOWED


def test_what_a_reviewer_has_answered_is_not_asked_again_and_what_is_new_is() -> None:
    born = quarantined(source_kind=SourceKind.THIRD_PARTY)
    promoted = MemoryPromoted(memory_id=born.draft.memory_id, version=2, trust=Trust.VERIFIED)
    assert judged(stored(promoted, born=born), POLICY).standing is Standing.ALLOWED
    assert judged(stored(promoted, born=born, findings=(WAITING,)), POLICY).reasons == ("instruction",)


def test_a_confirmation_that_was_given_is_there() -> None:
    policy = replace(trusting(Trust.ASSERTED, Confirmation.PROPOSED), kinds=with_kind(confirmed_only=True).kinds)
    born = structs.replace(sample_accepted(draft("used", KEY)), confirmation=Confirmation.PROPOSED)
    assert judged(stored(born=born), policy).reasons == ("confirmation_needed",)
    confirmed = MemoryConfirmed(memory_id=born.draft.memory_id, version=2)
    assert judged(stored(confirmed, born=born), policy).standing is Standing.ALLOWED


def test_what_waits_already_goes_on_waiting_and_is_refused_like_any_other() -> None:
    born = quarantined()
    assert judged(stored(born=born), trusting(Trust.UNTRUSTED)).standing is Standing.ALLOWED
    assert judged(stored(born=born), without(kinds="fact")).standing is Standing.REFUSED


def test_of_a_text_that_nobody_can_open_only_the_clear_fields_are_judged() -> None:
    closed = structs.replace(stored(), body=None)
    assert judged(closed, with_kind(answers=frozenset({"future_use"}))).standing is Standing.ALLOWED
    assert judged(closed, without(kinds="fact")).standing is Standing.REFUSED


def test_an_author_who_left_the_policy_is_no_reason() -> None:
    assert judged(stored(), without(principals=AGENT)).standing is Standing.ALLOWED
