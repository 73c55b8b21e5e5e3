"""What reads return, as the documents of the contract."""

import json
from dataclasses import replace

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace as replaced

from eunoe.client.contract import (
    memory_record,
    provenance_of,
    retrieval_query,
    retrieval_result,
    review_of,
    scope_of,
)
from eunoe.readmodels.history_reader import Entry, History
from eunoe.readmodels.recall.budget import Skipped
from eunoe.readmodels.recall.result import Empty
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.runtime.principals import sample_development_policy
from eunoe.schemas.contract.documents import Document, TrustLevel, parse_document
from eunoe.schemas.contract.json_schema import stored_schema
from eunoe.schemas.contract.review import ContaminationScope, QuarantineState, WriteTrustBoundary
from eunoe.schemas.events import Finding
from eunoe.schemas.ids import AgentId, CommandId, EventId, MemoryId, Millis, Offset, PrincipalName, TenantId
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, Trust, Verdict, Visibility
from eunoe.testing.recalled import sample_recalled, sample_result
from eunoe.testing.samples import SAMPLE_TIME

POLICY = sample_development_policy()
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


def entry(kind: str, trust: Trust | None = Trust.ASSERTED, findings: tuple[Finding, ...] = ()) -> Entry:
    """A step of a record's history that was decided by nobody in particular."""
    return Entry(
        position=Offset(7),
        kind=kind,
        version=1,
        decided_at=SAMPLE_TIME,
        principal=PrincipalName("dev-agent"),
        event_id=EventId("e"),
        command_id=CommandId("c"),
        policy_version=1,
        policy_hash="0" * 64,
        trust=trust,
        findings=findings,
    )


def history(*entries: Entry) -> History:
    return History(memory_id=sample_recalled().memory_id, entries=entries, position=Offset(8))


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
    document = memory_record(record, TENANT, history(entry("MemoryAccepted")))
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


def test_a_record_that_waited_was_released_by_a_review() -> None:
    accepted = review_of(sample_recalled(), history(entry("MemoryAccepted")))
    assert accepted.write_trust_boundary is WriteTrustBoundary.TRUSTED_WRITE
    assert (accepted.activation_policy, accepted.quarantine_state) == ("on_acceptance", QuarantineState.NONE)
    waiting = entry("MemoryQuarantined", trust=Trust.UNTRUSTED)
    released = review_of(sample_recalled(), history(waiting, entry("MemoryPromoted", trust=Trust.ASSERTED)))
    assert released.write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE
    assert (released.activation_policy, released.quarantine_state) == ("delayed_review", QuarantineState.RELEASED)
    for step, state in (("MemoryConfirmed", "quarantined"), ("MemoryRejected", "rejected")):
        assert review_of(sample_recalled(), history(waiting, entry(step))).quarantine_state == state


@pytest.mark.parametrize(("rule", "influences"), [("policy_influence", True), ("routing", True), ("secret", False)])
def test_what_influences_policy_is_what_the_decider_took_for_it(rule: str, influences: bool) -> None:
    found = (Finding(detector="rules", rule=rule, verdict=Verdict.QUARANTINE),)
    waited = history(entry("MemoryQuarantined", findings=found), entry("MemoryPromoted"))
    review = review_of(sample_recalled(), waited)
    assert (review.policy_influence, review.quarantine_state) == (influences, QuarantineState.RELEASED)


def test_a_record_that_should_have_waited_and_did_not_is_no_document() -> None:
    with pytest.raises(ValueError, match="untrusted_write needs"):
        memory_record(sample_recalled(), TENANT, history(entry("MemoryAccepted", trust=Trust.UNTRUSTED)))
    for other in (history(), replaced(history(entry("MemoryAccepted")), memory_id=MemoryId("another"))):
        with pytest.raises(ValueError, match="how the record was written"):
            memory_record(sample_recalled(), TENANT, other)


def test_the_owner_is_the_policys_word() -> None:
    written = history(entry("MemoryAccepted"))
    assert review_of(sample_recalled(), written, POLICY).provenance_check.owner == "dev-team"
    assert review_of(sample_recalled(), written).provenance_check.owner == "dev-agent"


def test_what_one_agent_alone_reads_can_reach_no_further() -> None:
    own, shared = (
        review_of(sample_recalled(visibility=each), history(entry("MemoryAccepted")))
        for each in (Visibility.AGENT, Visibility.SHARED)
    )
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
