"""What a read gives back: the records, why these, what was left out by which filter, and how fresh the answer is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from eunoe.readmodels.recall.budget import Skipped
from eunoe.readmodels.recall.explain import Contribution
from eunoe.schemas.commands import Answers, EvidenceSpan, SourceRef
from eunoe.schemas.ids import AgentId, LogId, MemoryId, Millis, Offset, Partition, PrincipalName
from eunoe.schemas.values import (
    Confirmation,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Trust,
    Visibility,
)


class Empty(StrEnum):
    """Why a search could find nothing at all, whatever there is."""

    NO_WORDS = "no_words"
    ONLY_STOP_WORDS = "only_stop_words"


class Warned(StrEnum):
    """What the caller should know about its query."""

    QUERY_CLIPPED = "query_clipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """A record in use. ``score`` is the sum of ``terms``; both are 0 and empty in an exact read. Instants in ms.

    ``reasons``: codes of why it was selected, largest cause first; ``exact_read`` where it was asked for by its id.
    ``conflicts``: the records on the same claim that say otherwise and are in use too, as far as this caller's scope
    reaches. A ``proposed`` record is nobody's word yet: never hand it on as a fact. ``derived_from``: what it
    was built on.
    """

    memory_id: MemoryId
    version: int
    statement: str
    score: float
    terms: tuple[Contribution, ...]
    reasons: tuple[str, ...]
    conflicts: tuple[MemoryId, ...]
    kind: str
    memory_class: MemoryClass
    claim_key: str | None
    agent: AgentId
    visibility: Visibility
    purposes: tuple[str, ...]
    surfaces: tuple[str, ...]
    source_kind: SourceKind
    source_uri: str | None
    event_ids: tuple[str, ...]
    provenance: str | None
    principal: PrincipalName
    trust: Trust
    confirmation: Confirmation
    confidence: float
    sensitivity: Sensitivity
    retention: str | None
    observed_at: Millis | None
    created_at: Millis
    valid_from: Millis | None
    valid_until: Millis | None
    expires_at: Millis
    external_id: str | None
    policy_version: int
    producer_surface: str | None
    scope: str | None
    export_delete_policy: ExportDeletePolicy
    conflict_policy: ConflictPolicy | None = None
    evidence: tuple[EvidenceSpan, ...] = ()
    answers: Answers | None = None
    session_id: str | None = None
    derived_from: tuple[SourceRef, ...] = ()

    @property
    def rollback_ref(self) -> str:
        """What a withdrawal names, and the search for the reads that were given it."""
        return f"{self.memory_id}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How far the read model was. ``position``: the next offset of ``memory-lifecycle`` it will fold.

    ``log_time``: the log time of the last record folded. ``lag`` (ms): how long ago its projector last stood at the end
    of the log; None where no projector said so.
    """

    log_id: LogId
    partition: Partition
    position: Offset
    log_time: Millis | None
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """``excluded``: of the ``examined`` records of the scope, how many each hard filter refused first.

    ``capped``: a posting list was not read to its end and something below might have ranked among these. ``skipped``
    did not fit the budget; ``used_tokens`` is what ``records`` cost. ``passes``: which ran after the first.
    ``token`` proves how much of the log is in here. ``policy_version``, ``policy_hash`` and ``control_offset``: the
    rules that let this caller read, up to ``max_sensitivity``. ``trace_id`` names the trace of this read,
    ``session_id`` is the caller's; ``traced`` says whether the trace was taken (False: no room for it, or nobody keeps
    traces here).
    """

    records: tuple[RecalledMemory, ...]
    excluded: Mapping[str, int]
    examined: int
    capped: bool
    skipped: tuple[Skipped, ...]
    used_tokens: int
    freshness: Freshness
    token: str
    policy_version: int
    policy_hash: str
    control_offset: int
    max_sensitivity: Sensitivity
    empty: Empty | None = None
    warnings: tuple[Warned, ...] = ()
    passes: tuple[str, ...] = ()
    trace_id: str | None = None
    session_id: str | None = None
    traced: bool = False
