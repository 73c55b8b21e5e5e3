"""A memory as its author has it: plain, with a name for the subject and a duration for its life."""

from collections.abc import Sequence
from dataclasses import dataclass

from eunoe.crypto.buckets import month_bucket, own_bucket
from eunoe.crypto.keys import DataCipher, TenantKeys
from eunoe.producers.errors import TooLarge
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Draft, EvidenceSpan, MemoryBody
from eunoe.schemas.ids import AgentId, Bucket, MemoryId, Millis, TenantId
from eunoe.schemas.policy import Limits, Policy
from eunoe.schemas.values import (
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

_UNKNOWN_KIND_TTL = 86_400_000
"""A kind that the policy does not know is refused by the decider, for which the body must be sealed all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """``subject`` None is the tenant itself. Of ``ttl`` (ms) and ``expires_at`` at most one; neither: the policy's
    default for the kind. Instants are ms."""

    tenant: TenantId
    agent: AgentId
    statement: str
    purposes: Sequence[str]
    source_kind: SourceKind
    subject: str | None = None
    about: Sequence[str] = ()
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
    observed_at: Millis | None = None
    confidence: float = 1.0
    sensitivity: Sensitivity = Sensitivity.PERSONAL
    justification: str | None = None
    retention: str | None = None
    ttl: int | None = None
    expires_at: Millis | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    conflict_policy: ConflictPolicy = ConflictPolicy.POLICY_DECIDES
    export_delete_policy: ExportDeletePolicy = ExportDeletePolicy.OPERATOR_ONLY
    embedding_version: str | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A proposal with what sealing needs to know: the record's id, how long it lives, and the bucket of its key."""

    proposal: Proposal
    memory_id: MemoryId
    ttl: int | None
    expires_at: Millis
    bucket: Bucket


def place(proposal: Proposal, memory_id: MemoryId, policy: Policy | None, now: Millis) -> Placed:
    rule = None if policy is None else policy.kinds.get(proposal.kind)
    if proposal.expires_at is not None:
        ttl, expires_at = None, proposal.expires_at
    else:
        ttl = proposal.ttl or (_UNKNOWN_KIND_TTL if rule is None else rule.ttl_default)
        expires_at = Millis(now + ttl)
    alone = bool(proposal.about) or (rule is not None and rule.own_bucket)
    bucket = own_bucket(memory_id) if alone else month_bucket(expires_at)
    return Placed(proposal, memory_id, ttl, expires_at, bucket)


def body_of(proposal: Proposal, limits: Limits) -> bytes:
    """What is sealed. Raises `TooLarge` above the policy's limits, before anything is sent."""
    if len(proposal.statement) > limits.statement_chars:
        raise TooLarge("statement", limits.statement_chars, len(proposal.statement))
    body = BODIES.encode(
        MemoryBody(
            statement=proposal.statement,
            claim_key=proposal.claim_key,
            provenance=proposal.provenance,
            source_uri=proposal.source_uri,
            event_ids=tuple(proposal.event_ids),
            evidence=tuple(proposal.evidence),
            justification=proposal.justification,
            external_id=proposal.external_id,
        )
    )
    if len(body) > limits.body_bytes:
        raise TooLarge("body", limits.body_bytes, len(body))
    return body


def draft_of(placed: Placed, body: bytes, keys: TenantKeys, cipher: DataCipher) -> Draft:
    """The record as it travels. ``cipher`` serves the subject's open generation and the bucket."""
    proposal, version = placed.proposal, 1
    return Draft(
        memory_id=placed.memory_id,
        agent=proposal.agent,
        subject=keys.pseudonym(proposal.subject),
        generation=cipher.meta.generation,
        about=tuple(keys.pseudonym(each) for each in proposal.about),
        purposes=tuple(proposal.purposes),
        visibility=proposal.visibility,
        surfaces=tuple(proposal.surfaces),
        producer_surface=proposal.producer_surface,
        scope=proposal.scope,
        kind=proposal.kind,
        memory_class=proposal.memory_class,
        retention=proposal.retention,
        source_kind=proposal.source_kind,
        observed_at=proposal.observed_at,
        confidence=proposal.confidence,
        sensitivity=proposal.sensitivity,
        valid_from=proposal.valid_from,
        valid_until=proposal.valid_until,
        ttl=placed.ttl,
        expires_at=placed.expires_at,
        conflict_policy=proposal.conflict_policy,
        export_delete_policy=proposal.export_delete_policy,
        embedding_version=proposal.embedding_version,
        key_id=cipher.key_id,
        body_version=version,
        body=cipher.seal(placed.memory_id, version, body),
    )
