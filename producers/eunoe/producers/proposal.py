"""A memory as its author has it, and every command's circumstances: plain values, checked where they are sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from eunoe.schemas.commands import Answers, Draft, EvidenceSpan, SourceRef
from eunoe.schemas.ids import AgentId, Bucket, CommandId, MemoryId, Millis, TenantId
from eunoe.schemas.values import (
    Circumstance,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

Instant = datetime | Millis
"""With an offset; or milliseconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What goes with every command.

    ``idempotency_key``: the same key, the same request; None is a request of its own. ``command_id``: that of an
    earlier attempt, when this is a retry of it. ``causation`` and ``correlation`` stay on the log in the clear.
    ``session_id``: the conversation that it is part of, as reads name it; the log has it keyed under the tenant.
    """

    idempotency_key: str | None = None
    command_id: CommandId | None = None
    causation: str | None = None
    correlation: str | None = None
    traceparent: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The fields of a line of `eunoe ingest` (DESIGN §10) as Python values.

    ``subject`` None is the tenant itself. Every record ends: exactly one of ``ttl`` (a number is ms) and ``expires_at``
    must be given. ``session_id`` is sealed with the text. ``derived_from``: the records it was built on, and with which
    it goes.
    """

    tenant: TenantId
    agent: AgentId
    statement: str
    purposes: Sequence[str]
    source_kind: SourceKind
    subject: str | None = None
    about: Sequence[str] = ()
    derived_from: Sequence[SourceRef] = ()
    visibility: Visibility = Visibility.AGENT
    surfaces: Sequence[str] = ()
    producer_surface: str | None = None
    scope: str | None = None
    kind: str = "fact"
    memory_class: MemoryClass = MemoryClass.LONG_TERM
    claim_key: str | None = None
    source_uri: str | None = None
    event_ids: Sequence[str] = ()
    provenance: str | None = None
    evidence: Sequence[EvidenceSpan] = ()
    observed_at: Instant | None = None
    confidence: float = 1.0
    sensitivity: Sensitivity = Sensitivity.PERSONAL
    answers: Answers | None = None
    circumstances: Sequence[Circumstance] = ()
    reference: bool = False
    retention: str | None = None
    ttl: timedelta | int | None = None
    expires_at: Instant | None = None
    valid_from: Instant | None = None
    valid_until: Instant | None = None
    conflict_policy: ConflictPolicy = ConflictPolicy.POLICY_DECIDES
    export_delete_policy: ExportDeletePolicy = ExportDeletePolicy.OPERATOR_ONLY
    embedding_version: str | None = None
    external_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A checked proposal that only wants keys. ``draft`` is complete but for what they give: subject and about as
    pseudonyms, generation, key id and sealed body."""

    tenant: TenantId
    subject: str | None
    about: tuple[str, ...]
    bucket: Bucket
    body: bytes
    draft: Draft

    @property
    def memory_id(self) -> MemoryId:
        return self.draft.memory_id
