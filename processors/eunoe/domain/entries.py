"""What the ledger holds: small values under short keys, one per thing that decisions ask about.

Keys are text, made only here: a letter for the kind, the tenant, and what is named within it. A key's tenant is always
part of it, so a record, key or command id of another tenant in the same partition is simply not there. Tenant names
hold no colon, and nothing is ever written under a name that was not checked, so keys cannot collide.
Values are msgpack arrays led by a tag.
"""

from typing import Final, NewType

import msgspec
from msgspec import Struct

from eunoe.domain.memory import MemoryState
from eunoe.schemas.ids import Bucket, CommandId, KeyId, MemoryId, Millis, PrincipalName, Pseudonym, TenantId

LedgerKey = NewType("LedgerKey", str)
HOUR_MS: Final = 3_600_000


class Request(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """Somebody asked to forget the person; see `ForgettingRequested`."""

    principal: PrincipalName
    due_at: Millis | None
    authorized: bool


class Proposal(Struct, frozen=True, kw_only=True, gc=False, array_like=True):
    """The first of two people said so; see `ActionProposed`. ``at``: log time."""

    action: str
    principal: PrincipalName
    owner: str
    at: Millis


class TenantState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=2):
    """The newest incarnation of a tenant; every earlier one is forgotten, and nothing else in the ledger is of it.

    ``key_id``: its tenant key's, None until it is asked for. ``holds``: how many people are under a legal hold.
    ``request``: two people want it forgotten, and a hold defers it.
    """

    incarnation: int
    key_id: KeyId | None
    closed: bool = False
    holds: int = 0
    request: Request | None = None
    proposal: Proposal | None = None


class SubjectState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=3):
    """The newest generation of a subject; every earlier one is closed.

    ``records`` counts the records of this generation, on the subject or about it, that were not forgotten or withdrawn:
    what forgetting the subject makes unreadable; in a closed generation, what it made so. One that another person's
    erasure has made unreadable meanwhile is still counted, for finding it would mean walking all of them.
    ``root_key_id`` is None until a key is asked for. ``review_at``: a legal hold stands, and somebody looks at it then.
    ``forgotten_values`` counts the records of this generation that were forgotten one by one, or with what they were
    built on.
    """

    generation: int
    closed: bool
    root_key_id: KeyId | None
    records: int
    request: Request | None = None
    review_at: Millis | None = None
    proposal: Proposal | None = None
    forgotten_values: int = 0

    @property
    def restricted(self) -> bool:
        """Nobody reads or writes: somebody asked to forget the person, or a hold stands."""
        return self.request is not None or self.review_at is not None


class KeyState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=4):
    """What a data key was issued for."""

    key_id: KeyId
    subject: Pseudonym
    generation: int
    bucket: Bucket


class DayKey(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=8):
    """A tenant's access key of one day. Lapses: a key for a day long past is not issued any more."""

    key_id: KeyId
    decided_at: Millis


class IdempotencyEntry(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=5):
    """The first command with this idempotency key that took effect, and what it got. Lapses inside `decide`.

    ``records``: the count that a `SubjectForgotten` gave.
    """

    first_command_id: CommandId
    payload_digest: bytes
    memory_id: MemoryId | None
    version: int | None
    decided_at: Millis
    records: int | None = None


class ClaimState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=7):
    """The active records that make one claim about a subject's open generation: what a newcomer may contradict.

    Under `words_key`: those that say the same words of it, which a newcomer may repeat, and the first of those that
    wait for a person with them.

    One that has expired and was not swept yet is still named; whoever judges looks at the record.
    """

    members: tuple[MemoryId, ...]


class Quota(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=9):
    """What was destroyed or asked for in one hour of log time (hours since 1970), by principal."""

    hour: int
    used: tuple[tuple[PrincipalName, int], ...]


class ForgottenValue(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=10):
    """A record that said this was forgotten by itself: the same words are not taken again while the root lives."""

    memory_id: MemoryId


class RateState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=11):
    """How many commands that are limited were answered in one window of log time (windows since 1970), by principal."""

    window: int
    used: tuple[tuple[PrincipalName, int], ...]


class CommandSeen(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=6):
    """This command id has its outcome."""

    decided_at: Millis


Entry = (
    MemoryState
    | TenantState
    | SubjectState
    | KeyState
    | DayKey
    | IdempotencyEntry
    | ClaimState
    | CommandSeen
    | Quota
    | ForgottenValue
    | RateState
)

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[Entry]] = msgspec.msgpack.Decoder(Entry)


def encode_entry(entry: Entry) -> bytes:
    return _ENCODER.encode(entry)


def decode_entry(data: bytes) -> Entry:
    """Raises `msgspec.DecodeError` (a ``ValueError``) on bytes that `encode_entry` did not make."""
    return _DECODER.decode(data)


_OF_TENANT: Final = frozenset("mskbdlfwi")
"""Kinds of keys that go with their tenant. Outcomes of commands stay until they lapse, and so do counts of an hour or a
minute: a command has one outcome, and a limit is one, whoever the name stands for."""


def goes_with(key: LedgerKey, tenant: TenantId) -> bool:
    """Whether the entry is gone once the tenant is forgotten."""
    kind, owner, *_ = key.split(":", 2)
    return kind in _OF_TENANT and owner == tenant


def memory_key(tenant: TenantId, memory_id: MemoryId) -> LedgerKey:
    return LedgerKey(f"m:{tenant}:{memory_id}")


def tenant_key(tenant: TenantId) -> LedgerKey:
    return LedgerKey(f"t:{tenant}")


def subject_key(tenant: TenantId, subject: Pseudonym) -> LedgerKey:
    return LedgerKey(f"s:{tenant}:{subject}")


def person_of(key: LedgerKey) -> tuple[TenantId, Pseudonym]:
    """Whose a `subject_key` is."""
    _, tenant, subject = key.split(":")
    return TenantId(tenant), Pseudonym(subject)


def quota_key(tenant: TenantId) -> LedgerKey:
    return LedgerKey(f"q:{tenant}")


def rate_key(tenant: TenantId) -> LedgerKey:
    return LedgerKey(f"r:{tenant}")


def key_key(tenant: TenantId, key_id: KeyId) -> LedgerKey:
    return LedgerKey(f"k:{tenant}:{key_id}")


def bucket_key(tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket) -> LedgerKey:
    return LedgerKey(f"b:{tenant}:{subject}:{generation}:{bucket}")


def day_key(tenant: TenantId, day: Bucket) -> LedgerKey:
    return LedgerKey(f"d:{tenant}:{day}")


def claim_key(tenant: TenantId, claim_ref: bytes) -> LedgerKey:
    """``claim_ref`` is keyed under the root of one subject generation: no other person's claim has it."""
    return LedgerKey(f"l:{tenant}:{claim_ref.hex()}")


def value_key(tenant: TenantId, content_hash: bytes) -> LedgerKey:
    """``content_hash`` is keyed under the root of one subject generation, as a claim is."""
    return LedgerKey(f"f:{tenant}:{content_hash.hex()}")


def words_key(tenant: TenantId, content_hash: bytes) -> LedgerKey:
    """``content_hash`` is keyed under the root of one subject generation: nobody else's words have it."""
    return LedgerKey(f"w:{tenant}:{content_hash.hex()}")


def idempotency_key(tenant: TenantId, idempotency: bytes) -> LedgerKey:
    return LedgerKey(f"i:{tenant}:{idempotency.hex()}")


def command_key(tenant: TenantId, command_id: CommandId) -> LedgerKey:
    return LedgerKey(f"c:{tenant}:{command_id}")
