"""The contracts as documents: ``memory_record``, ``retrieval_query`` and ``retrieval_result``, told apart by ``kind``.

They are what leaves eunoe and what another system may hand in; no vendor's shape. A fourth, ``memory_candidate``, is
what is proposed. `eunoe.client.contract` makes them of what reads really return. Instants are RFC 3339 with offset.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from eunoe.schemas.commands import Answers, EvidenceSpan
from eunoe.schemas.contract.records import MemoryCandidate, RevisionMode
from eunoe.schemas.contract.review import Reviewed, Revision, Text
from eunoe.schemas.values import Confirmation, ConflictPolicy, ExportDeletePolicy, MemoryClass, Sensitivity, Trust

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,64}(?!\n)$")]
"""Of a tenant, agent, purpose or surface. Where the pattern is Python's, ``$`` would let a line feed follow."""
Instant = Annotated[datetime, Meta(tz=True)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Count = Annotated[int, Meta(ge=0)]
Days = Annotated[float, Meta(ge=0.0)]


class TrustLevel(StrEnum):
    """How far a record may be relied on."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


TRUST_LEVELS: Final[Mapping[Trust, TrustLevel]] = {
    Trust.UNTRUSTED: TrustLevel.LOW,
    Trust.ASSERTED: TrustLevel.MEDIUM,
    Trust.VERIFIED: TrustLevel.HIGH,
}
TRUSTS: Final[Mapping[TrustLevel, Trust]] = {level: trust for trust, level in TRUST_LEVELS.items()}


class MemoryRecordDocument(Reviewed, frozen=True, kw_only=True, tag_field="kind", tag="memory_record"):
    """What was remembered, where it comes from, who may read it and how it ends.

    ``key``: what the claim is about, where it has one. ``record_kind``: fact, preference, … of the policy.
    ``confirmation`` tells an observation from a confirmed fact. ``consumer_surfaces`` empty: any surface. Cross-surface
    fields that the read did not tell are null. ``answers``: why it is kept (B3); ``evidence``: places in source events.
    ``policy_version`` decided that it is. ``owner`` in ``provenance_check`` answers for the record.
    """

    record_id: Text
    tenant_id: Name
    memory_class: MemoryClass
    record_kind: Text
    key: Text | None = None
    value: Text
    source: Text
    source_uri: Text | None = None
    event_ids: tuple[Text, ...] = ()
    provenance: Text
    revision: Revision
    trust_level: TrustLevel
    confirmation: Confirmation
    confidence: Share
    sensitivity: Sensitivity
    created_at: Instant
    retention: Text
    producer_agent: Name
    producer_surface: Name | None = None
    consumer_surfaces: tuple[Name, ...] = ()
    scope: Text | None = None
    conflict_policy: ConflictPolicy | None = None
    expires_at: Instant
    export_delete_policy: ExportDeletePolicy | None = None
    conflicts: tuple[Text, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    answers: Answers | None = None
    policy_version: int | None = None


class MemoryCandidateDocument(Reviewed, frozen=True, kw_only=True, tag_field="kind", tag="memory_candidate"):
    """What somebody proposes to remember."""

    tenant_id: Text
    memory_class: Text
    record_kind: Text
    value: Text
    source: Text
    provenance: Text
    confidence: Share
    revision_mode: RevisionMode


class QueryFilters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hard limits: a record outside one of them is never scored."""

    trust_min: TrustLevel = TrustLevel.LOW
    max_age_days: Days | None = None
    require_provenance: bool = False


class RetrievalQuery(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="retrieval_query"
):
    """Who reads what and why. ``allowed_classes`` empty allows none; ``limit`` 0 is legal and returns nothing.

    What is asked for in words is no part of it: a query is memory content, and this document may be logged.
    """

    trace_id: Text
    session_id: Text | None = None
    tenant_id: Name
    principal_id: Name
    agent_id: Name
    purpose: Name
    consumer_surface: Name | None = None
    allowed_classes: tuple[MemoryClass, ...]
    max_sensitivity: Sensitivity | None = None
    filters: QueryFilters = QueryFilters()
    limit: Count
    token_budget: Count | None = None
    as_of: Instant | None = None


class SelectedRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that was handed over. ``selection_reason``: its score's causes, largest first, without words of it."""

    record_id: Text
    memory_class: MemoryClass
    trust_level: TrustLevel
    provenance: Text
    revision: Revision
    confirmation: Confirmation
    score: float
    selection_reason: tuple[Text, ...]
    conflicts: tuple[Text, ...] = ()
    policy_version: Revision


class OverBudget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record that did not fit the token budget, and its size."""

    record_id: Text
    tokens: Count


class ReadFreshness(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the read model was; ``lag_ms`` null where no projector said so."""

    log_id: Text
    partition: Count
    position: Count
    lag_ms: Count | None = None


class RetrievalResult(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="retrieval_result"
):
    """Why these records, which limits fired, how many were dropped.

    ``selection_reason``: the codes of all that was selected. ``excluded_records`` counts within the caller's own scope;
    ``excluded_by``: by the first filter that refused. ``capped``: something below might have ranked among these.
    ``empty``: why nothing could be found, whatever there is. ``policy_version``: of the rules that let this caller
    read; a selected record's own is of those that let it in.
    """

    trace_id: Text
    session_id: Text | None = None
    selected_records: tuple[SelectedRecord, ...]
    selection_reason: tuple[Text, ...]
    excluded_records: Count
    excluded_by: dict[str, Count] = {}
    examined: Count
    capped: bool
    over_budget: tuple[OverBudget, ...] = ()
    used_tokens: Count
    policy_version: Revision
    policy_hash: Text
    freshness: ReadFreshness
    empty: Text | None = None


Document = MemoryRecordDocument | MemoryCandidateDocument | RetrievalQuery | RetrievalResult
DOCUMENTS: Final[tuple[type[Struct], ...]] = (
    MemoryRecordDocument,
    MemoryCandidateDocument,
    RetrievalQuery,
    RetrievalResult,
)

_DECODER: Final = msgspec.json.Decoder(Document)


def parse_document(raw: bytes | str) -> Document:
    """The document in a JSON text. Raises `msgspec.ValidationError`, whose text names the place and may quote it."""
    return _DECODER.decode(raw)


def candidate_document(candidate: MemoryCandidate, record_id: str, revision: int) -> MemoryCandidateDocument:
    """``record_id`` and ``revision``: of the record it would become."""
    review = candidate.review(record_id, revision)
    return MemoryCandidateDocument(
        tenant_id=candidate.tenant_id,
        memory_class=candidate.memory_class,
        record_kind=candidate.kind,
        value=candidate.content,
        source=candidate.source,
        provenance=candidate.provenance,
        confidence=candidate.confidence,
        revision_mode=RevisionMode(candidate.revision_mode),
        **{name: getattr(review, name) for name in Reviewed.__struct_fields__},
    )
