"""What `recall` keeps of a record: the clear fields as the event had them, and the sealed body."""

from dataclasses import dataclass
from typing import Final

import msgspec

from eunoe.schemas.ids import AgentId, EventId, KeyId, MemoryId, Millis, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.values import (
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """Fields by position: a change of order or number is a new generation of the read model.

    Trust, confirmation and version change and are in the head (`keys.Head`), not here. ``about``: pseudonyms.
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

    ``scores`` holds three bytes a term, ``scopes`` pairs of scope name and eight bytes a term, in the same order.
    ``sets`` are the subject and about sets the record's number belongs to.
    """

    tenant: TenantId
    memory: bytes
    sets: tuple[str, ...]
    scores: bytes
    scopes: tuple[tuple[str, bytes], ...]

    def pack(self) -> bytes:
        return _packed((self.tenant, self.memory, self.sets, self.scores, self.scopes))


Plain = str | bytes | int | tuple["Plain", ...]


def _packed(value: Plain) -> bytes:
    """MessagePack as Redis' Lua reads it: bytes go out as the old raw type, for it does not know ``bin``."""
    if isinstance(value, int):
        return b"\xcf" + value.to_bytes(8)
    if isinstance(value, tuple):
        return b"\xdc" + len(value).to_bytes(2) + b"".join(map(_packed, value))
    content = value.encode() if isinstance(value, str) else value
    size = len(content)
    return (b"\xda" + size.to_bytes(2) if size < 65_536 else b"\xdb" + size.to_bytes(4)) + content


RECORDS: Final = msgspec.msgpack.Decoder(StoredRecord)
encode: Final = msgspec.msgpack.Encoder().encode
