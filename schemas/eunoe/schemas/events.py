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
from eunoe.schemas.values import Confirmation, Trust


class Reason(StrEnum):
    """Why a command was refused, or a record quarantined. Codes are part of the contract; texts are not."""

    # who asks
    NOT_ALLOWED = "not_allowed"
    FOREIGN_TENANT = "foreign_tenant"
    SOURCE_NOT_ALLOWED = "source_not_allowed"
    SIGNATURE_REQUIRED = "signature_required"
    OWN_MEMORY = "own_memory"
    WRITES_OFF = "writes_off"
    # what is written
    UNKNOWN_PURPOSE = "unknown_purpose"
    UNKNOWN_KIND = "unknown_kind"
    INVALID_FIELD = "invalid_field"
    EMPTY_STATEMENT = "empty_statement"
    TOO_LONG = "too_long"
    NO_PROVENANCE = "no_provenance"
    EXPIRY_MISSING = "expiry_missing"
    EXPIRY_PASSED = "expiry_passed"
    EXPIRY_TOO_FAR = "expiry_too_far"
    EXPIRY_SKEWED = "expiry_skewed"
    # keys
    TENANT_NOT_OPEN = "tenant_not_open"
    UNKNOWN_KEY = "unknown_key"
    WRONG_KEY = "wrong_key"
    UNREADABLE_BODY = "unreadable_body"
    SUBJECT_CLOSED = "subject_closed"
    # what is known
    VERSION_CONFLICT = "version_conflict"
    IDEMPOTENCY_MISMATCH = "idempotency_mismatch"
    NOT_FOUND = "not_found"
    OTHER_SCOPE = "other_scope"
    WRONG_STATE = "wrong_state"
    NOT_DUE = "not_due"
    # why a record waits for a person
    UNTRUSTED_SOURCE = "untrusted_source"


class Authorization(Struct, frozen=True, kw_only=True, gc=False):
    """The Ed25519 signature behind a decision that needs one, with the exact bytes it signs, for ever checkable."""

    secret_id: SecretId
    signed: bytes
    signature: bytes


class EventHeader(Struct, frozen=True, kw_only=True, gc=False):
    """What every fact says of its origin.

    ``input_offset`` is the command's offset on the same partition of ``memory-events`` (-1 for the genesis record);
    ``decided_at`` is log time, never a worker's clock; ``control_offset`` is how far the decider had read
    ``memory-control``. ``idempotency`` (16 bytes, keyed) and ``payload_digest`` (keyed) tell a retry from a reuse.
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
    idempotency: bytes | None = None
    payload_digest: bytes | None = None
    authorization: Authorization | None = None


class SubjectRef(Struct, frozen=True, kw_only=True, gc=False):
    subject: Pseudonym
    generation: int


class SupersededRef(Struct, frozen=True, kw_only=True, gc=False):
    """The record that gives way, and its version after it has."""

    memory_id: MemoryId
    version: Version


class PartitionOpened(Struct, frozen=True, kw_only=True, gc=False):
    """The genesis record at offset 0 of every partition: which log this is, and how many partitions it has."""

    log_id: LogId
    partition: int
    partitions: int


class KeyIssued(Struct, frozen=True, kw_only=True, gc=False):
    """``key_id`` serves (subject, generation, bucket), or is the tenant key where ``subject`` is None.

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
    """A new active record at version 1; with ``supersedes``, the old one gave way in the same moment."""

    draft: Draft
    about: tuple[SubjectRef, ...] = ()
    incarnation: int
    trust: Trust
    confirmation: Confirmation
    content_hash: bytes
    claim_ref: bytes | None = None
    supersedes: SupersededRef | None = None


class MemoryQuarantined(Struct, frozen=True, kw_only=True, gc=False):
    """A new record that no reader sees until a person promotes it. ``supersedes`` names what it would replace then."""

    draft: Draft
    about: tuple[SubjectRef, ...] = ()
    incarnation: int
    trust: Trust
    confirmation: Confirmation
    content_hash: bytes
    claim_ref: bytes | None = None
    supersedes: MemoryId | None = None
    reasons: tuple[Reason, ...]


class MemoryPromoted(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version
    trust: Trust
    supersedes: SupersededRef | None = None


class MemoryRejected(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version
    reason: str


class MemoryConfirmed(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class MemoryRetracted(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class MemoryExpired(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class MemoryForgotten(Struct, frozen=True, kw_only=True, gc=False):
    memory_id: MemoryId
    version: Version


class SubjectForgotten(Struct, frozen=True, kw_only=True, gc=False):
    """The generation is closed; every record of it is unreadable from here on. ``records`` counts them."""

    subject: Pseudonym
    generation: int
    records: int


class SubjectReadmitted(Struct, frozen=True, kw_only=True, gc=False):
    """``generation`` is the new, empty one."""

    subject: Pseudonym
    generation: int


class CommandRejected(Struct, frozen=True, kw_only=True, gc=False):
    """Nothing changed. ``field`` names what was wrong, ``current_version`` what a conflict was with; no content."""

    command: str
    reason: Reason
    memory_id: MemoryId | None = None
    field: str | None = None
    current_version: Version | None = None


class CommandDuplicate(Struct, frozen=True, kw_only=True, gc=False):
    """The idempotency key is known and the payload is equal: what the first command got still holds."""

    first_command_id: CommandId
    memory_id: MemoryId | None = None
    version: Version | None = None


Fact = (
    PartitionOpened
    | KeyIssued
    | MemoryAccepted
    | MemoryQuarantined
    | MemoryPromoted
    | MemoryRejected
    | MemoryConfirmed
    | MemoryRetracted
    | MemoryExpired
    | MemoryForgotten
    | SubjectForgotten
    | SubjectReadmitted
    | CommandRejected
    | CommandDuplicate
)


class Event(Struct, frozen=True, kw_only=True, gc=False):
    """One record of ``memory-lifecycle``."""

    header: EventHeader
    fact: Fact
