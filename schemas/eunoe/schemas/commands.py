"""What can be asked of eunoe: the commands on ``memory-events``, imperative, frozen.

A command carries clear fields that routing and policy need; whatever could identify a person is inside the sealed
body (`MemoryBody`). Instants are milliseconds since the epoch, UTC (`Millis`). Whoever sends a command is named by its
envelope, never by the command.
"""

from typing import Annotated

from msgspec import Meta, Struct

from eunoe.schemas.ids import (
    AgentId,
    Bucket,
    KeyId,
    MemoryId,
    Millis,
    Pseudonym,
    TenantId,
)
from eunoe.schemas.restored import Proof, Restored
from eunoe.schemas.values import (
    Circumstance,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

Confidence = Annotated[float, Meta(ge=0.0, le=1.0)]
"""Calibrated belief of the source, 0 to 1. NaN fails both comparisons and is refused."""
Version = Annotated[int, Meta(ge=0)]
"""0 means: the record does not exist yet."""


Incarnation = Annotated[int, Meta(ge=1)]
"""Which of the tenants of this name is meant: a forgotten tenant's name that is readmitted stands for another one.

Whoever sends a command took it from the tenant's keys, with the pseudonyms and hashes in the command: those of an
earlier incarnation mean nothing in a later one."""


class EvidenceSpan(Struct, frozen=True, kw_only=True, gc=False):
    """Characters ``start`` to ``end`` (exclusive) of the source event that the statement rests on."""

    event_id: str
    start: int
    end: int


class Answers(Struct, frozen=True, kw_only=True, gc=False):
    """Why this is worth keeping (B3): the task it will help, why the source cannot be asked again, how the gain shows,
    how it may go stale, who may read it, whether somebody has to confirm it, when it goes, how it is corrected.

    Sealed. A kind's policy says which of them a record must carry.
    """

    future_use: str | None = None
    why_not_ask_again: str | None = None
    gain_measure: str | None = None
    staleness: str | None = None
    readers: str | None = None
    confirmation: str | None = None
    deletion: str | None = None
    correction: str | None = None


class MemoryBody(Struct, frozen=True, kw_only=True, gc=False):
    """The part of a record that is sealed. Its Avro form is what ``Draft.body`` encrypts.

    ``subject`` and ``about`` are the plain names behind the draft's pseudonyms, so that a record can be exported to an
    installation in which they have others. No reader is shown them, and no detector looks at them. ``session_id``: the
    conversation in which it was said. ``salt``: of the signature that came with it from another installation
    (`eunoe.schemas.restoring`).
    """

    statement: str
    claim_key: str | None = None
    provenance: str | None = None
    source_uri: str | None = None
    event_ids: tuple[str, ...] = ()
    evidence: tuple[EvidenceSpan, ...] = ()
    answers: Answers | None = None
    external_id: str | None = None
    session_id: str | None = None
    subject: str | None = None
    about: tuple[str, ...] = ()
    salt: str = ""


class SourceRef(Struct, frozen=True, kw_only=True, gc=False):
    """A record that another was built on, at the version in which its author saw it."""

    memory_id: MemoryId
    version: Version


class SeenRef(Struct, frozen=True, kw_only=True, gc=False):
    """A record at the version in which whoever decides about it saw it."""

    memory_id: MemoryId
    version: Version


class Draft(Struct, frozen=True, kw_only=True, gc=False):
    """A record as its author proposes it: the clear fields and the sealed body.

    ``expires_at`` is absolute and set before sealing, for the data key serves one month of it. ``ttl`` (ms) is
    what the author asked for, or None where the author named the instant itself: a retry computes another
    ``expires_at`` from the same ``ttl`` and is still the same request. ``reference``: the statement only says which
    record of which system to look up (B5), and ``source_uri`` or ``external_id`` names it. ``derived_from``: the
    records it was built on, and with which it goes; such a record has a key of its own.
    """

    memory_id: MemoryId
    agent: AgentId
    subject: Pseudonym
    generation: int
    about: tuple[Pseudonym, ...] = ()
    derived_from: tuple[SourceRef, ...] = ()
    purposes: tuple[str, ...]
    visibility: Visibility
    surfaces: tuple[str, ...] = ()
    producer_surface: str | None = None
    scope: str | None = None
    kind: str
    memory_class: MemoryClass
    retention: str | None = None
    source_kind: SourceKind
    observed_at: Millis | None = None
    confidence: Confidence
    sensitivity: Sensitivity
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    ttl: int | None = None
    expires_at: Millis
    conflict_policy: ConflictPolicy = ConflictPolicy.POLICY_DECIDES
    circumstances: tuple[Circumstance, ...] = ()
    reference: bool = False
    export_delete_policy: ExportDeletePolicy = ExportDeletePolicy.OPERATOR_ONLY
    embedding_version: str | None = None
    key_id: KeyId
    body_version: int
    body: bytes


class IssueKey(Struct, frozen=True, kw_only=True, gc=False):
    """Make the data key of a subject's bucket; without a subject, the tenant's access key of a day (the bucket is a
    UTC day); without either, open the tenant."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym | None = None
    bucket: Bucket | None = None


class RememberMemory(Struct, frozen=True, kw_only=True, gc=False):
    tenant: TenantId
    incarnation: Incarnation = 1
    draft: Draft
    expected_version: Version = 0
    idempotency: bytes


class CorrectMemory(Struct, frozen=True, kw_only=True, gc=False):
    """A new record in place of ``supersedes``, which must still be at ``expected_version``."""

    tenant: TenantId
    incarnation: Incarnation = 1
    draft: Draft
    supersedes: MemoryId
    expected_version: Version
    idempotency: bytes


class PromoteMemory(Struct, frozen=True, kw_only=True, gc=False):
    """A reviewer lets a quarantined record into use. ``replaces``: what it takes the place of, as the reviewer saw it;
    whatever else says otherwise stays, in conflict with it."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    replaces: SeenRef | None = None
    idempotency: bytes


class RejectMemory(Struct, frozen=True, kw_only=True, gc=False):
    """A reviewer keeps a quarantined record out for good. ``reason`` is a code, never free text."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    reason: str
    idempotency: bytes


class ConfirmMemory(Struct, frozen=True, kw_only=True, gc=False):
    """A person stands behind a proposed statement."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    idempotency: bytes


class ResolveConflict(Struct, frozen=True, kw_only=True, gc=False):
    """The answer to an open conflict: this record holds, the others it contradicts give way. ``over``: all of these,
    each as it was seen; empty only where the time of every other side is over."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    over: tuple[SeenRef, ...] = ()
    idempotency: bytes


class RetractMemory(Struct, frozen=True, kw_only=True, gc=False):
    """The author, or a reviewer, takes an active or quarantined record back. ``reason``: a code, never free text."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    idempotency: bytes
    reason: str | None = None


class SuspendMemory(Struct, frozen=True, kw_only=True, gc=False):
    """A reviewer sends a record that is in use back to waiting for a person. ``reasons``: codes, never free text."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    reasons: tuple[str, ...]
    idempotency: bytes


class ExpireMemory(Struct, frozen=True, kw_only=True, gc=False):
    """From the sweeper: the record's ``expires_at`` has passed. Judged again, for the sweeper's clock may be wrong."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    expected_version: Version
    expires_at: Millis


class ForgetMemory(Struct, frozen=True, kw_only=True, gc=False):
    """``subject``: whose it must be, where that is said; who only acts for the person says it."""

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    subject: Pseudonym | None = None
    idempotency: bytes


class ForgetSubject(Struct, frozen=True, kw_only=True, gc=False):
    """Close the subject's generation: one event, however many records there are."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    idempotency: bytes


class ReadmitSubject(Struct, frozen=True, kw_only=True, gc=False):
    """Allow new records on a forgotten subject, in a new generation. Nothing old comes back."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    idempotency: bytes


class WithdrawForgetting(Struct, frozen=True, kw_only=True, gc=False):
    """Take back a request to forget that was not carried out yet."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    idempotency: bytes


class CompleteForgetting(Struct, frozen=True, kw_only=True, gc=False):
    """From the sweeper: the request's ``due_at`` has passed. Judged again, for the sweeper's clock may be wrong."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    generation: int
    due_at: Millis


class HoldSubject(Struct, frozen=True, kw_only=True, gc=False):
    """A legal hold: nothing of the person is read or destroyed until it is lifted. Somebody looks at ``review_at``."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    review_at: Millis
    idempotency: bytes


class LiftHold(Struct, frozen=True, kw_only=True, gc=False):
    """The hold is over; an erasure that it deferred runs now."""

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym
    idempotency: bytes


class ForgetTenant(Struct, frozen=True, kw_only=True, gc=False):
    """End the tenant: everything of everybody in it, its own keys too. Two people say so."""

    tenant: TenantId
    incarnation: Incarnation = 1


class CompleteTenantForgetting(Struct, frozen=True, kw_only=True, gc=False):
    """From the sweeper: the last legal hold that deferred it was lifted. Judged again."""

    tenant: TenantId
    incarnation: Incarnation = 1


class ReadmitTenant(Struct, frozen=True, kw_only=True, gc=False):
    """Let the name of a forgotten tenant stand for a new one that starts empty. ``incarnation``: the forgotten one."""

    tenant: TenantId
    incarnation: Incarnation = 1


class RecordExport(Struct, frozen=True, kw_only=True, gc=False):
    """Write down that all that is held on a person, or with ``subject`` None on the whole tenant, is handed out.

    ``identity_check``: how and by whom it was checked who asks. It stays in the clear for ever and names no person whom
    memory is about. Nothing is read by whoever has no outcome of it.
    """

    tenant: TenantId
    incarnation: Incarnation = 1
    subject: Pseudonym | None = None
    identity_check: str
    idempotency: bytes


class RestoreMemory(Struct, frozen=True, kw_only=True, gc=False):
    """Bring in one fact from an export: with ``draft`` the beginning of a record, without it a later change.

    Without a proof that holds here a record waits for a person, and a change is refused.
    """

    tenant: TenantId
    incarnation: Incarnation = 1
    memory_id: MemoryId
    draft: Draft | None = None
    restored: Restored
    proof: Proof | None = None
    idempotency: bytes


Command = (
    IssueKey
    | RememberMemory
    | CorrectMemory
    | PromoteMemory
    | RejectMemory
    | ConfirmMemory
    | ResolveConflict
    | RetractMemory
    | SuspendMemory
    | ExpireMemory
    | ForgetMemory
    | ForgetSubject
    | ReadmitSubject
    | WithdrawForgetting
    | CompleteForgetting
    | HoldSubject
    | LiftHold
    | RecordExport
    | RestoreMemory
    | ForgetTenant
    | CompleteTenantForgetting
    | ReadmitTenant
)
