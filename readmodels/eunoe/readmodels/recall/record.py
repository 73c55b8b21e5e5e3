"""What `recall` keeps of a record: the clear fields as the event had them, and the sealed body."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from eunoe.readmodels.recall.keys import SCORE_BYTES, TOKEN_BYTES
from eunoe.schemas.commands import SourceRef
from eunoe.schemas.ids import AgentId, EventId, KeyId, MemoryId, Millis, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.values import (
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

_ARRAY_HEAD: Final = 3
_RAW16: Final = 0xDA


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Fields by position: a change of order or number is a new generation of the read model.

    Trust, confirmation and version change and are in the head (`keys.Head`), not here. The last two
    may be missing in what an earlier version stored. ``about``: pseudonyms.
    """

    memory_id: MemoryId
    tenant: TenantId
    incarnation: int
    agent: AgentId
    subject: Pseudonym
    generation: int
    about: tuple[Pseudonym, ...]
    purposes: tuple[str, ...]
    visibility: Visibility
    surfaces: tuple[str, ...]
    producer_surface: str | None
    scope: str | None
    kind: str
    memory_class: MemoryClass
    retention: str | None
    source_kind: SourceKind
    observed_at: Millis | None
    confidence: float
    sensitivity: Sensitivity
    valid_from: Millis | None
    valid_until: Millis | None
    created_at: Millis
    expires_at: Millis
    export_delete_policy: ExportDeletePolicy
    principal: PrincipalName
    policy_version: int
    event_id: EventId
    key_id: KeyId
    body_version: int
    body: bytes
    conflict_policy: ConflictPolicy | None = None
    derived_from: tuple[SourceRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What the search Function looks up of a special record. 0 stands for no bound; refs are ``<subject>:<g>``."""

    surfaces: tuple[str, ...]
    valid_from: int
    valid_until: int
    refs: tuple[str, ...]

    def pack(self) -> bytes:
        return _packed((self.surfaces, self.valid_from, self.valid_until, self.refs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """All that is needed to put a record into its scopes and to take it out again, without any key.

    ``scores`` holds four bytes a term, ``scopes`` pairs of scope name and eight bytes a term, in the same order.
    ``sets`` are the subject and about sets the record's number belongs to.
    """

    tenant: TenantId
    memory: bytes
    sets: tuple[str, ...]
    scores: bytes
    scopes: tuple[tuple[str, bytes], ...]

    def pack(self) -> bytes:
        return _packed((self.tenant, self.memory, self.sets, self.scores, self.scopes))

    @staticmethod
    def counts(packed: bytes, scope: str, tokens: Sequence[bytes]) -> list[int]:
        """How often the record of these ``packed`` postings holds each of ``tokens`` (in ``scope``); 0 where not."""
        _, at = _text_at(packed, _ARRAY_HEAD)
        _, at = _text_at(packed, at)
        sets, at = _size_at(packed, at)
        for _ in range(sets):
            _, at = _text_at(packed, at)
        scores, at = _text_at(packed, at)
        scopes, at = _size_at(packed, at)
        for _ in range(scopes):
            name, at = _text_at(packed, at + _ARRAY_HEAD)
            held, at = _text_at(packed, at)
            if name == scope.encode():
                return [_count(held, scores, token) for token in tokens]
        return [0] * len(tokens)

    @staticmethod
    def all_counts(packed: bytes) -> Sequence[int]:
        """How often each word of these ``packed`` postings was counted, ascending, then the words of each scope."""
        _, at = _text_at(packed, _ARRAY_HEAD)
        _, at = _text_at(packed, at)
        sets, at = _size_at(packed, at)
        for _ in range(sets):
            _, at = _text_at(packed, at)
        scores, at = _text_at(packed, at)
        scopes, at = _size_at(packed, at)
        sizes = []
        for _ in range(scopes):
            _, at = _text_at(packed, at + _ARRAY_HEAD)
            held, at = _text_at(packed, at)
            sizes.append(len(held) // TOKEN_BYTES)
        return [*sorted(scores[SCORE_BYTES - 1 :: SCORE_BYTES]), *sizes]


Plain = str | bytes | int | tuple["Plain", ...]


def _packed(value: Plain) -> bytes:
    """MessagePack as Redis' Lua reads it: bytes go out as the old raw type, for it does not know ``bin``."""
    pieces: list[bytes] = []
    _pack(value, pieces.append)
    return b"".join(pieces)


def _pack(value: Plain, put: Callable[[bytes], None]) -> None:
    if isinstance(value, tuple):
        put(b"\xdc" + len(value).to_bytes(2))
        for item in value:
            _pack(item, put)
    elif isinstance(value, int):
        put(b"\xcf" + value.to_bytes(8))
    else:
        content = value.encode() if isinstance(value, str) else value
        size = len(content)
        put(b"\xda" + size.to_bytes(2) if size < 65_536 else b"\xdb" + size.to_bytes(4))
        put(content)


def _size_at(packed: bytes, at: int) -> tuple[int, int]:
    """The size of the array at ``at``, and where its first item starts."""
    return int.from_bytes(packed[at + 1 : at + _ARRAY_HEAD]), at + _ARRAY_HEAD


def _text_at(packed: bytes, at: int) -> tuple[bytes, int]:
    """The text at ``at``, and where the next item starts."""
    start = at + (3 if packed[at] == _RAW16 else 5)
    end = start + int.from_bytes(packed[at + 1 : start])
    return packed[start:end], end


def _count(held: bytes, scores: bytes, token: bytes) -> int:
    at = held.find(token)
    while at % TOKEN_BYTES and at > 0:
        at = held.find(token, at + 1)
    return 0 if at < 0 else scores[(at // TOKEN_BYTES + 1) * SCORE_BYTES - 1]


RECORDS: Final = msgspec.msgpack.Decoder(StoredRecord)
encode: Final = msgspec.msgpack.Encoder().encode
