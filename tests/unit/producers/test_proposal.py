"""A proposal gets its end and its bucket before it is sealed, and is measured before it is sent."""

from dataclasses import replace
from typing import Any

import pytest

from eunoe.producers.drafts import place
from eunoe.producers.errors import CallerError, TooLarge
from eunoe.producers.proposal import Proposal
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Answers
from eunoe.schemas.ids import AgentId, Bucket, MemoryId, Millis, TenantId
from eunoe.schemas.policy import KindRule, Policy
from eunoe.schemas.values import SourceKind

POLICY = sample_development_policy()
NOW = Millis(1_796_000_000_000)  # 2026-11-29
DAY = 86_400_000
RECORD = MemoryId("018f0000-0000-7000-8000-000000000000")
PLAIN = Proposal(
    tenant=TenantId("acme"),
    agent=AgentId("bot"),
    statement="Prefers tea.",
    purposes=("support",),
    source_kind=SourceKind.USER_EXPLICIT,
    ttl=30 * DAY,
)


@pytest.mark.parametrize(("policy", "more"), [(POLICY, "; a fact lasts at most P1825D"), (None, "")])
def test_without_an_end_nothing_is_placed_and_the_maximum_is_told(policy: Policy | None, more: str) -> None:
    with pytest.raises(CallerError) as caught:
        place(replace(PLAIN, ttl=None), RECORD, policy, NOW)
    assert str(caught.value) == f"ttl: is missing, and so is expires_at{more}"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ({"ttl": 1_825 * DAY + 1}, "ttl: is too long; a fact lasts at most P1825D"),
        ({"ttl": None, "expires_at": Millis(NOW + 1_825 * DAY + 1)}, "expires_at: is too far away; a fact lasts at"),
        ({"ttl": None, "expires_at": NOW}, "expires_at: has passed; a fact lasts at most P1825D"),
    ],
)
def test_an_end_that_no_key_could_serve_is_refused_by_its_own_field(end: dict[str, Any], said: str) -> None:
    with pytest.raises(CallerError) as caught:
        place(replace(PLAIN, **end), RECORD, POLICY, NOW)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("end", [{"ttl": 1_825 * DAY}, {"ttl": None, "expires_at": Millis(NOW + 1_825 * DAY)}])
def test_an_end_at_the_maximum_is_not(end: dict[str, Any]) -> None:
    assert place(replace(PLAIN, **end), RECORD, POLICY, NOW).draft.expires_at == NOW + 1_825 * DAY


def test_a_duration_of_the_authors_own_is_kept_and_an_instant_has_none() -> None:
    placed = place(replace(PLAIN, ttl=DAY), RECORD, POLICY, NOW)
    assert (placed.draft.ttl, placed.draft.expires_at, placed.bucket) == (DAY, NOW + DAY, "2026-12")
    named = place(replace(PLAIN, ttl=None, expires_at=Millis(NOW + DAY)), RECORD, POLICY, NOW)
    assert (named.draft.ttl, named.draft.expires_at) == (None, NOW + DAY)


def test_a_record_about_others_or_of_a_marked_kind_has_a_key_of_its_own() -> None:
    assert place(replace(PLAIN, about=("bob",)), RECORD, POLICY, NOW).bucket == Bucket(RECORD)
    marked = KindRule(name="fact", ttl_max=30 * DAY, own_bucket=True)
    assert place(PLAIN, RECORD, replace(POLICY, kinds={"fact": marked}), NOW).bucket == Bucket(RECORD)


def test_what_is_too_long_is_refused_by_field_and_number_alone() -> None:
    with pytest.raises(TooLarge) as caught:
        place(replace(PLAIN, statement="tea " * 100), RECORD, limited(statement_chars=100), NOW)
    assert (caught.value.field, caught.value.limit, caught.value.found) == ("statement", 100, 400)
    assert "tea" not in str(caught.value)
    answered = replace(PLAIN, provenance="p", answers=Answers(future_use="x" * 200))
    with pytest.raises(TooLarge, match="body: "):
        place(answered, RECORD, limited(body_bytes=200), NOW)


def limited(**limits: int) -> Policy:
    return replace(POLICY, limits=replace(POLICY.limits, **limits))


def test_everything_that_could_identify_a_person_is_in_the_body() -> None:
    full = replace(PLAIN, claim_key="drink", source_uri="crm://1", event_ids=("e-1",), external_id="x-1")
    body = BODIES.decode(place(full, RECORD, POLICY, NOW).body)
    assert (body.statement, body.claim_key, body.source_uri) == ("Prefers tea.", "drink", "crm://1")
    assert (body.event_ids, body.external_id) == (("e-1",), "x-1")


def test_a_bad_answer_is_named_and_not_repeated() -> None:
    with pytest.raises(CallerError, match="lone surrogate") as caught:
        place(replace(PLAIN, answers=Answers(staleness="gone \ud800")), RECORD, limited(), NOW)
    assert caught.value.field == "answers.staleness"
    assert "gone" not in str(caught.value)
