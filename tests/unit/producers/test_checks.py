"""Every bad argument is refused at the call, by field and rule, and what it held is not repeated."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from eunoe.producers.checks import LONGEST_WAIT_S, seconds
from eunoe.producers.drafts import check_asked, place
from eunoe.producers.errors import CallerError, TooLarge
from eunoe.producers.proposal import Asked, Placed, Proposal
from eunoe.runtime.errors import CallerFault
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Answers, EvidenceSpan
from eunoe.schemas.ids import NIL, AgentId, CommandId, MemoryId, Millis, TenantId
from eunoe.schemas.values import Sensitivity, SourceKind, Visibility

NOW = Millis(1_796_000_000_000)
DAY = 86_400_000
RECORD = MemoryId("018f0000-0000-7000-8000-000000000000")
CANARY = "zanzibar"
GOOD = Proposal(
    tenant=TenantId("acme"),
    agent=AgentId("bot"),
    statement="Prefers tea.",
    purposes=("support",),
    source_kind=SourceKind.USER_EXPLICIT,
    ttl=timedelta(days=1),
)
SURROGATE = f"{CANARY}\ud800"
UUID_IN_CAPITALS = "018F0000-0000-7000-8000-000000000000"
NAIVE = datetime(2027, 1, 1)  # noqa: DTZ001  # what is tested

REFUSED: list[tuple[str, object, str]] = [
    ("tenant", "", "must be 1 to 64"),
    ("tenant", f"{CANARY}:1", "must be 1 to 64"),
    ("tenant", f"{{{CANARY}}}", "must be 1 to 64"),
    ("tenant", f"{CANARY}\n", "must be 1 to 64"),
    ("tenant", "a" * 65, "must be 1 to 64"),
    ("tenant", None, "must be 1 to 64"),
    ("agent", f"{CANARY} bot", "must be 1 to 64"),
    ("subject", "", "is empty"),
    ("subject", SURROGATE, "holds a lone surrogate"),
    ("subject", 17, "must be a text, not int"),
    ("subject", "x" * 513, "513 is above the limit of 512"),
    ("about", ["x" * 513], "513 is above the limit of 512"),
    ("about", CANARY, "must be a list, not str"),
    ("about", [SURROGATE], "holds a lone surrogate"),
    ("about", [""], "is empty"),
    ("purposes", [], "must name at least 1"),
    ("purposes", CANARY, "must be a list, not str"),
    ("purposes", 5, "must be a list, not int"),
    ("purposes", [f"{CANARY}/x"], "must be 1 to 64"),
    ("purposes", ["support", "support"], "names one twice"),
    ("surfaces", [f"{CANARY} "], "must be 1 to 64"),
    ("producer_surface", f"{CANARY}!", "must be 1 to 64"),
    ("kind", f"{CANARY}?", "must be 1 to 64"),
    ("kind", [CANARY], "must be 1 to 64"),
    ("scope", f"{CANARY} {CANARY}", "must be 1 to 128"),
    ("retention", f"{CANARY}@example.org", "must be 1 to 128"),
    ("embedding_version", "", "must be 1 to 128"),
    ("statement", "", "is empty"),
    ("statement", " \n\t", "is empty"),
    ("statement", SURROGATE, "holds a lone surrogate"),
    ("statement", CANARY.encode(), "must be a text, not bytes"),
    ("claim_key", "", "is empty"),
    ("source_uri", SURROGATE, "holds a lone surrogate"),
    ("provenance", 5, "must be a text, not int"),
    ("external_id", "", "is empty"),
    ("event_ids", CANARY, "must be a list, not str"),
    ("event_ids", [""], "is empty"),
    ("evidence", [CANARY], "must be a list of EvidenceSpan, not of str"),
    ("visibility", CANARY, "must be one of agent, shared"),
    ("memory_class", CANARY, "must be one of short_term"),
    ("source_kind", CANARY, "must be one of user_explicit"),
    ("source_kind", "USER_EXPLICIT", "must be one of user_explicit"),
    ("source_kind", None, "must be one of user_explicit"),
    ("sensitivity", CANARY, "must be one of public"),
    ("conflict_policy", CANARY, "must be one of policy_decides"),
    ("export_delete_policy", CANARY, "must be one of user_visible"),
    ("confidence", float("nan"), "must be between 0 and 1"),
    ("confidence", float("inf"), "must be between 0 and 1"),
    ("confidence", -0.1, "must be between 0 and 1"),
    ("confidence", 1.1, "must be between 0 and 1"),
    ("confidence", True, "must be a number, not bool"),
    ("confidence", "0.9", "must be a number, not str"),
    ("confidence", None, "must be a number, not NoneType"),
    ("ttl", timedelta(0), "must be positive"),
    ("ttl", timedelta(microseconds=1), "must be positive"),
    ("ttl", -DAY, "must be positive"),
    ("ttl", True, "must be a timedelta"),
    ("ttl", "P1D", "must be a timedelta"),
    ("ttl", timedelta(days=3_000_000), "ends after the year 9999"),
    ("ttl", None, "is missing, and so is expires_at"),
    ("observed_at", NAIVE, "has no offset"),
    ("valid_from", NAIVE, "has no offset"),
    ("valid_until", NAIVE, "has no offset"),
    ("observed_at", "2027-01-01T00:00:00Z", "must be a datetime with an offset"),
    ("observed_at", -1, "must lie between"),
    ("observed_at", True, "must be a datetime with an offset"),
]


def placed(**over: Any) -> Placed:
    return place(replace(GOOD, **over), RECORD, None, NOW)


def test_a_good_proposal_passes() -> None:
    assert placed().draft.expires_at == NOW + DAY


@pytest.mark.parametrize(("field", "value", "problem"), REFUSED)
def test_a_bad_argument_is_named_and_not_repeated(field: str, value: object, problem: str) -> None:
    with pytest.raises(CallerError) as caught:
        placed(**{field: value})
    error = caught.value
    assert error.field == field
    assert error.problem.startswith(problem)
    assert str(error) == f"{field}: {error.problem}"
    assert isinstance(error, CallerFault)
    assert not error.retryable
    # Neither what it says nor what Python would print as its cause.
    assert CANARY not in str(error)
    assert error.__context__ is None


@pytest.mark.parametrize(
    ("over", "field"),
    [
        ({"expires_at": NAIVE, "ttl": None}, "expires_at"),
        ({"expires_at": Millis(NOW - DAY), "ttl": None}, "expires_at"),
        ({"expires_at": -1, "ttl": None}, "expires_at"),
        ({"expires_at": Millis(NOW + DAY)}, "ttl"),
        ({"valid_from": Millis(NOW), "valid_until": Millis(NOW)}, "valid_until"),
        ({"evidence": [EvidenceSpan(event_id="", start=0, end=1)]}, "evidence.event_id"),
        ({"evidence": [EvidenceSpan(event_id="e-1", start=-1, end=1)]}, "evidence.start"),
        ({"evidence": [EvidenceSpan(event_id="e-1", start=5, end=4)]}, "evidence.end"),
    ],
)
def test_what_two_fields_say_together_is_checked_too(over: dict[str, object], field: str) -> None:
    with pytest.raises(CallerError) as caught:
        placed(**over)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("statement", f"{CANARY} " * 1_000, 4_000),
        ("purposes", [f"p{n}" for n in range(17)], 16),
        ("surfaces", [f"s{n}" for n in range(17)], 16),
        ("about", [f"{CANARY}-{n}" for n in range(17)], 16),
        ("event_ids", [f"{CANARY}-{n}" for n in range(65)], 64),
    ],
)
def test_what_is_above_a_limit_is_refused_with_the_limit(field: str, value: object, limit: int) -> None:
    with pytest.raises(TooLarge) as caught:
        placed(**{field: value})
    assert (caught.value.field, caught.value.limit) == (field, limit)
    assert CANARY not in str(caught.value)


def test_a_body_above_its_limit_is_refused_although_each_part_is_not() -> None:
    with pytest.raises(TooLarge) as caught:
        placed(answers=Answers(future_use=f"{CANARY} " * 5_000))
    assert caught.value.field == "body"


@pytest.mark.parametrize("memory_id", ["", CANARY, UUID_IN_CAPITALS, NIL, None, 5])
def test_a_memory_id_is_a_uuid_in_lower_case(memory_id: Any) -> None:
    with pytest.raises(CallerError, match=r"^memory_id: must be a UUID"):
        place(GOOD, memory_id, None, NOW)


def test_texts_that_are_a_value_of_a_vocabulary_are_taken() -> None:
    draft = placed(source_kind="tool", visibility="shared", sensitivity="restricted").draft
    assert draft.source_kind is SourceKind.TOOL
    assert draft.visibility is Visibility.SHARED
    assert draft.sensitivity is Sensitivity.RESTRICTED


def test_an_instant_counts_in_its_own_offset() -> None:
    east = datetime(2027, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    draft = placed(observed_at=east, expires_at=datetime(2027, 1, 1, microsecond=1_500, tzinfo=UTC), ttl=None).draft
    assert draft.observed_at == 1_798_761_600_000
    assert draft.expires_at == 1_798_761_600_002


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, 0.5])
def test_the_ends_of_the_scale_belong_to_it(confidence: float) -> None:
    found = placed(confidence=confidence).draft.confidence
    assert type(found) is float
    assert found == confidence


def test_text_of_any_script_is_kept_as_it_is() -> None:
    text = "Предпочитает чай 🍵 — お茶が好き"
    assert BODIES.decode(placed(statement=text).body).statement == text


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (Asked(idempotency_key=""), "idempotency_key"),
        (Asked(idempotency_key=SURROGATE), "idempotency_key"),
        (Asked(idempotency_key="k" * 257), "idempotency_key"),
        (Asked(command_id=CommandId(NIL)), "command_id"),
        (Asked(command_id=CommandId(CANARY)), "command_id"),
        (Asked(causation=f"{CANARY} {CANARY}"), "causation"),
        (Asked(correlation=f"{CANARY} {CANARY}"), "correlation"),
        (Asked(traceparent=CANARY), "traceparent"),
        (Asked(traceparent=f"00-{'a' * 32}-{'b' * 16}-01\n"), "traceparent"),
    ],
)
def test_the_circumstances_of_a_command_are_checked_too(asked: Asked, field: str) -> None:
    with pytest.raises(CallerError) as caught:
        check_asked(asked)
    assert caught.value.field == field
    assert CANARY not in str(caught.value)


def test_a_name_and_a_key_may_be_as_long_as_the_limit() -> None:
    assert placed(subject="x" * 512, about=["y" * 512]).subject == "x" * 512
    check_asked(Asked(idempotency_key="k" * 256))


@pytest.mark.parametrize("wait", [float("nan"), float("inf"), -1, LONGEST_WAIT_S + 1, True, "5", None])
def test_nobody_waits_for_ever_or_no_time_at_all(wait: object) -> None:
    with pytest.raises(CallerError, match=r"^timeout: must be"):
        seconds("timeout", wait)
    assert (seconds("timeout", 0), seconds("timeout", 15)) == (0.0, 15.0)


def test_good_circumstances_pass() -> None:
    check_asked(Asked())
    check_asked(
        Asked(
            idempotency_key="ticket 4711, first",
            command_id=CommandId(RECORD),
            causation="e-1",
            correlation="ticket/4711",
            traceparent=f"00-{'a' * 32}-{'b' * 16}-01",
        )
    )
