"""What waits for a person, as the ``review`` model keeps it and as its reader tells it. No content."""

from typing import Final

import msgspec

from eunoe.schemas.errors import Undecodable
from eunoe.schemas.events import Event, Finding, MemoryQuarantined, MemorySuspended, SubjectRef
from eunoe.schemas.ids import AgentId, KeyId, MemoryId, Millis, Offset, PrincipalName, Pseudonym
from eunoe.schemas.values import (
    Circumstance,
    Confirmation,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Trust,
    Visibility,
)

CONFLICT: Final = "conflict"
"""The reason for which an open conflict waits, beside the reasons of quarantined records."""
SUSPENDED: Final = "suspended"
"""The reason under which whatever was sent back waits, whichever codes were given."""


class Quarantined(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="item", tag="quarantined"):
    """A record that no reader sees until somebody promotes it, not before ``reviewable_at``.

    ``queued_at`` is log time. ``version`` is the one a decision has to name. ``about``: whom else it is about.
    ``conflicts_with``: what said otherwise when it came; ``supersedes``: what it would replace. ``alike``: others that
    wait with the same words, from other sources, oldest first; ``alike_total`` counts them all, itself included.
    ``met``: what came into use on its claim since, some of it over by now; told of one item alone, never in a list.
    """

    memory_id: MemoryId
    version: int = 1
    queued_at: Millis
    reviewable_at: Millis
    reasons: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    policy_influence: bool = False
    supersedes: MemoryId | None = None
    conflicts_with: tuple[MemoryId, ...] = ()
    principal: PrincipalName
    agent: AgentId
    subject: Pseudonym
    generation: int
    about: tuple[SubjectRef, ...] = ()
    kind: str
    memory_class: MemoryClass
    purposes: tuple[str, ...]
    visibility: Visibility
    surfaces: tuple[str, ...] = ()
    source_kind: SourceKind
    sensitivity: Sensitivity
    trust: Trust
    confirmation: Confirmation
    confidence: float
    circumstances: tuple[Circumstance, ...] = ()
    reference: bool = False
    observed_at: Millis | None = None
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    expires_at: Millis
    policy_version: int
    policy_hash: str
    alike: tuple["Contested", ...] = ()
    alike_total: int = 1
    met: tuple[MemoryId, ...] = ()


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of it: the sealed body beside, so that a reviewer with keys can look at it."""

    item: Quarantined
    key_id: KeyId
    body_version: int
    body: bytes


class Suspended(msgspec.Struct, frozen=True, kw_only=True, tag_field="item", tag=SUSPENDED):
    """A record that was in use until ``principal`` sent it back at ``queued_at`` (log time). Its text is in `recall`.

    ``version``, ``about`` as in `Quarantined`, ``met`` too (and what it contradicted before); ``reasons`` are codes of
    whoever sent it back.
    """

    memory_id: MemoryId
    version: int = 1
    queued_at: Millis
    reviewable_at: Millis
    reasons: tuple[str, ...]
    principal: PrincipalName
    subject: Pseudonym
    generation: int
    about: tuple[SubjectRef, ...] = ()
    expires_at: Millis
    met: tuple[MemoryId, ...] = ()


class Contested(msgspec.Struct, frozen=True, kw_only=True):
    """Another record of the item (of a conflict, an active one), and the version a decision about it has to name."""

    memory_id: MemoryId
    version: int


class Conflict(msgspec.Struct, frozen=True, kw_only=True, tag_field="item", tag=CONFLICT):
    """Active records on one claim that say different things, in the order of their ids; at least two.

    ``queued_at``: log time of the oldest contradiction among them that is still open.
    """

    claim: str
    queued_at: Millis
    subject: Pseudonym
    members: tuple[Contested, ...]


Item = Quarantined | Suspended | Conflict


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """``items`` oldest first. ``cursor`` asks for what follows; None at the end.

    ``waiting`` counts the items of the tenant's whole queue: what waits with the same words is one. ``examined``: how
    many of its records and conflicts were looked at for this page. ``position``: how far the model was, comparable with
    a consistency token's.
    """

    items: tuple[Item, ...]
    cursor: str | None
    waiting: int
    examined: int
    position: Offset


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Waiting)
_SUSPENDED: Final = msgspec.msgpack.Decoder(Suspended)


def packed(event: Event, fact: MemoryQuarantined) -> bytes:
    """The record of a `Waiting` as it is stored."""
    draft = fact.draft
    item = Quarantined(
        memory_id=draft.memory_id,
        queued_at=event.header.said.decided_at,
        reviewable_at=fact.reviewable_at,
        reasons=tuple(each.value for each in fact.reasons),
        findings=fact.findings,
        policy_influence=fact.policy_influence,
        supersedes=fact.supersedes,
        conflicts_with=fact.conflicts_with,
        principal=event.header.said.principal,
        agent=draft.agent,
        subject=draft.subject,
        generation=draft.generation,
        about=fact.about,
        kind=draft.kind,
        memory_class=draft.memory_class,
        purposes=draft.purposes,
        visibility=draft.visibility,
        surfaces=draft.surfaces,
        source_kind=draft.source_kind,
        sensitivity=draft.sensitivity,
        trust=fact.trust,
        confirmation=fact.confirmation,
        confidence=draft.confidence,
        circumstances=draft.circumstances,
        reference=draft.reference,
        observed_at=draft.observed_at,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        expires_at=draft.expires_at,
        policy_version=event.header.said.policy_version,
        policy_hash=event.header.said.policy_hash,
    )
    return _ENCODER.encode(Waiting(item=item, key_id=draft.key_id, body_version=draft.body_version, body=draft.body))


def sent_back(event: Event, fact: MemorySuspended) -> bytes:
    """The record of a `Suspended` as it is stored."""
    return _ENCODER.encode(
        Suspended(
            memory_id=fact.memory_id,
            queued_at=event.header.said.decided_at,
            reviewable_at=fact.reviewable_at,
            reasons=fact.reasons,
            principal=event.header.said.principal,
            subject=fact.subject,
            generation=fact.generation,
            about=fact.about,
            expires_at=fact.expires_at,
        )
    )


def unpacked_sent_back(record: bytes, version: int) -> Suspended:
    """As `unpacked`."""
    try:
        return msgspec.structs.replace(_SUSPENDED.decode(record), version=version)
    except msgspec.MsgspecError as error:
        raise Undecodable("suspended record", type(error).__name__) from None


def unpacked(record: bytes, version: int, confirmed: bool) -> Waiting:
    """What is stored, as it is now. Raises `Undecodable` for what another version wrote in another form."""
    try:
        waiting = _DECODER.decode(record)
    except msgspec.MsgspecError as error:
        raise Undecodable("waiting record", type(error).__name__) from None
    confirmation = Confirmation.CONFIRMED if confirmed else waiting.item.confirmation
    item = msgspec.structs.replace(waiting.item, version=version, confirmation=confirmation)
    return msgspec.structs.replace(waiting, item=item)
