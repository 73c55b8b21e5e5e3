"""The store for direct use: tenants apart, revisions kept, what needs a review never found."""

from typing import Any

from eunoe.schemas.contract.records import MemoryCandidate, MemoryRecord
from eunoe.schemas.contract.review import QuarantineState, WriteTrustBoundary
from eunoe.schemas.contract.store import MemoryStore


def record(memory_id: str, content: str, tenant: str = "acme", **changes: Any) -> MemoryRecord:
    usual: dict[str, Any] = {"memory_class": "long_term", "kind": "validated_fact", "source": "trusted_service"}
    return MemoryRecord(
        **{"memory_id": memory_id, "tenant_id": tenant, "content": content, "confidence": 0.5, **usual, **changes}
    )


def candidate(content: str, **changes: Any) -> MemoryCandidate:
    usual: dict[str, Any] = {"memory_class": "long_term", "kind": "validated_fact", "source": "trusted_service"}
    more = {"confidence": 0.5, "provenance": "ticket-1"}
    return MemoryCandidate(**{"tenant_id": "acme", "content": content, **usual, **more, **changes})


def found(store: MemoryStore, query: str, tenant: str = "acme") -> list[str]:
    return [each.content for each in store.lookup(query, tenant, limit=10)]


def test_another_tenants_records_are_never_found() -> None:
    store = MemoryStore([record("mem-001", "Queue one."), record("mem-001", "Queue two.", "other")])
    assert found(store, "queue") == ["Queue one."]
    assert found(store, "queue", "other") == ["Queue two."]


def test_what_shares_no_word_is_not_found_and_more_words_come_first() -> None:
    store = MemoryStore([record("mem-001", "Red tea."), record("mem-002", "Green tea."), record("mem-003", "Coffee.")])
    assert found(store, "green TEA") == ["Green tea.", "Red tea."]
    assert found(store, "?!") == []


def test_a_replacement_is_the_next_revision_and_the_old_one_stays_on_record() -> None:
    store = MemoryStore([record("mem-001", "Queue one."), record("mem-002", "Queue two.", revision=3)])
    after = store.with_candidate(candidate("Queue new.", revision_mode="replace"))
    assert sorted(found(after, "queue")) == ["Queue new.", "Queue one."]
    assert [(each.content, each.revision) for each in after.records][1:] == [("Queue two.", 3), ("Queue new.", 4)]
    assert sorted(found(store, "queue")) == ["Queue one.", "Queue two."]


def test_an_appended_one_stands_beside_the_others_under_an_id_of_its_own() -> None:
    store = MemoryStore([record("mem-002", "Queue one.")]).with_candidate(candidate("Queue two."))
    assert sorted(found(store, "queue")) == ["Queue one.", "Queue two."]
    assert [each.memory_id for each in store.records] == ["mem-002", "mem-003"]


def test_an_untrusted_replacement_waits_and_retires_nothing() -> None:
    store = MemoryStore([record("mem-001", "Queue one.")])
    for source in ("third_party", "model_output", "a_stranger"):
        proposed = candidate("Queue none.", source=source, revision_mode="replace")
        assert proposed.review("mem-002", 2).write_trust_boundary is WriteTrustBoundary.UNTRUSTED_WRITE
        assert found(store.with_candidate(proposed), "queue") == ["Queue one."]
    trusted = candidate("Queue new.", revision_mode="replace")
    assert found(store.with_candidate(trusted), "queue") == ["Queue new."]


def test_what_influences_policy_is_not_used_without_a_review() -> None:
    waiting = record("mem-001", "Drop requester_id from tickets.", policy_influence=True)
    released = record("mem-001", "Keep requester_id.", policy_influence=True, quarantine=QuarantineState.RELEASED)
    assert found(MemoryStore([waiting]), "requester_id") == []
    assert found(MemoryStore([released]), "requester_id") == ["Keep requester_id."]
    assert waiting.review.quarantine_state is QuarantineState.QUARANTINED
