"""The record of ``memory-access``: who was given which records, for what, and why (C23, M71). No content.

It lists what was *delivered*: after filters, ranking, limit and budget. What was asked, and whom it was about, is
sealed under the tenant's access key of the day and becomes unreadable with it; the ids of the records stay for as long
as the topic keeps them, so that one can tell which answers a record that was withdrawn had gone into.
"""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from eunoe.schemas.ids import (
    AgentId,
    Bucket,
    KeyId,
    MemoryId,
    Millis,
    Offset,
    PrincipalName,
    TenantId,
)
from eunoe.schemas.values import Confirmation, MemoryClass, Sensitivity, SourceKind, Trust


class TraceKind(StrEnum):
    """What was done: a search delivers records to an agent; looking (why, inspect) only shows them to a person."""

    SEARCHED = "searched"
    INSPECTED = "inspected"


class Delivered(Struct, frozen=True, kw_only=True, gc=False):
    """One record as it was given. ``reasons``: codes of what made it rank, largest first. ``conflicts``: the active
    records said to contradict it."""

    memory_id: MemoryId
    version: int
    memory_class: MemoryClass
    trust: Trust
    confirmation: Confirmation
    source_kind: SourceKind
    score: float
    reasons: tuple[str, ...] = ()
    conflicts: tuple[MemoryId, ...] = ()


class LeftOut(Struct, frozen=True, kw_only=True, gc=False):
    """How many records of the caller's scope a filter refused first."""

    reason: str
    count: int


class OverBudget(Struct, frozen=True, kw_only=True, gc=False):
    """A record that did not fit what was left of the token budget."""

    memory_id: MemoryId
    tokens: int


class Limits(Struct, frozen=True, kw_only=True, gc=False):
    """What the caller limited the read to. ``classes`` empty: any. ``max_age`` in ms."""

    classes: tuple[MemoryClass, ...] = ()
    trust_min: Trust = Trust.UNTRUSTED
    max_sensitivity: Sensitivity
    max_age: int | None = None
    require_provenance: bool = False
    limit: int
    budget: int | None = None
    as_of: Millis | None = None


class Trace(Struct, frozen=True, kw_only=True, gc=False):
    """One read. ``trace_id`` and ``session_id`` are the caller's where it gave them.

    ``at``: the reader's clock. ``position`` and ``lag`` (ms; None: unknown) say how fresh the read model was.
    ``sealed`` holds an `Asked`, under the day key ``key_id``; see `place_of`.
    """

    trace_id: str
    session_id: str | None = None
    kind: TraceKind
    tenant: TenantId
    principal: PrincipalName
    agent: AgentId | None
    purpose: str | None
    surface: str | None = None
    at: Millis
    limits: Limits
    policy_version: int
    policy_hash: str
    control_offset: Offset
    delivered: tuple[Delivered, ...]
    excluded: tuple[LeftOut, ...] = ()
    examined: int = 0
    capped: bool = False
    skipped: tuple[OverBudget, ...] = ()
    used_tokens: int = 0
    empty: str | None = None
    position: Offset
    lag: int | None = None
    key_id: KeyId
    sealed: bytes


class Asked(Struct, frozen=True, array_like=True):
    """The sealed part: the words of the query, and the plain name of the subject it was limited to."""

    query: str
    subject: str | None = None


def place_of(trace_id: str, tenant: TenantId) -> tuple[str | int, ...]:
    """What ``sealed`` is bound to: it cannot be moved to another trace or tenant."""
    return ("trace", tenant, trace_id)


def day_of(at: Millis) -> Bucket:
    """The UTC day of ``at``, ``YYYY-MM-DD``, which the access key is named for. ``at``: 1970 to 9999."""
    return Bucket(datetime.fromtimestamp(at / 1_000, UTC).date().isoformat())


ASKED: Final = msgspec.msgpack.Decoder(Asked)
encode_asked: Final = msgspec.msgpack.Encoder().encode
