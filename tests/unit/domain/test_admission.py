"""Each rule on a draft, with its own reason. The same draft without the fault is accepted: the positive control."""

import math

import pytest
from msgspec import structs

from eunoe.domain.known import BodyFacts
from eunoe.schemas.events import MemoryAccepted, MemoryQuarantined, Reason
from eunoe.schemas.ids import KeyId, Millis
from eunoe.schemas.values import Sensitivity, SourceKind
from unit.domain.samples import (
    ALICE,
    BOB,
    BODY,
    CAROL,
    IN_A_MONTH,
    MONTH,
    NOW,
    draft,
    forget_subject,
    memory,
    remember,
)
from unit.domain.scenario import Refused, Scenario


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


@pytest.fixture
def key(scenario: Scenario) -> KeyId:
    return scenario.key(ALICE, MONTH)


FAULTS = [
    ({"memory_id": "not-an-id"}, Reason.INVALID_FIELD, "memory_id"),
    ({"memory_id": "00000000-0000-0000-0000-000000000000"}, Reason.INVALID_FIELD, "memory_id"),
    ({"memory_id": memory("m").upper()}, Reason.INVALID_FIELD, "memory_id"),
    ({"agent": ""}, Reason.INVALID_FIELD, "agent"),
    ({"agent": "a:b"}, Reason.INVALID_FIELD, "agent"),
    ({"agent": "a" * 65}, Reason.INVALID_FIELD, "agent"),
    ({"purposes": ()}, Reason.UNKNOWN_PURPOSE, "purposes"),
    ({"purposes": ("marketing",)}, Reason.UNKNOWN_PURPOSE, "purposes"),
    ({"purposes": ("support", "support")}, Reason.INVALID_FIELD, "purposes"),
    ({"purposes": ("support", "sales", "support")}, Reason.TOO_LONG, "purposes"),
    ({"surfaces": ("chat", "chat")}, Reason.INVALID_FIELD, "surfaces"),
    ({"surfaces": ("with space",)}, Reason.INVALID_FIELD, "surfaces"),
    ({"surfaces": ("a", "b", "c")}, Reason.TOO_LONG, "surfaces"),
    ({"producer_surface": "{}"}, Reason.INVALID_FIELD, "producer_surface"),
    ({"about": (ALICE,)}, Reason.INVALID_FIELD, "about"),
    ({"about": (BOB, BOB)}, Reason.INVALID_FIELD, "about"),
    ({"about": ("Bob Smith",)}, Reason.INVALID_FIELD, "about"),
    ({"about": (BOB, CAROL, "d" * 32)}, Reason.TOO_LONG, "about"),
    ({"scope": "Alice lives in Paris"}, Reason.INVALID_FIELD, "scope"),
    ({"scope": "alice@example.org"}, Reason.INVALID_FIELD, "scope"),
    ({"retention": ""}, Reason.INVALID_FIELD, "retention"),
    ({"embedding_version": "v 1"}, Reason.INVALID_FIELD, "embedding_version"),
    ({"kind": "gossip"}, Reason.UNKNOWN_KIND, "kind"),
    ({"confidence": math.nan}, Reason.INVALID_FIELD, "confidence"),
    ({"confidence": math.inf}, Reason.INVALID_FIELD, "confidence"),
    ({"confidence": -0.1}, Reason.INVALID_FIELD, "confidence"),
    ({"confidence": 1.01}, Reason.INVALID_FIELD, "confidence"),
    ({"valid_from": Millis(5), "valid_until": Millis(5)}, Reason.INVALID_FIELD, "valid_until"),
    ({"source_kind": SourceKind.TOOL}, Reason.SOURCE_NOT_ALLOWED, "source_kind"),
    ({"sensitivity": Sensitivity.RESTRICTED}, Reason.NOT_ALLOWED, "sensitivity"),
]


@pytest.mark.parametrize(("changes", "reason", "field"), FAULTS)
def test_a_faulty_field_is_named(
    scenario: Scenario, key: KeyId, changes: dict[str, object], reason: Reason, field: str
) -> None:
    scenario.when(remember(draft("m", key, **changes))).then(Refused(reason=reason, field=field))
    assert isinstance(scenario.ask(remember(draft("m", key))), MemoryAccepted)


@pytest.mark.parametrize(
    ("fault", "reason", "field"),
    [
        ({"blank": True}, Reason.EMPTY_STATEMENT, "statement"),
        ({"statement_chars": 0}, Reason.EMPTY_STATEMENT, "statement"),
        ({"statement_chars": 101}, Reason.TOO_LONG, "statement"),
        ({"body_bytes": 1_001}, Reason.TOO_LONG, "body"),
        ({"event_ids": 4}, Reason.TOO_LONG, "event_ids"),
        ({"has_provenance": False}, Reason.NO_PROVENANCE, "source"),
    ],
)
def test_a_faulty_body_is_named(
    scenario: Scenario, key: KeyId, fault: dict[str, object], reason: Reason, field: str
) -> None:
    body = structs.replace(BODY, **fault)
    scenario.when(remember(draft("m", key)), body=body).then(Refused(reason=reason, field=field))


def test_every_limit_can_be_reached(scenario: Scenario, key: KeyId) -> None:
    body = BodyFacts(statement_chars=100, body_bytes=1_000, event_ids=3, has_provenance=True, blank=False)
    widest = draft(
        "m",
        key,
        agent="a" * 64,
        purposes=("support", "sales"),
        surfaces=("a", "b"),
        producer_surface="chat",
        scope="repository:acme/app",
        embedding_version="model-3.1",
        confidence=1.0,
        valid_from=Millis(1),
        valid_until=Millis(2),
    )
    assert isinstance(scenario.ask(remember(widest), body=body), MemoryAccepted)
    assert isinstance(scenario.ask(remember(draft("n", key, confidence=0.0))), MemoryAccepted)


def test_text_that_is_no_id_is_not_repeated_in_the_refusal(scenario: Scenario, key: KeyId) -> None:
    scenario.when(remember(draft("m", key, memory_id="Alice's diary"))).then(
        Refused(reason=Reason.INVALID_FIELD, field="memory_id", memory_id=None)
    )


def test_trust_comes_from_policy_and_not_from_confidence(scenario: Scenario, key: KeyId) -> None:
    sure = remember(draft("m", key, source_kind=SourceKind.THIRD_PARTY, confidence=1.0))
    doubtful = remember(draft("n", key, confidence=0.01))
    assert isinstance(scenario.ask(sure), MemoryQuarantined)
    assert isinstance(scenario.ask(doubtful), MemoryAccepted)


def test_a_key_of_another_subject_is_the_wrong_key(scenario: Scenario, key: KeyId) -> None:
    bobs = scenario.key(BOB, MONTH)
    scenario.when(remember(draft("m", bobs))).then(Refused(reason=Reason.WRONG_KEY, field="key_id"))
    scenario.given(remember(draft("m", bobs, subject=BOB)))


def test_a_record_about_someone_forgotten_is_refused(scenario: Scenario, key: KeyId) -> None:
    scenario.key(BOB, MONTH)
    scenario.given(forget_subject(BOB))
    scenario.when(remember(draft("m", key, about=(BOB,)))).then(Refused(reason=Reason.SUBJECT_CLOSED, field="about"))


def test_the_samples_are_what_they_say() -> None:
    assert IN_A_MONTH > NOW
    assert MONTH == "2027-02"
