"""What was decided: the facts on ``memory-lifecycle``, past tense, frozen, kept for ever.

Each command has exactly one outcome fact. A fact never needs a key to be folded: what is sealed stays sealed.
"""

from enum import StrEnum

from msgspec import Struct

from eunoe.schemas.commands import Draft, Version
from eunoe.schemas.ids import (
    Bucket,
    CommandId,
    EventId,
    KeyId,
    LogId,
    MemoryId,
    MessageId,
    Millis,
    Offset,
    PrincipalName,
    Pseudonym,
    SecretId,
    TenantId,
)
from eunoe.schemas.values import Confirmation, Trust, Verdict


class Reason(StrEnum):
    """Why a command was refused, or a record quarantined. Codes are part of the contract; texts are not."""

    # who asks
    NOT_ALLOWED = "not_allowed"
    FOREIGN_TENANT = "foreign_tenant"
    SOURCE_NOT_ALLOWED = "source_not_allowed"
    SIGNATURE_REQUIRED = "signature_required"
    OWN_MEMORY = "own_memory"
    WRITES_OFF = "writes_off"
    READS_OFF = "reads_off"
    RATE_LIMITED = "rate_limited"
    # what is written
    UNKNOWN_PURPOSE = "unknown_purpose"
    UNKNOWN_KIND = "unknown_kind"
    UNKNOWN_SURFACE = "unknown_surface"
    CLASS_NOT_ALLOWED = "class_not_allowed"
    INVALID_FIELD = "invalid_field"
    EMPTY_STATEMENT = "empty_statement"
    TOO_LONG = "too_long"
    NO_PROVENANCE = "no_provenance"
    EXPIRY_MISSING = "expiry_missing"
    EXPIRY_PASSED = "expiry_passed"
    EXPIRY_TOO_FAR = "expiry_too_far"
    EXPIRY_SKEWED = "expiry_skewed"
    OBSERVED_IN_FUTURE = "observed_in_future"
    # keys
    TENANT_NOT_OPEN = "tenant_not_open"
    UNKNOWN_KEY = "unknown_key"
    WRONG_KEY = "wrong_key"
    UNREADABLE_BODY = "unreadable_body"
    SUBJECT_CLOSED = "subject_closed"
    TENANT_FORGOTTEN = "tenant_forgotten"
    # who may destroy, and when
    ERASED = "erased"
    SUBJECT_RESTRICTED = "subject_restricted"
    TENANT_RESTRICTED = "tenant_restricted"
    ON_HOLD = "on_hold"
    LIMIT_REACHED = "limit_reached"
    # what it was built on
    LINEAGE = "lineage"
    # what is known
    VERSION_CONFLICT = "version_conflict"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    NOT_FOUND = "not_found"
    OTHER_SCOPE = "other_scope"
    WRONG_STATE = "wrong_state"
    NOT_DUE = "not_due"
    # why a record waits for a person
    UNTRUSTED_SOURCE = "untrusted_source"
    # what a detector found (each a class of rules; what follows from it is policy)
    INSTRUCTION = "instruction"
    POLICY_INFLUENCE = "policy_influence"
    EXFILTRATION = "exfiltration"
    PRIVILEGE = "privilege"
    ROUTING = "routing"
    SECRET = "secret"
    FORBIDDEN_DATA = "forbidden_data"
    PERSONAL_DATA = "personal_data"
    HIDDEN_PROFILE = "hidden_profile"
    DERIVED_FROM_MEMORY = "derived_from_memory"
    DETECTED = "detected"
    DETECTOR_FAILED = "detector_failed"
    # what speaks against keeping it
    CIRCUMSTANCE = "circumstance"
    PREFER_REFERENCE = "prefer_reference"
    UNJUSTIFIED = "unjustified"
    PURPOSE_SENSITIVITY = "purpose_sensitivity"
    # what it says against what is known
    DUPLICATE_MEMORY = "duplicate_memory"
    CONTRADICTS = "contradicts"
    CONFLICT_REVIEW = "conflict_review"
    NO_CONFLICT = "no_conflict"
    SENSITIVITY_LOWERED = "sensitivity_lowered"
    CLAIM_CHANGED = "claim_changed"
    # review
    CONFIRMATION_NEEDED = "confirmation_needed"
    WAITING_PERIOD = "waiting_period"
    SAME_OWNER = "same_owner"
    # imports
    UNPROVEN_IMPORT = "unproven_import"


class Authorization(Struct, frozen=True, kw_only=True, gc=False):
    """The Ed25519 signature behind a decision that needs one, with the exact bytes it signs, for ever checkable."""

    secret_id: SecretId
    signed: bytes
    signature: bytes


class Origin(Struct, frozen=True, kw_only=True, gc=False):
    """Where a fact that was brought in from an export was decided first. ``signer`` vouched for it."""

    log_id: LogId
    signer: SecretId
    decided_at: Millis
    principal: PrincipalName
    event_id: EventId
    command_id: CommandId
    policy_version: int
    policy_hash: str


class EventHeader(Struct, frozen=True, kw_only=True, gc=False):
    """What every fact says of its origin.

    ``input_offset`` is the command's offset on the same partition of ``memory-events`` (-1 for the genesis record);
    ``decided_at`` is log time, never a worker's clock; ``control_offset`` is how far the decider had read
    ``memory-control``. ``session`` (16 bytes, keyed): the conversation that the command was part of. ``idempotency``
    (16 bytes, keyed) and ``payload_digest`` (keyed) tell a retry from a reuse.
    """

    event_id: EventId
    command_id: CommandId
    message_id: MessageId
    tenant: TenantId
    principal: PrincipalName
    input_offset: Offset
    decided_at: Millis
    policy_version: int
    policy_hash: str
    control_offset: Offset
    causation: str | None = None
    correlation: str | None = None
    session: bytes | None = None
    idempotency: bytes | None = None
    payload_digest: bytes | None = None
    authorization: Authorization | None = None
    origin: Origin | None = None

    @property
    def said(self) -> "EventHeader | Origin":
        """Who said so when, under which policy, as readers are told: there where it was decided first."""
        return self.origin or self


class SubjectRef(Struct, frozen=True, kw_only=True, gc=False):
    subject: Pseudonym
    generation: int


class SupersededRef(Struct, frozen=True, kw_only=True, gc=False):
    """The record that gives way, and its version after it has."""

    memory_id: MemoryId
    version: Version


class WithdrawnRef(Struct, frozen=True, kw_only=True, gc=False):
    """A record that goes because of what it was built on, and its version after it has. Its key is destroyed."""

    memory_id: MemoryId
    version: Version


class ConflictRef(Struct, frozen=True, kw_only=True, gc=False):
    """A record that says otherwise and stays active, and its version after the conflict was noted on it."""

    memory_id: MemoryId
    version: Version


class Finding(Struct, frozen=True, kw_only=True, gc=False):
    """What a detector found, by class of rules and never by text, and what the policy made of it."""

    detector: str
    rule: str
    verdict: Verdict


class PartitionOpened(Struct, frozen=True, kw_only=True, gc=False):
    """The genesis record at offset 0 of every partition: which log this is, and how many partitions it has."""

    log_id: LogId
    partition: int
    partitions: int


class KeyIssued(Struct, frozen=True, kw_only=True, gc=False):
    """``key_id`` serves (subject, generation, bucket); without a subject it is the access key of the day that
    ``bucket`` names, and without a bucket the tenant key.

    ``root_key_id`` names the subject root. ``created`` is False where the key was there already: the same answer to
    another asker.
    """

    incarnation: int
    subject: Pseudonym | None = None
    generation: int = 0
    bucket: Bucket | None = None
    key_id: KeyId
    root_key_id: KeyId | None = None
    created: bool


class MemoryAccepted(Struct, frozen=True, kw_only=True, gc=False):
    """A new active record at version 1; with ``supersedes``, the old one gave way in the same moment.

    ``settled_by`` names the signals by which it beat a record that it contradicts (empty where the author named the
    old one); ``conflicts_with`` those it neither beats nor gives way to: all stay active, marked as in conflict.
    ``unnamed``: those of ``conflicts_with`` that the author is not cleared for: its outcome does not name them.
    ``claim_changed``: its author corrected a record of their own and made another claim of it. ``withdrawn``: the
    records that were built on the one that gave way. ``about``: everybody it concerns besides its subject; those whom
    the records in ``draft.derived_from`` concern are among them. ``owner``: whose its author was.
    """

    draft: Draft
    about: tuple[SubjectRef, ...] = ()
    incarnation: int
    owner: str = ""
    trust: Trust
    confirmation: Confirmation
    content_hash: bytes
    claim_ref: bytes | None = None
    supersedes: SupersededRef | None = None
    conflicts_with: tuple[ConflictRef, ...] = ()
    unnamed: tuple[MemoryId, ...] = ()
    settled_by: tuple[str, ...] = ()
    claim_changed: bool = False
    findings: tuple[Finding, ...] = ()
    withdrawn: tuple[WithdrawnRef, ...] = ()


class MemoryQuarantined(Struct, frozen=True, kw_only=True, gc=False):
    """A new record that no reader sees until a person promotes it. ``supersedes`` names what it would replace then,
    ``supersedes_version`` the version in which its author saw that (0: unknown here).

    Nobody may promote it before ``reviewable_at``, the end of its waiting period. ``policy_influence``: it would
    change rules, permissions or routing. ``conflicts_with``: the active records that say otherwise; ``unnamed`` and
    ``owner`` as in `MemoryAccepted`.
    """

    draft: Draft
    about: tuple[SubjectRef, ...] = ()
    incarnation: int
    owner: str = ""
    trust: Trust
    confirmation: Confirmation
    content_hash: bytes
    claim_ref: bytes | None = None
    supersedes: MemoryId | None = None
    supersedes_version: Version = 0
    reasons: tuple[Reason, ...]
    policy_influence: bool = False
    reviewable_at: Millis = Millis(0)
    conflicts_with: tuple[MemoryId, ...] = ()
    unnamed: tuple[MemoryId, ...] = ()
    findings: tuple[Finding, ...] = ()


class MemoryPromoted(Struct, frozen=True, kw_only=True, gc=False):
    """A person let it into use. ``conflicts_with`` (what it contradicts and does not replace), ``unnamed`` (of the
    reviewer) and ``withdrawn`` as in `MemoryAccepted`."""

    memory_id: MemoryId
    version: Version
    trust: Trust
    supersedes: SupersededRef | None = None
    conflicts_with: tuple[ConflictRef, ...] = ()
    unnamed: tuple[MemoryId, ...] = ()
    withdrawn: tuple[WithdrawnRef, ...] = ()


class MemoryRejected(Struct, frozen=True, kw_only=True, gc=False):
    """A person kept it out for good. ``withdrawn``: what was built on it while it was in use, before it had to wait."""

    memory_id: MemoryId
    version: Version
    reason: str
    withdrawn: tuple[WithdrawnRef, ...] = ()


class MemoryConfirmed(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class MemoryRetracted(Struct, frozen=True, kw_only=True, gc=False):
    """``reason``: a code, where whoever took it back gave one (``policy.`` and why the policy no longer allows it).
    ``withdrawn``: the records that were built on it."""

    memory_id: MemoryId
    version: Version
    reason: str | None = None
    withdrawn: tuple[WithdrawnRef, ...] = ()


class MemorySuspended(Struct, frozen=True, kw_only=True, gc=False):
    """It was in use, and waits for a person again: no reader sees it until it is promoted. ``reasons``: codes.

    ``reviewable_at`` as in `MemoryQuarantined`.
    ``subject`` and all that follows are the record's own: whoever keeps only what waits knows nothing of it.
    """

    memory_id: MemoryId
    version: Version
    reasons: tuple[str, ...]
    subject: Pseudonym
    generation: int
    about: tuple[SubjectRef, ...] = ()
    claim_ref: bytes | None = None
    expires_at: Millis
    reviewable_at: Millis = Millis(0)


class MemoryExpired(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class MemoryForgotten(Struct, frozen=True, kw_only=True, gc=False):
    """``own_key``: it has a key of its own, which is destroyed; else its sealed text lives as long as its month's.
    ``withdrawn``: the records that were built on it, whatever state they were in."""

    memory_id: MemoryId
    version: Version
    own_key: bool = False
    withdrawn: tuple[WithdrawnRef, ...] = ()


class SubjectForgotten(Struct, frozen=True, kw_only=True, gc=False):
    """The generation is closed; every record of it is unreadable from here on. ``records`` counts them."""

    subject: Pseudonym
    generation: int
    records: int


class SubjectReadmitted(Struct, frozen=True, kw_only=True, gc=False):
    """``generation`` is the new, empty one."""

    subject: Pseudonym
    generation: int


class ForgettingRequested(Struct, frozen=True, kw_only=True, gc=False):
    """From here on nobody reads the person's records, and nothing is destroyed yet.

    ``authorized``: who asked may erase, and only a hold defers it. ``due_at``: when it is carried out without anybody
    saying so again (once no hold stands); None: it waits for a person.
    """

    subject: Pseudonym
    generation: int
    due_at: Millis | None = None
    authorized: bool = False


class ForgettingWithdrawn(Struct, frozen=True, kw_only=True, gc=False):
    """The request is void. ``restricted``: a hold still keeps everybody from reading."""

    subject: Pseudonym
    generation: int
    restricted: bool


class SubjectHeld(Struct, frozen=True, kw_only=True, gc=False):
    """A legal hold on the open generation: nobody reads, and nothing is destroyed or expires, until it is lifted."""

    subject: Pseudonym
    generation: int
    review_at: Millis


class HoldLifted(Struct, frozen=True, kw_only=True, gc=False):
    """``restricted``: a request to forget the person waits, or is due now; nobody reads meanwhile."""

    subject: Pseudonym
    generation: int
    restricted: bool


class ActionProposed(Struct, frozen=True, kw_only=True, gc=False):
    """The first of two people wants this done; nothing has changed until one of another owner than ``owner`` says so.

    ``action``: ``readmit`` or ``lift_hold``.
    """

    subject: Pseudonym
    generation: int
    action: str
    owner: str


class TenantForgotten(Struct, frozen=True, kw_only=True, gc=False):
    """This incarnation is over; everything of the tenant is unreadable from here on. ``key_id``: its tenant key's."""

    incarnation: int
    key_id: KeyId | None = None


class TenantReadmitted(Struct, frozen=True, kw_only=True, gc=False):
    """``incarnation`` is the new, empty one."""

    incarnation: int


class TenantForgettingRequested(Struct, frozen=True, kw_only=True, gc=False):
    """Two people agreed, and ``holds`` legal holds defer it: it is carried out when the last of them is lifted.

    Until then nobody reads the tenant or adds to it, and nothing is destroyed.
    """

    incarnation: int
    holds: int


class TenantActionProposed(Struct, frozen=True, kw_only=True, gc=False):
    """As `ActionProposed`, about the whole tenant. ``action``: ``forget_tenant`` or ``readmit_tenant``."""

    incarnation: int
    action: str
    owner: str


class ExportRecorded(Struct, frozen=True, kw_only=True, gc=False):
    """All that was held up to here may be handed out, on the person or, with ``subject`` None, on the whole tenant.

    ``records`` counts what is held on the person; None for a tenant. ``identity_check`` as in `RecordExport`.
    ``user_visible_only``: no officer asked for it; the person gets those of their records that are theirs to export.
    """

    subject: Pseudonym | None = None
    generation: int = 0
    records: int | None = None
    identity_check: str
    user_visible_only: bool = False


class CommandRejected(Struct, frozen=True, kw_only=True, gc=False):
    """Nothing changed. ``field`` names what was wrong, ``current_version`` what a conflict was with; no content."""

    command: str
    reason: Reason
    memory_id: MemoryId | None = None
    field: str | None = None
    current_version: Version | None = None
    findings: tuple[Finding, ...] = ()


class CommandDuplicate(Struct, frozen=True, kw_only=True, gc=False):
    """The idempotency key is known and the payload is equal: what the first command got still holds.

    ``records``: of a `SubjectForgotten` that is repeated, the count that it gave.
    """

    first_command_id: CommandId
    memory_id: MemoryId | None = None
    version: Version | None = None
    records: int | None = None


class ConflictResolved(Struct, frozen=True, kw_only=True, gc=False):
    """Somebody answered: ``memory_id`` holds, the others gave way in the same moment, and with them what was built on
    them (``withdrawn``)."""

    memory_id: MemoryId
    version: Version
    superseded: tuple[SupersededRef, ...]
    withdrawn: tuple[WithdrawnRef, ...] = ()


class CandidateObserved(Struct, frozen=True, kw_only=True, gc=False):
    """Memory only observes here (B63): what would have become of the candidate. Nothing was stored, no content kept.

    ``verdict``: accepted, quarantined or rejected, for ``reasons``.
    """

    memory_id: MemoryId
    kind: str
    purposes: tuple[str, ...]
    verdict: str
    reasons: tuple[Reason, ...] = ()
    findings: tuple[Finding, ...] = ()


Fact = (
    PartitionOpened
    | KeyIssued
    | MemoryAccepted
    | MemoryQuarantined
    | MemoryPromoted
    | MemoryRejected
    | MemoryConfirmed
    | MemoryRetracted
    | MemorySuspended
    | MemoryExpired
    | MemoryForgotten
    | SubjectForgotten
    | SubjectReadmitted
    | ForgettingRequested
    | ForgettingWithdrawn
    | SubjectHeld
    | HoldLifted
    | ActionProposed
    | CommandRejected
    | CommandDuplicate
    | ConflictResolved
    | CandidateObserved
    | ExportRecorded
    | TenantForgotten
    | TenantReadmitted
    | TenantForgettingRequested
    | TenantActionProposed
)


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One record of ``memory-lifecycle``."""

    header: EventHeader
    fact: Fact
