"""A memory record's life: one table, and the two functions that walk it. Everything that affects it is in this file.

Theory of operation
===================
A record is born quarantined (an untrusted source: no reader sees it) or active. A quarantined record waits for a
person, who promotes it into use or rejects it for good. A reviewer may send an active one back to waiting (B38); it is
approved or rejected as if it had waited from the start. An active record ends when a correction supersedes it, when
its author or a reviewer retracts it, or when its time is over. Whatever state it is in, it can be forgotten, and from
there nothing leads on.

Each fact about a record moves it one `Step` along `TRANSITIONS` and raises its version by exactly one, so versions
are 1, 2, 3 … without a gap. A fact names the version it led to; one that does not fit the state at hand means that
the log or the state is broken, and `evolve` raises `ImpossibleFact` instead of guessing. A correction is one fact
about two records: the new one is born and the old one takes the step ``superseded``; `touches` names both. So is a
contradiction that nothing settles: the old record takes the step ``contested`` and stays active, until somebody says
which one holds (``upheld``; the others are superseded in the same fact). And what was built on a record that goes is
``withdrawn`` with it, in the same fact (see `eunoe.domain.lineage`); it can still be forgotten.

Forgetting a whole subject is not in the table. It closes the subject's generation in one event (see
`eunoe.domain.ledger_state`) and touches no record: a record of a closed generation is forgotten whatever its own
state says. Nor is the passing of time: a record past ``expires_at`` is over for every reader and for `decide`, and the
step ``expired`` only writes that down.

The other axes do not restrict the steps, they are moved by them: trust (promotion makes it verified), confirmation,
review (pending while quarantined, decided by promotion or rejection).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eunoe.schemas.events import (
    ConflictResolved,
    EventHeader,
    Fact,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    SubjectRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import AgentId, KeyId, LogId, MemoryId, Millis, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.values import (
    Confirmation,
    ConflictPolicy,
    ExportDeletePolicy,
    Lifecycle,
    Review,
    Sensitivity,
    Trust,
    Visibility,
)


class Step(StrEnum):
    """What can happen to one record."""

    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    CONFIRMED = "confirmed"
    CONTESTED = "contested"
    UPHELD = "upheld"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"
    SUSPENDED = "suspended"
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"


TRANSITIONS: Final[Mapping[Lifecycle | None, Mapping[Step, Lifecycle]]] = MappingProxyType(
    {
        None: {
            Step.ACCEPTED: Lifecycle.ACTIVE,
            Step.QUARANTINED: Lifecycle.QUARANTINED,
        },
        Lifecycle.QUARANTINED: {
            Step.CONFIRMED: Lifecycle.QUARANTINED,
            Step.PROMOTED: Lifecycle.ACTIVE,
            Step.REJECTED: Lifecycle.REJECTED,
            Step.EXPIRED: Lifecycle.EXPIRED,
            Step.RETRACTED: Lifecycle.RETRACTED,
            Step.WITHDRAWN: Lifecycle.WITHDRAWN,
            Step.FORGOTTEN: Lifecycle.FORGOTTEN,
        },
        Lifecycle.ACTIVE: {
            Step.CONFIRMED: Lifecycle.ACTIVE,
            Step.CONTESTED: Lifecycle.ACTIVE,
            Step.UPHELD: Lifecycle.ACTIVE,
            Step.SUSPENDED: Lifecycle.QUARANTINED,
            Step.SUPERSEDED: Lifecycle.SUPERSEDED,
            Step.EXPIRED: Lifecycle.EXPIRED,
            Step.RETRACTED: Lifecycle.RETRACTED,
            Step.WITHDRAWN: Lifecycle.WITHDRAWN,
            Step.FORGOTTEN: Lifecycle.FORGOTTEN,
        },
        Lifecycle.SUPERSEDED: {Step.WITHDRAWN: Lifecycle.WITHDRAWN, Step.FORGOTTEN: Lifecycle.FORGOTTEN},
        Lifecycle.EXPIRED: {Step.WITHDRAWN: Lifecycle.WITHDRAWN, Step.FORGOTTEN: Lifecycle.FORGOTTEN},
        Lifecycle.RETRACTED: {Step.WITHDRAWN: Lifecycle.WITHDRAWN, Step.FORGOTTEN: Lifecycle.FORGOTTEN},
        Lifecycle.REJECTED: {Step.WITHDRAWN: Lifecycle.WITHDRAWN, Step.FORGOTTEN: Lifecycle.FORGOTTEN},
        Lifecycle.WITHDRAWN: {Step.FORGOTTEN: Lifecycle.FORGOTTEN},
        Lifecycle.FORGOTTEN: {},
    }
)
"""From (None: not born yet) → what happens → to. What is not here cannot happen."""


_STEPS: Final[Mapping[type, Step]] = MappingProxyType(
    {
        MemoryPromoted: Step.PROMOTED,
        MemoryRejected: Step.REJECTED,
        MemoryConfirmed: Step.CONFIRMED,
        MemoryRetracted: Step.RETRACTED,
        MemorySuspended: Step.SUSPENDED,
        MemoryExpired: Step.EXPIRED,
        MemoryForgotten: Step.FORGOTTEN,
        ConflictResolved: Step.UPHELD,
    }
)
_CONFIRMATIONS: Final[Mapping[Step, Confirmation]] = MappingProxyType(
    {Step.CONFIRMED: Confirmation.CONFIRMED, Step.REJECTED: Confirmation.REJECTED}
)
_REVIEWS: Final[Mapping[Step, Review]] = MappingProxyType(
    {Step.PROMOTED: Review.DECIDED, Step.REJECTED: Review.DECIDED, Step.SUSPENDED: Review.PENDING}
)


class MemoryState(Struct, frozen=True, kw_only=True, gc=False, array_like=True, tag=1):
    """What decisions and the sweeper need to know of a record. No content; ``author`` is the principal that wrote it.

    ``supersedes`` is what a quarantined correction would replace when promoted, at
    ``supersedes_version`` (0: whichever); None once it has. ``content_hash`` and
    ``claim_ref`` are keyed: what contradicts what is told without opening anything. ``said_at``: when it was observed,
    or else decided. ``reviewable_at``: the end of its waiting period. ``sensitivity``: who may judge or replace it.
    ``owner``: whose its author was when it was written.
    ``origin``: the log that it was brought in from as it was there, by a signature that the policy trusts.
    ``asked``: while it waits, the keyed digest of the whole request that brought it. ``user_visible``: the person
    whom it is about may have it exported and forgotten without an officer.
    ``sources``: all it stands on, ``derived``: all that stands on it, through whatever lies between.
    """

    memory_id: MemoryId
    tenant: TenantId
    agent: AgentId
    subject: Pseudonym
    generation: int
    about: tuple[SubjectRef, ...]
    purposes: tuple[str, ...]
    kind: str
    author: PrincipalName
    lifecycle: Lifecycle
    version: int
    trust: Trust
    confirmation: Confirmation
    review: Review
    expires_at: Millis
    key_id: KeyId
    supersedes: MemoryId | None = None
    supersedes_version: int = 0
    claim_ref: bytes | None = None
    content_hash: bytes = b""
    visibility: Visibility = Visibility.AGENT
    surfaces: tuple[str, ...] = ()
    said_at: Millis = Millis(0)
    valid_from: Millis | None = None
    valid_until: Millis | None = None
    conflict_policy: ConflictPolicy = ConflictPolicy.POLICY_DECIDES
    reviewable_at: Millis = Millis(0)
    sensitivity: Sensitivity = Sensitivity.RESTRICTED
    owner: str = ""
    origin: LogId | None = None
    asked: bytes | None = None
    user_visible: bool = False
    sources: tuple[MemoryId, ...] = ()
    derived: tuple[MemoryId, ...] = ()


class ImpossibleFact(Exception):
    """A fact that the state at hand does not allow. Blame: log (or a ledger that is not the log's). Never retried."""

    def __init__(self, fact: str, key: str, problem: str) -> None:
        super().__init__(f"{fact} of {key}: {problem}")
        self.fact = fact
        self.key = key
        self.problem = problem


def allowed(state: MemoryState | None, step: Step) -> Lifecycle | None:
    """Where ``step`` leads from here, or None where the table has no such step."""
    return TRANSITIONS[None if state is None else state.lifecycle].get(step)


def touches(fact: Fact) -> tuple[MemoryId, ...]:
    """The records whose state this fact changes, the one it is about first; none where it changes no record."""
    match fact:
        case MemoryQuarantined(draft=draft):
            return (draft.memory_id,)
        case MemoryAccepted(draft=draft):
            return (draft.memory_id, *(each for each, _, _ in _others(fact)))
        case (
            MemoryPromoted()
            | ConflictResolved()
            | MemoryRejected()
            | MemoryConfirmed()
            | MemoryRetracted()
            | MemorySuspended()
            | MemoryExpired()
            | MemoryForgotten()
        ):
            return (fact.memory_id, *(each for each, _, _ in _others(fact)))
        case _:
            return ()


def _others(fact: Fact) -> tuple[tuple[MemoryId, Step, int], ...]:
    """What happens to other records in the same moment: record, step, version after it."""
    return (*_gave_way(fact), *((each.memory_id, Step.WITHDRAWN, each.version) for each in withdrawn(fact)))


def withdrawn(fact: Fact) -> tuple[WithdrawnRef, ...]:
    """The records that go because of what they were built on."""
    match fact:
        case (
            MemoryAccepted(withdrawn=refs)
            | MemoryPromoted(withdrawn=refs)
            | ConflictResolved(withdrawn=refs)
            | MemoryRejected(withdrawn=refs)
            | MemoryRetracted(withdrawn=refs)
            | MemoryForgotten(withdrawn=refs)
        ):
            return refs
        case _:
            return ()


def _gave_way(fact: Fact) -> tuple[tuple[MemoryId, Step, int], ...]:
    match fact:
        case (
            MemoryAccepted(supersedes=old, conflicts_with=rivals)
            | MemoryPromoted(supersedes=old, conflicts_with=rivals)
        ):
            gone = () if old is None else ((old.memory_id, Step.SUPERSEDED, old.version),)
            return (*gone, *((each.memory_id, Step.CONTESTED, each.version) for each in rivals))
        case ConflictResolved(superseded=gone_by):
            return tuple((each.memory_id, Step.SUPERSEDED, each.version) for each in gone_by)
        case _:
            return ()


def evolve(state: MemoryState | None, memory_id: MemoryId, header: EventHeader, fact: Fact) -> MemoryState:
    """The state of ``memory_id``, one of ``touches(fact)``, after the fact. Raises `ImpossibleFact`."""
    for other, step, version in _others(fact):
        if other == memory_id:
            return _moved(state, memory_id, step, version, fact)
    match fact:
        case MemoryAccepted(draft=draft) | MemoryQuarantined(draft=draft) if draft.memory_id == memory_id:
            return _born(state, header, fact)
        case (
            MemoryPromoted(version=version)
            | ConflictResolved(version=version)
            | MemoryRejected(version=version)
            | MemoryConfirmed(version=version)
            | MemoryRetracted(version=version)
            | MemorySuspended(version=version)
            | MemoryExpired(version=version)
            | MemoryForgotten(version=version)
        ):
            return _moved(state, memory_id, _STEPS[type(fact)], version, fact)
        case _:
            raise ImpossibleFact(type(fact).__name__, memory_id, "it says nothing of this record")


def _born(state: MemoryState | None, header: EventHeader, fact: MemoryAccepted | MemoryQuarantined) -> MemoryState:
    draft = fact.draft
    waits = type(fact) is MemoryQuarantined
    lifecycle = allowed(state, Step.QUARANTINED if waits else Step.ACCEPTED)
    if lifecycle is None:
        raise ImpossibleFact(type(fact).__name__, draft.memory_id, "the record is there already")
    return MemoryState(
        memory_id=draft.memory_id,
        tenant=header.tenant,
        agent=draft.agent,
        subject=draft.subject,
        generation=draft.generation,
        about=fact.about,
        purposes=draft.purposes,
        kind=draft.kind,
        author=header.said.principal,
        owner=fact.owner,
        lifecycle=lifecycle,
        version=1,
        trust=fact.trust,
        confirmation=fact.confirmation,
        review=Review.PENDING if waits else Review.NONE,
        expires_at=draft.expires_at,
        key_id=draft.key_id,
        supersedes=fact.supersedes if isinstance(fact, MemoryQuarantined) else None,
        supersedes_version=fact.supersedes_version if isinstance(fact, MemoryQuarantined) else 0,
        surfaces=draft.surfaces,
        claim_ref=fact.claim_ref,
        content_hash=fact.content_hash,
        visibility=draft.visibility,
        said_at=header.said.decided_at if draft.observed_at is None else draft.observed_at,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        conflict_policy=draft.conflict_policy,
        reviewable_at=fact.reviewable_at if isinstance(fact, MemoryQuarantined) else Millis(0),
        sensitivity=draft.sensitivity,
        origin=None if header.origin is None else header.origin.log_id,
        asked=header.payload_digest if waits else None,
        user_visible=draft.export_delete_policy is ExportDeletePolicy.USER_VISIBLE and not fact.about,
    )


def _moved(state: MemoryState | None, memory_id: MemoryId, step: Step, version: int, fact: Fact) -> MemoryState:
    lifecycle = allowed(state, step)
    if state is None or lifecycle is None:
        held = "unknown" if state is None else state.lifecycle
        raise ImpossibleFact(type(fact).__name__, memory_id, f"a record that is {held} cannot be {step}")
    if version != state.version + 1:
        raise ImpossibleFact(type(fact).__name__, memory_id, f"version {version} after {state.version}")
    return replace(
        state,
        lifecycle=lifecycle,
        version=version,
        trust=fact.trust if step is Step.PROMOTED and isinstance(fact, MemoryPromoted) else state.trust,
        confirmation=_CONFIRMATIONS.get(step, state.confirmation),
        review=_REVIEWS.get(step, state.review),
        supersedes=None if step is Step.PROMOTED else state.supersedes,
        asked=state.asked if lifecycle is Lifecycle.QUARANTINED else None,
        reviewable_at=fact.reviewable_at if isinstance(fact, MemorySuspended) else state.reviewable_at,
    )


def diagram() -> str:
    """The table as a Mermaid state diagram. The docs hold a copy, and a test compares."""
    lines = ["stateDiagram-v2"]
    for start, steps in TRANSITIONS.items():
        origin = "[*]" if start is None else start.value
        lines += [f"    {origin} --> {end.value}: {step.value}" for step, end in steps.items()]
    lines += [f"    {end.value} --> [*]" for end, steps in TRANSITIONS.items() if end is not None and not steps]
    return "\n".join(lines) + "\n"
