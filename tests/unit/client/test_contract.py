"""What reads return, as the documents of the contract."""

import base64
import json
from dataclasses import replace
from types import MappingProxyType

import msgspec
import pytest
from jsonschema import Draft202012Validator

from eunoe.client.contract import (
    memory_record,
    provenance_of,
    retrieval_query,
    retrieval_result,
    review_of,
    scope_of,
)
from eunoe.readmodels.recall.budget import Skipped
from eunoe.readmodels.recall.result import Empty
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.schemas.contract.documents import Document, TrustLevel, parse_document
from eunoe.schemas.contract.json_schema import stored_schema
from eunoe.schemas.contract.review import ContaminationScope, QuarantineState, WriteTrustBoundary
from eunoe.schemas.ids import AgentId, Millis, PrincipalName, TenantId
from eunoe.schemas.policy import SourceRule
from eunoe.schemas.policy_file import development_policy_text, read_policy
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, SourceKind, Trust, Visibility
from eunoe.testing.recalled import sample_recalled, sample_result

KEY = base64.b64encode(bytes(32)).decode()
POLICY = read_policy(
    development_policy_text().replace("@dev-reviewer@", KEY).replace("@dev-officer@", KEY).encode(), "development"
)
TENANT = TenantId("acme")
SCOPE = ReadScope(
    tenant=TENANT,
    agent=AgentId("support-bot"),
    purpose="support",
    principal=PrincipalName("dev-agent"),
    subject="anna@example.org",
    surface="chat",
    classes=frozenset({MemoryClass.PROFILE, MemoryClass.LONG_TERM}),
    trust_min=Trust.ASSERTED,
    max_sensitivity=Sensitivity.PERSONAL,
    max_age=3 * 86_400_000 + 1,
    require_provenance=True,
)
QUERY = retrieval_query(SCOPE, trace_id="t-1", session_id="s-1", limit=5, budget=200, as_of=Millis(1_001))


def checked(document: Document) -> Document:
    """The document after it has been JSON, taken by its stored schema."""
    raw = msgspec.json.encode(document)
    plain = json.loads(raw)
    Draft202012Validator(stored_schema(plain["kind"])).validate(plain)
    read = parse_document(raw)
    assert read == document
    return read


@pytest.mark.parametrize(
    ("trust", "level"),
    [(Trust.UNTRUSTED, TrustLevel.LOW), (Trust.ASSERTED, TrustLevel.MEDIUM), (Trust.VERIFIED, TrustLevel.HIGH)],
)
def test_a_record_in_use_is_a_memory_record(trust: Trust, level: TrustLevel) -> None:
    record = sample_recalled(trust=trust, version=3, confirmation=Confirmation.PROPOSED, surfaces=("chat",))
    document = memory_record(record, TENANT)
    checked(document)
    assert (document.trust_level, document.revision, document.confirmation) == (level, 3, Confirmation.PROPOSED)
    assert (document.key, document.value) == ("delivery.window", "Prefers delivery after 18:00.")
    assert (document.retention, document.consumer_surfaces) == ("long_term", ("chat",))
    assert document.rollback_ref == f"{record.memory_id}@3"


def test_provenance_is_what_is_known_of_it_best_first() -> None:
    record = sample_recalled(provenance="said so", source_uri="crm://1", event_ids=("e-1",))
    assert provenance_of(record) == "said so"
    assert provenance_of(replace(record, provenance=None)) == "crm://1"
    assert provenance_of(replace(record, provenance=None, source_uri=None)) == "e-1"
    assert provenance_of(replace(record, provenance=None, source_uri=None, event_ids=())) == "unknown"


def test_a_record_from_outside_was_released_by_a_review() -> None:
    trusted, outside = (
        review_of(sample_recalled(source_kind=kind)) for kind in (SourceKind.TOOL, SourceKind.THIRD_PARTY)
    )
    assert trusted.write_trust_boundary is WriteTrustBoundary.TRUSTED_WRITE
    assert trusted.quarantine_state is QuarantineState.NONE
    assert outside.write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE
    assert outside.quarantine_state is QuarantineState.RELEASED


def test_which_source_is_untrusted_is_the_policys_word() -> None:
    rule = SourceRule(kind=SourceKind.TOOL, trust=Trust.UNTRUSTED, confirmation=Confirmation.PROPOSED)
    strict = replace(POLICY, sources=MappingProxyType({**POLICY.sources, SourceKind.TOOL: rule}))
    record = sample_recalled(source_kind=SourceKind.TOOL)
    assert review_of(record, POLICY).write_trust_boundary is WriteTrustBoundary.TRUSTED_WRITE
    assert review_of(record, strict).write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE
    assert review_of(record, POLICY).provenance_check.owner == "dev-team"
    assert review_of(record).provenance_check.owner == "dev-agent"


def test_what_one_agent_alone_reads_can_reach_no_further() -> None:
    own, shared = (review_of(sample_recalled(visibility=each)) for each in (Visibility.AGENT, Visibility.SHARED))
    assert own.contamination_scope is ContaminationScope.AGENT_LOCAL
    assert shared.contamination_scope is ContaminationScope.TENANT_LOCAL


def test_a_query_says_who_reads_why_and_within_which_limits_and_nothing_of_whom() -> None:
    checked(QUERY)
    assert (QUERY.principal_id, QUERY.purpose, QUERY.limit) == ("dev-agent", "support", 5)
    assert QUERY.allowed_classes == (MemoryClass.LONG_TERM, MemoryClass.PROFILE)
    assert QUERY.filters.trust_min is TrustLevel.MEDIUM
    assert b"anna" not in msgspec.json.encode(QUERY)
    anything = replace(SCOPE, classes=None, max_age=None)
    assert retrieval_query(anything, trace_id="t").allowed_classes == tuple(MemoryClass)


def test_a_query_asks_for_the_scope_it_was_made_of_for_the_one_who_calls_only() -> None:
    assert scope_of(QUERY, PrincipalName("dev-agent"), SCOPE.subject) == SCOPE
    with pytest.raises(ValueError, match="principal_id"):
        scope_of(QUERY, PrincipalName("dev-officer"))


def test_a_result_says_why_these_how_many_were_dropped_and_no_word_of_them() -> None:
    result = sample_result(
        sample_recalled(),
        sample_recalled(score=0.0, terms=(), reasons=("exact_read",), conflicts=("m-2",)),
        excluded={"trust": 2, "class": 1, "provenance": 0},
        examined=5,
        skipped=(Skipped(id="m-9", tokens=400),),
    )
    document = retrieval_result(result, QUERY)
    checked(document)
    assert (document.trace_id, document.session_id) == ("t-1", "s-1")
    assert [each.selection_reason for each in document.selected_records] == [("term", "recency"), ("exact_read",)]
    assert document.selection_reason == ("term", "recency", "exact_read")
    assert [each.conflicts for each in document.selected_records] == [(), ("m-2",)]
    assert (document.policy_version, document.policy_hash) == (1, "0" * 64)
    assert (document.excluded_records, document.excluded_by) == (3, {"class": 1, "trust": 2})
    assert (document.over_budget[0].tokens, document.freshness.lag_ms) == (400, 3)
    raw = msgspec.json.encode(document)
    assert b"deliv" not in raw.lower()
    assert b"crm://tickets/4711" in raw
    assert retrieval_result(sample_result(empty=Empty.NO_WORDS), QUERY).empty == "no_words"
