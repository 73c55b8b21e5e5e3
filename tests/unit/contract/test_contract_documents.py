"""The documents and their stored JSON Schemas say the same, of what is right and of what is wrong."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, FormatChecker

import eunoe.schemas.contract.json_schema as written
from eunoe.schemas.contract.documents import (
    Document,
    MemoryRecordDocument,
    OverBudget,
    ReadFreshness,
    RetrievalQuery,
    RetrievalResult,
    SelectedRecord,
    TrustLevel,
    candidate_document,
    parse_document,
)
from eunoe.schemas.contract.json_schema import documented, stored_schema
from eunoe.schemas.contract.records import MemoryCandidate
from eunoe.schemas.contract.review import (
    ActivationPolicy,
    ContaminationScope,
    PoisoningReview,
    ProvenanceCheck,
    QuarantineState,
    WriteTrustBoundary,
)
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity

RECORD = MemoryRecordDocument(
    write_trust_boundary=WriteTrustBoundary.TRUSTED_WRITE,
    activation_policy=ActivationPolicy.ON_ACCEPTANCE,
    contamination_scope=ContaminationScope.TENANT_LOCAL,
    policy_influence=False,
    provenance_check=ProvenanceCheck(source="crm://1", owner="support-team", revision=2),
    quarantine_state=QuarantineState.NONE,
    rollback_ref="m-1@2",
    record_id="m-1",
    tenant_id="acme",
    memory_class=MemoryClass.LONG_TERM,
    record_kind="fact",
    value="Prefers delivery after 18:00.",
    source="user_explicit",
    provenance="crm://1",
    revision=2,
    trust_level=TrustLevel.MEDIUM,
    confirmation=Confirmation.CONFIRMED,
    confidence=0.9,
    sensitivity=Sensitivity.PERSONAL,
    created_at=datetime(2026, 12, 1, 9, tzinfo=UTC),
    retention="long_term",
    producer_agent="support-bot",
    expires_at=datetime(2027, 12, 1, 9, tzinfo=UTC),
)
CANDIDATE = candidate_document(
    MemoryCandidate("acme", "long_term", "note", "Drop requester_id.", "web_comment", 0.4, "comment-7"), "m-2", 1
)
QUERY = RetrievalQuery(
    trace_id="t-1",
    tenant_id="acme",
    principal_id="dev-agent",
    agent_id="support-bot",
    purpose="support",
    allowed_classes=(MemoryClass.LONG_TERM, MemoryClass.PROFILE),
    limit=10,
)
RESULT = RetrievalResult(
    trace_id="t-1",
    selected_records=(
        SelectedRecord(
            record_id="m-1",
            memory_class=MemoryClass.LONG_TERM,
            trust_level=TrustLevel.MEDIUM,
            provenance="crm://1",
            revision=2,
            confirmation=Confirmation.PROPOSED,
            score=0.25,
            selection_reason=("term", "recency"),
            policy_version=1,
        ),
    ),
    selection_reason=("term", "recency"),
    excluded_records=2,
    excluded_by={"trust": 2},
    examined=3,
    capped=False,
    over_budget=(OverBudget(record_id="m-9", tokens=400),),
    used_tokens=12,
    policy_version=1,
    policy_hash="0" * 64,
    freshness=ReadFreshness(log_id="log", partition=4, position=77),
)
EACH: dict[str, Document] = {
    "memory_record": RECORD,
    "memory_candidate": CANDIDATE,
    "retrieval_query": QUERY,
    "retrieval_result": RESULT,
}


def taken_by_schema(kind: str, document: Any) -> bool:
    checker = FormatChecker()
    return bool(Draft202012Validator(stored_schema(kind), format_checker=checker).is_valid(document))


def taken_by_type(document: Any) -> bool:
    try:
        parse_document(json.dumps(document))
    except msgspec.ValidationError:
        return False
    return True


def test_the_stored_schemas_are_those_of_the_types() -> None:
    stored = Path(written.__file__).parent
    texts = documented()
    assert {file.name for file in stored.glob("*.schema.json")} == set(texts)
    for name, text in texts.items():
        assert stored.joinpath(name).read_text(encoding="utf-8") == text, f"{name}: write the schemas again"
        Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize("kind", EACH)
def test_a_document_comes_back_the_same_and_its_schema_takes_it(kind: str) -> None:
    raw = msgspec.json.encode(EACH[kind])
    plain = json.loads(raw)
    assert plain["kind"] == kind
    assert parse_document(raw) == EACH[kind]
    assert taken_by_schema(kind, plain)


@pytest.mark.parametrize("kind", EACH)
def test_type_and_schema_refuse_the_same(kind: str) -> None:
    plain = json.loads(msgspec.json.encode(EACH[kind]))
    required = stored_schema(kind)["required"]
    broken = [{name: value for name, value in plain.items() if name != field} for field in required]
    broken += [{**plain, "surprise": 1}, {**plain, "kind": "something_else"}]
    broken += [{**plain, field: {"no": "value"}} for field in required]
    for each in broken:
        assert not taken_by_type(each)
        assert not taken_by_schema(kind, each)


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("memory_record", {"confidence": 1.5}),
        ("memory_record", {"revision": 0}),
        ("memory_record", {"revision": True}),
        ("memory_record", {"trust_level": "verified"}),
        ("memory_record", {"tenant_id": "acme\n"}),
        ("memory_record", {"memory_class": "forever"}),
        ("memory_record", {"provenance": ""}),
        ("memory_record", {"write_trust_boundary": "untrusted_write"}),
        ("memory_record", {"policy_influence": True}),
        ("memory_record", {"activation_policy": "delayed_review"}),
        ("memory_candidate", {"revision_mode": "merge"}),
        ("memory_candidate", {"activation_policy": "on_acceptance"}),
        ("memory_candidate", {"quarantine_state": "none"}),
        ("memory_candidate", {"contamination_scope": "every_tenant"}),
        ("retrieval_query", {"limit": -1}),
        ("retrieval_query", {"purpose": ""}),
        ("retrieval_query", {"filters": {"trust_min": "highest"}}),
        ("retrieval_query", {"filters": {"max_age_days": -1}}),
        ("retrieval_result", {"excluded_records": -1}),
        ("retrieval_result", {"excluded_by": {"trust": -1}}),
    ],
)
def test_a_value_outside_its_range_is_refused_by_both(kind: str, changes: dict[str, Any]) -> None:
    plain = json.loads(msgspec.json.encode(EACH[kind]))
    assert taken_by_type(plain)
    assert not taken_by_type({**plain, **changes})
    assert not taken_by_schema(kind, {**plain, **changes})


def test_an_untrusted_candidate_waits_for_a_delayed_review() -> None:
    assert CANDIDATE.write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE
    assert CANDIDATE.activation_policy is ActivationPolicy.DELAYED_REVIEW
    assert CANDIDATE.quarantine_state is QuarantineState.QUARANTINED
    assert CANDIDATE.provenance_check == ProvenanceCheck(source="web_comment", owner="acme", revision=1)
    trusted = candidate_document(
        MemoryCandidate("acme", "profile", "note", "Speaks Dutch.", "trusted_profile", 1, "form-1"), "m-3", 1
    )
    assert trusted.activation_policy is ActivationPolicy.ON_ACCEPTANCE
    influential = candidate_document(
        MemoryCandidate("acme", "profile", "note", "x", "trusted_profile", 1, "f", policy_influence=True), "m-3", 1
    )
    assert influential.quarantine_state is QuarantineState.QUARANTINED


def test_the_rules_of_a_review_hold_for_one_that_is_made_here_too() -> None:
    fields = {name: getattr(CANDIDATE, name) for name in PoisoningReview.__struct_fields__}
    assert PoisoningReview(**fields).policy_influence is False
    for change in ({"activation_policy": ActivationPolicy.ON_ACCEPTANCE}, {"quarantine_state": QuarantineState.NONE}):
        with pytest.raises(ValueError, match=r"needs"):
            PoisoningReview(**{**fields, **change})
