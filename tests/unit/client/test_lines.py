"""A line of `ingest` is checked field by field, and what is wrong is said without a word of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.client.line_problems import BadLine
from eunoe.client.lines import (
    CorrectLine,
    ForgetLine,
    RememberLine,
    idempotency_of,
    line_of,
    millis,
    parse_line,
)

A_RECORD = "018f0000-0000-7000-8000-000000000000"
LINE: dict[str, Any] = {
    "op": "remember",
    "tenant": "acme",
    "agent": "support-bot",
    "subject": "customer-17",
    "purposes": ["support"],
    "visibility": "agent",
    "surfaces": [],
    "about": [],
    "kind": "fact",
    "class": "long_term",
    "key": "delivery.window",
    "statement": "Prefers delivery after 18:00.",
    "source": {
        "kind": "user_explicit",
        "uri": "crm://tickets/4711",
        "event_ids": ["e-1"],
        "observed_at": "2026-11-30T09:00:00Z",
    },
    "confidence": 0.9,
    "sensitivity": "personal",
    "ttl": "P180D",
    "supersedes": None,
    "expected_version": 0,
    "idempotency_key": "ticket-4711-1",
}


def refusal(**changes: Any) -> str:
    with pytest.raises(BadLine) as caught:
        parse_line(json.dumps(LINE | changes))
    return str(caught.value)


def test_the_line_of_the_design_is_read() -> None:
    line = parse_line(json.dumps(LINE))
    assert isinstance(line, RememberLine)
    assert line.source.observed_at is not None
    assert millis(line.source.observed_at) == 1_796_029_200_000
    assert line.memory_class == "long_term"


def test_fields_with_a_default_may_be_left_out() -> None:
    # That a record must end is checked where the policy can say the maximum (producers.drafts).
    least = {
        "op": "remember",
        "tenant": "t",
        "agent": "a",
        "purposes": ["p"],
        "statement": "x",
        "source": {"kind": "tool"},
    }
    line = parse_line(json.dumps(least))
    assert isinstance(line, RememberLine)
    assert (line.subject, line.kind, line.confidence) == (None, "fact", 1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"statment": "x"}, "unknown field `statment`"),
        ({"confidence": True}, "confidence: must be `float`, not `bool`"),
        ({"confidence": "0.9"}, "confidence: must be `float`, not `str`"),
        ({"confidence": float("nan")}, "is not one JSON object in UTF-8"),
        ({"confidence": float("inf")}, "is not one JSON object in UTF-8"),
        ({"confidence": 1.01}, "confidence: must be `float` <= 1.0"),
        ({"confidence": -0.1}, "confidence: must be `float` >= 0.0"),
        ({"ttl": "P1Y"}, "ttl: is not a duration such as P180D"),
        ({"expires_at": "2027-01-01T00:00:00Z"}, "ttl: only one of ttl and expires_at"),
        ({"ttl": None, "expires_at": "2027-01-01T00:00:00"}, "expires_at: must be `datetime` with a timezone"),
        ({"tenant": "a/b"}, "tenant: must be 1 to 64 of"),
        ({"tenant": "{a}"}, "tenant: must be 1 to 64 of"),
        ({"tenant": "a\n"}, "tenant: must be 1 to 64 of"),
        ({"tenant": "x" * 65}, "tenant: must be 1 to 64 of"),
        ({"statement": " \n"}, "statement: is empty"),
        ({"statement": "\ud800"}, "is not one JSON object in UTF-8"),
        ({"purposes": []}, "purposes: must be `array` of length >= 1"),
        ({"supersedes": A_RECORD}, "expected_version: must be the version of the record"),
        ({"supersedes": "not-an-id"}, "supersedes: must be a UUID in lower case"),
        ({"supersedes": "00000000-0000-0000-0000-000000000000"}, "supersedes: must be a UUID in lower case, and not"),
        ({"memory_id": "00000000-0000-0000-0000-000000000000"}, "memory_id: must be a UUID in lower case, and not"),
        ({"subject": "x" * 513}, "subject: must be `str` of length <= 512"),
        ({"about": ["x" * 513]}, "about[0]: must be `str` of length <= 512"),
        ({"idempotency_key": "x" * 257}, "idempotency_key: must be `str` of length <= 256"),
        ({"op": "correct"}, "supersedes: must be `str`, not `null`"),
        ({"op": "drop"}, "op: must be one of remember, correct"),
        ({"visibility": "all"}, "visibility: must be one of agent, shared"),
        ({"source": {"kind": "gossip"}}, "source.kind: must be one of user_explicit"),
        (
            {"source": {"kind": "tool", "evidence": [{"event_id": "e", "start": -1, "end": 2}]}},
            "source.evidence[0].start",
        ),
    ],
)
def test_bad_input_is_refused_by_field_and_rule(changes: dict[str, Any], said: str) -> None:
    assert said in refusal(**changes)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"op": "forget", "tenant": "a"}', "{", b"\xff\xfe", "null"])
def test_what_is_no_command_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadLine):
        parse_line(text)


def objection(text: str) -> BadLine | None:
    try:
        parse_line(text)
    except BadLine as refused:
        return refused
    return None


CANARY = "Xq7canaryXq7"


@given(
    field=st.sampled_from(sorted(LINE)),
    value=st.sampled_from([CANARY, [CANARY], {CANARY: CANARY}, {"kind": CANARY}, [{CANARY: 1}], f"{CANARY}\ud800"]),
)
def test_no_refusal_repeats_a_value(field: str, value: Any) -> None:
    for changed in ({field: value}, {f"{CANARY} {field}": value}):
        refused = objection(json.dumps(LINE | changed))
        assert refused is None or CANARY not in str(refused)


def test_a_canary_in_a_plain_field_name_is_what_the_test_above_would_notice() -> None:
    assert "xq7canary" in refusal(xq7canary=1)


def test_options_go_through_the_same_checks_as_lines() -> None:
    assert isinstance(line_of(LINE | {"op": "correct", "supersedes": A_RECORD, "expected_version": 1}), CorrectLine)
    assert isinstance(line_of({"op": "forget", "tenant": "a", "subject": "s"}), ForgetLine)
    with pytest.raises(BadLine):
        line_of(LINE | {"confidence": float("nan")})


def test_a_line_without_an_idempotency_key_gets_one_from_its_text() -> None:
    text = json.dumps({name: value for name, value in LINE.items() if name != "idempotency_key"})
    first, again = idempotency_of(parse_line(text), text), idempotency_of(parse_line(text), text + "\n")
    other = text.replace("18:00", "19:00")
    assert first == again != idempotency_of(parse_line(other), other)
    assert idempotency_of(parse_line(json.dumps(LINE)), b"") == "ticket-4711-1"


@pytest.mark.parametrize("operation", ["forget", "readmit"])
def test_forgetting_is_asked_for_anew_each_time_the_file_is_sent(operation: str) -> None:
    text = json.dumps({"op": operation, "tenant": "acme", "subject": "customer-17"})
    assert idempotency_of(parse_line(text), text) != idempotency_of(parse_line(text), text)


@pytest.mark.parametrize("number", [2**31, 2**63, 10**40])
def test_a_version_that_no_record_can_have_is_refused_by_its_field(number: int) -> None:
    with pytest.raises(BadLine, match="expected_version"):
        parse_line(json.dumps({**LINE, "expected_version": number}))
