"""Every name and byte layout of `recall` in Redis. `recall.lua` reads and writes the same ones and says so there.

After the prefix of the generation (`eunoe.runtime.redis.prefix`), with names that hold no ``:`` or ``/``:

==========================  =========================================================================================
``k:<tenant>``              the wrapped index key, its id first (`index_key`)
``scopes:<tenant>``         hash: scope -> its number in this generation; ``scopes`` is the last number given
``n:<scope>``               how many records the scope holds
``h:<scope>``               hash: sensitivity (0 is public) -> how many of them are so protected
``t:<scope>:<token>``       sorted set, one posting a record: member (below), score = impact and count (`posting_score`)
``d:<record number>``       a record: head, guards, postings, `record.StoredRecord`
``i:<tenant>``              hash: memory id (16 bytes) -> record number
``s:<tenant>:<subject>:<g>``  set of the numbers of the records of that generation of the subject
``a:<tenant>:<subject>:<g>``  the same for records that are about it
``c:<tenant>``              hash: subject -> its last closed generation
``o:<tenant>``              hash: subject -> its open generation, where that is not the first
``x:<tenant>``              set of ``<subject>:<g>``: closed, and not all removed yet
``r:<record number>``       set of the numbers of the records in conflict with it; both sides hold the link
``w:<tenant>``              set of the numbers of the records that are in a conflict
``x``                       set of ``<tenant> <subject> <g>``: the same, for whoever removes
``tenant:<tenant>``         hash: which incarnation there is (`eunoe.readmodels.tenants`)
==========================  =========================================================================================

A record's number is the offset of the event that made it. A record stands once in the scope of each of its purposes,
in the agent's own or in the shared one. What is not in a scope a search asks is never touched by it.
"""

import struct
import uuid
from dataclasses import dataclass
from typing import Final

from eunoe.schemas.ids import AgentId, MemoryId, Millis, Pseudonym, TenantId
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, Trust

MODEL: Final = "recall"
TOKEN_BYTES: Final = 8
SCORE_BYTES: Final = 4
NO_OCCASION: Final = bytes(8)

_MEMBER: Final = struct.Struct(">BIHIHIBHBBH")
MEMBER_BYTES: Final = _MEMBER.size
_HEAD: Final = struct.Struct(f">{MEMBER_BYTES}s8sBIHI")
HEAD_BYTES: Final = _HEAD.size

_SENSITIVITIES: Final = tuple(Sensitivity)
_TRUSTS: Final = tuple(Trust)
_CLASSES: Final = tuple(MemoryClass)
_CONFIRMATIONS: Final = tuple(Confirmation)

SPECIAL: Final = 1
"""The record has surfaces or bounds of validity, which the guards tell."""
PROVENANCE: Final = 2
SHARED: Final = 4
ABOUT: Final = 8

ACTIVE: Final = 1
WAITING: Final = 2
"""Quarantined: stored with the postings it would have, none of which is in an index."""

_IMPACT_STEPS: Final = 2_000_000
_LARGEST_COUNT: Final = 255


def scope_name(agent: AgentId | None, purpose: str) -> str:
    """One scope of a tenant: an agent's own, or (None) the shared one. No name holds a ``/``."""
    return f"s/{purpose}" if agent is None else f"a/{agent}/{purpose}"


def index_key(tenant: TenantId) -> str:
    return f"k:{tenant}"


def index_key_pattern() -> str:
    """Matches `index_key` of every tenant (glob)."""
    return "k:*"


def records_key(tenant: TenantId) -> str:
    """Hash: memory id -> record number."""
    return f"i:{tenant}"


def scopes_key(tenant: TenantId) -> str:
    """Hash: scope -> its number."""
    return f"scopes:{tenant}"


COUNTED_OF_SCOPES: Final = ("n", "h")
"""Kinds of keys named by the number of a scope, besides its postings."""
CLOSING: Final = "x"
"""Set of ``<tenant> <subject> <generation>``: closed, and not all removed yet."""


def opened_key(tenant: TenantId) -> str:
    """Hash: subject -> its open generation, where that is not the first."""
    return f"o:{tenant}"


def subject_key(tenant: TenantId, subject: Pseudonym, generation: int) -> str:
    """Set of the numbers of the records of that generation of the subject."""
    return f"s:{tenant}:{subject}:{generation}"


def memory_bytes(memory_id: MemoryId) -> bytes:
    return uuid.UUID(memory_id).bytes


def subject_tag(subject: Pseudonym) -> int:
    """Two bytes that tell most subjects apart: a posting of another subject seldom needs a look into its record."""
    return int(subject[:4], 16)


def posting_score(impact: float, count: int) -> int:
    """What orders a posting list: the impact in steps of 1/2,000,000, then the count (at most 255), as one integer.

    Divided by 256 steps it is the impact to within 1e-6, which is what candidates are ranked by; the exact impact
    follows from count and length. Below 2^31, it costs a short list five bytes.
    """
    return round(impact * _IMPACT_STEPS) * 256 + min(count, _LARGEST_COUNT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grades:
    """Four closed vocabularies in one byte."""

    sensitivity: Sensitivity
    trust: Trust
    memory_class: MemoryClass
    confirmation: Confirmation

    def pack(self) -> int:
        return (
            _SENSITIVITIES.index(self.sensitivity)
            | _TRUSTS.index(self.trust) << 2
            | _CLASSES.index(self.memory_class) << 4
            | _CONFIRMATIONS.index(self.confirmation) << 6
        )

    @staticmethod
    def unpack(byte: int) -> "Grades | None":
        """None for a byte that packs nothing."""
        trust, memory_class, confirmation = byte >> 2 & 3, byte >> 4 & 3, byte >> 6 & 3
        if trust >= len(_TRUSTS) or memory_class >= len(_CLASSES) or confirmation >= len(_CONFIRMATIONS):
            return None
        return Grades(
            sensitivity=_SENSITIVITIES[byte & 3],
            trust=_TRUSTS[trust],
            memory_class=_CLASSES[memory_class],
            confirmation=_CONFIRMATIONS[confirmation],
        )


def count_of(score: int) -> int:
    """The count in a `posting_score`."""
    return score & 255


def trust_grade(trust: Trust) -> int:
    """The two bits of a trust in `Grades`."""
    return _TRUSTS.index(trust)


def confirmation_grade(confirmation: Confirmation) -> int:
    return _CONFIRMATIONS.index(confirmation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a posting knows of its record: all that hard filters and ranking need, in 24 bytes.

    ``confidence`` in hundredths; ``length`` in words; ``flags`` of SPECIAL, PROVENANCE, SHARED, ABOUT; ``tag`` as
    `subject_tag`. Instants are exact (ms, 48 bits); ``number`` has 40 bits.
    """

    number: int
    expires_at: Millis
    created_at: Millis
    confidence: int
    length: int
    grades: Grades
    flags: int
    tag: int

    def pack(self) -> bytes:
        return _MEMBER.pack(
            self.number >> 32,
            self.number & 0xFFFFFFFF,
            self.expires_at >> 32,
            self.expires_at & 0xFFFFFFFF,
            self.created_at >> 32,
            self.created_at & 0xFFFFFFFF,
            self.confidence,
            self.length,
            self.grades.pack(),
            self.flags,
            self.tag,
        )

    @staticmethod
    def unpack(data: bytes) -> "Member":
        """Raises ValueError for bytes that are no member."""
        try:
            high, low, expires_high, expires_low, made_high, made_low, *rest = _MEMBER.unpack(data)
        except struct.error as error:
            raise ValueError("not a member") from error
        grades = Grades.unpack(rest[2])
        if grades is None:
            raise ValueError("not a member")
        return Member(
            number=high << 32 | low,
            expires_at=Millis(expires_high << 32 | expires_low),
            created_at=Millis(made_high << 32 | made_low),
            confidence=rest[0],
            length=rest[1],
            grades=grades,
            flags=rest[3],
            tag=rest[4],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The part of a stored record that changes, and where its sections end."""

    member: Member
    occasion: bytes
    state: int
    version: int
    guards: int
    postings: int

    @staticmethod
    def unpack(document: bytes) -> "Head":
        member, occasion, state, version, guards, postings = _HEAD.unpack_from(document)
        return Head(
            member=Member.unpack(member),
            occasion=occasion,
            state=state,
            version=version,
            guards=guards,
            postings=postings,
        )

    @property
    def record_at(self) -> int:
        """Where `record.StoredRecord` starts."""
        return HEAD_BYTES + self.guards + self.postings


def pack_document(
    member: Member, *, occasion: bytes, state: int, version: int, guards: bytes, postings: bytes, record: bytes
) -> bytes:
    head = _HEAD.pack(member.pack(), occasion, state, version, len(guards), len(postings))
    return b"".join((head, guards, postings, record))
