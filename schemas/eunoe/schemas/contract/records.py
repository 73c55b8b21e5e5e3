"""`MemoryRecord`, `MemoryCandidate` and `MemoryLookup`: memory for direct use, without a stack.

Each is checked and trimmed when it is made; the texts of the errors are part of the contract (`checks`). Field by
field, in the order of definition, so the first wrong one is the one that is named.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from eunoe.schemas.contract import checks
from eunoe.schemas.contract.review import (
    UNTRUSTED_SOURCES,
    PoisoningReview,
    ProvenanceCheck,
    QuarantineState,
    poisoning_review,
)
from eunoe.schemas.values import SourceKind

UNKNOWN: Final = "unknown"
"""The provenance of a record that names none."""

SOURCES: Final = {
    "trusted_profile": SourceKind.USER_EXPLICIT,
    "trusted_service": SourceKind.SYSTEM,
    "session_state": SourceKind.TOOL,
    **{kind.value: kind for kind in SourceKind},
}
"""The sources this contract knows and what they are to eunoe."""


def source_kind(source: str) -> SourceKind:
    """What a source is to eunoe. One that nobody knows is a third party's, and so untrusted (C13)."""
    return SOURCES.get(source, SourceKind.THIRD_PARTY)


class RevisionMode(StrEnum):
    """Whether a candidate stands beside what is known, or in its place at the next revision."""

    APPEND = "append"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """``revision`` counts from 1. ``owner`` empty: its tenant answers for it.

    ``quarantine``: whether a person let it in; only asked of a record that needs that (see `review`). ``derived_from``:
    ids of the records it was built on.
    """

    memory_id: str
    tenant_id: str
    memory_class: str
    kind: str
    content: str
    source: str
    confidence: float
    provenance: str = UNKNOWN
    revision: int = 1
    owner: str = ""
    policy_influence: bool = False
    quarantine: QuarantineState = QuarantineState.QUARANTINED
    derived_from: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in ("memory_id", "tenant_id", "memory_class", "kind", "content", "source", "provenance"):
            object.__setattr__(self, field, checks.text(getattr(self, field), "Memory record", field))
        object.__setattr__(self, "confidence", checks.confidence(self.confidence, "Memory record"))
        object.__setattr__(self, "revision", checks.revision(self.revision, "Memory record"))

    @property
    def review(self) -> PoisoningReview:
        untrusted = source_kind(self.source) in UNTRUSTED_SOURCES
        return poisoning_review(
            untrusted=untrusted,
            policy_influence=self.policy_influence,
            shared=True,
            check=ProvenanceCheck(source=self.source, owner=self.owner or self.tenant_id, revision=self.revision),
            record_id=self.memory_id,
            quarantine=self.quarantine if untrusted or self.policy_influence else QuarantineState.NONE,
        )

    @property
    def usable(self) -> bool:
        """Whether a lookup may give it: it needed no review, or a review released it."""
        return self.review.quarantine_state in {QuarantineState.NONE, QuarantineState.RELEASED}


@dataclass(frozen=True, slots=True)
class MemoryCandidate:
    """What somebody proposes to remember. A candidate that needs a review is always waiting for it."""

    tenant_id: str
    memory_class: str
    kind: str
    content: str
    source: str
    confidence: float
    provenance: str
    revision_mode: str = RevisionMode.APPEND.value
    owner: str = ""
    policy_influence: bool = False

    def __post_init__(self) -> None:
        for field in ("tenant_id", "memory_class", "kind", "content", "source", "provenance"):
            object.__setattr__(self, field, checks.text(getattr(self, field), "Memory candidate", field))
        object.__setattr__(self, "revision_mode", _revision_mode(self.revision_mode))
        object.__setattr__(self, "confidence", checks.confidence(self.confidence, "Memory candidate"))

    def review(self, record_id: str, revision: int) -> PoisoningReview:
        """The seven fields, for the record it would become."""
        return self.as_record(record_id, revision).review

    def as_record(self, record_id: str, revision: int) -> MemoryRecord:
        return MemoryRecord(
            memory_id=record_id,
            tenant_id=self.tenant_id,
            memory_class=self.memory_class,
            kind=self.kind,
            content=self.content,
            source=self.source,
            confidence=self.confidence,
            provenance=self.provenance,
            revision=revision,
            owner=self.owner,
            policy_influence=self.policy_influence,
        )


@dataclass(frozen=True, slots=True)
class MemoryLookup:
    """What is asked of a store. ``limit`` 0 is legal and returns nothing."""

    query: str
    tenant_id: str
    limit: int = 3

    def __post_init__(self) -> None:
        for field in ("query", "tenant_id"):
            object.__setattr__(self, field, checks.text(getattr(self, field), "Memory lookup", field))
        object.__setattr__(self, "limit", checks.limit(self.limit, "Memory lookup"))


def _revision_mode(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("Memory candidate revision mode must be a string")
    mode = value.strip()
    if mode not in set(RevisionMode):
        raise ValueError(f"Memory candidate revision mode is not supported: {mode}")
    return mode
