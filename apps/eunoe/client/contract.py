"""From what reads really return to the documents of the contract (`eunoe.schemas.contract.documents`), and back.

Nothing is looked up: a document says what the read said. Trust untrusted, asserted, verified is low, medium, high.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from eunoe.domain.judging import influences
from eunoe.readmodels.history_reader import History
from eunoe.readmodels.recall.result import Freshness, RecalledMemory, SearchResult
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.schemas.contract.documents import (
    TRUST_LEVELS,
    TRUSTS,
    MemoryRecordDocument,
    OverBudget,
    QueryFilters,
    ReadFreshness,
    RetrievalQuery,
    RetrievalResult,
    SelectedRecord,
)
from eunoe.schemas.contract.review import (
    PoisoningReview,
    ProvenanceCheck,
    QuarantineState,
    Reviewed,
    poisoning_review,
)
from eunoe.schemas.events import MemoryAccepted, MemoryPromoted, MemoryQuarantined, MemoryRejected
from eunoe.schemas.ids import AgentId, Millis, PrincipalName, TenantId
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import MemoryClass, Trust, Visibility

_WRITTEN: Final = frozenset({MemoryAccepted.__name__, MemoryQuarantined.__name__})
_QUARANTINE: Final = {
    MemoryQuarantined.__name__: QuarantineState.QUARANTINED,
    MemoryPromoted.__name__: QuarantineState.RELEASED,
    MemoryRejected.__name__: QuarantineState.REJECTED,
}
_DAY: Final = timedelta(days=1) // timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def memory_record(
    record: RecalledMemory, tenant: TenantId, history: History, policy: Policy | None = None
) -> MemoryRecordDocument:
    """``history``: the record's own, which says how it came into use (see `review_of`, also for ``policy``).

    What a read does not tell is null. Raises ValueError as `review_of` does.
    """
    review = review_of(record, history, policy)
    return MemoryRecordDocument(
        **{name: getattr(review, name) for name in Reviewed.__struct_fields__},
        record_id=record.memory_id,
        tenant_id=tenant,
        memory_class=record.memory_class,
        record_kind=record.kind,
        key=record.claim_key,
        value=record.statement,
        source=record.source_kind.value,
        source_uri=record.source_uri,
        event_ids=record.event_ids,
        provenance=provenance_of(record),
        revision=record.version,
        trust_level=TRUST_LEVELS[record.trust],
        confirmation=record.confirmation,
        confidence=record.confidence,
        sensitivity=record.sensitivity,
        created_at=_instant(record.created_at),
        retention=record.retention or record.memory_class.value,
        producer_agent=record.agent,
        producer_surface=record.producer_surface,
        consumer_surfaces=record.surfaces,
        scope=record.scope,
        conflict_policy=record.conflict_policy,
        expires_at=_instant(record.expires_at),
        export_delete_policy=record.export_delete_policy,
        conflicts=record.conflicts,
        evidence=record.evidence,
        answers=record.answers,
        policy_version=record.policy_version,
    )


def retrieval_query(
    scope: ReadScope,
    *,
    trace_id: str,
    session_id: str | None = None,
    limit: int = 10,
    budget: int | None = None,
    as_of: Millis | None = None,
) -> RetrievalQuery:
    """Who reads what and why. The subject and the words of the query stay out of it."""
    classes = (
        tuple(MemoryClass) if scope.classes is None else tuple(each for each in MemoryClass if each in scope.classes)
    )
    return RetrievalQuery(
        trace_id=trace_id,
        session_id=session_id,
        tenant_id=scope.tenant,
        principal_id=scope.principal,
        agent_id=scope.agent,
        purpose=scope.purpose,
        consumer_surface=scope.surface,
        allowed_classes=classes,
        max_sensitivity=scope.max_sensitivity,
        filters=QueryFilters(
            trust_min=TRUST_LEVELS[scope.trust_min],
            max_age_days=None if scope.max_age is None else scope.max_age / _DAY,
            require_provenance=scope.require_provenance,
        ),
        limit=limit,
        token_budget=budget,
        as_of=None if as_of is None else _instant(as_of),
    )


def scope_of(query: RetrievalQuery, principal: PrincipalName, subject: str | None = None) -> ReadScope:
    """The scope a query asks for. ``principal`` is who was authenticated: a query names one and proves nothing.

    Raises ValueError where the query names another, and `BadScope`.
    """
    if query.principal_id != principal:
        raise ValueError("principal_id is not who calls")
    filters = query.filters
    return ReadScope(
        tenant=TenantId(query.tenant_id),
        agent=AgentId(query.agent_id),
        purpose=query.purpose,
        principal=principal,
        subject=subject,
        surface=query.consumer_surface,
        classes=frozenset(query.allowed_classes),
        trust_min=TRUSTS[filters.trust_min],
        max_sensitivity=query.max_sensitivity,
        max_age=None if filters.max_age_days is None else round(filters.max_age_days * _DAY),
        require_provenance=filters.require_provenance,
    )


def retrieval_result(result: SearchResult, query: RetrievalQuery) -> RetrievalResult:
    """What the query got. No statement is in it; but provenance is as personal as one, so it is no matter for a log."""
    selected = tuple(_selected(record) for record in result.records)
    codes = dict.fromkeys(code for record in selected for code in record.selection_reason)
    return RetrievalResult(
        trace_id=query.trace_id,
        session_id=query.session_id,
        selected_records=selected,
        selection_reason=tuple(codes),
        excluded_records=sum(result.excluded.values()),
        excluded_by={name: count for name, count in sorted(result.excluded.items()) if count},
        examined=result.examined,
        capped=result.capped,
        over_budget=tuple(OverBudget(record_id=each.id, tokens=each.tokens) for each in result.skipped),
        used_tokens=result.used_tokens,
        policy_version=result.policy_version,
        policy_hash=result.policy_hash,
        freshness=_freshness(result.freshness),
        empty=None if result.empty is None else result.empty.value,
    )


def review_of(record: RecalledMemory, history: History, policy: Policy | None = None) -> PoisoningReview:
    """The poisoning review of a record, from what was decided when it was written and since.

    ``policy`` says who owns the record's principal; without it, the principal itself answers. Raises ValueError where
    ``history`` is another record's or does not reach back to the write, and where the record should have waited for a
    review and did not.
    """
    first = next((entry for entry in history.entries if entry.kind in _WRITTEN), None)
    if history.memory_id != record.memory_id or first is None:
        raise ValueError("history does not tell how the record was written")
    principal = None if policy is None else policy.principals.get(record.principal)
    return poisoning_review(
        untrusted=first.trust is Trust.UNTRUSTED,
        policy_influence=influences(first.findings),
        shared=record.visibility is Visibility.SHARED,
        check=ProvenanceCheck(
            source=record.source_uri or record.source_kind.value,
            owner=record.principal if principal is None else principal.owner,
            revision=record.version,
        ),
        record_id=record.memory_id,
        quarantine=_quarantine(history),
    )


def provenance_of(record: RecalledMemory) -> str:
    """What the author gave as provenance, else the source's address, else its first event, else ``unknown``."""
    return record.provenance or record.source_uri or next(iter(record.event_ids), "unknown")


def _selected(record: RecalledMemory) -> SelectedRecord:
    return SelectedRecord(
        record_id=record.memory_id,
        memory_class=record.memory_class,
        trust_level=TRUST_LEVELS[record.trust],
        provenance=provenance_of(record),
        revision=record.version,
        confirmation=record.confirmation,
        score=record.score,
        selection_reason=record.reasons,
        conflicts=record.conflicts,
        policy_version=record.policy_version,
    )


def _freshness(freshness: Freshness) -> ReadFreshness:
    return ReadFreshness(
        log_id=freshness.log_id,
        partition=freshness.partition,
        position=freshness.position,
        lag_ms=freshness.lag,
    )


def _instant(at: Millis) -> datetime:
    return _EPOCH + timedelta(milliseconds=at)


def _quarantine(history: History) -> QuarantineState:
    """Where the last step of a quarantine led; none where the record was accepted at once."""
    steps = [_QUARANTINE[entry.kind] for entry in history.entries if entry.kind in _QUARANTINE]
    return steps[-1] if steps else QuarantineState.NONE
