"""Contradictions: two records on one claim that say different things to the same reader (B39-B41, C45).

A claim is (subject, claim key), keyed as ``claim_ref``; similar text on another claim is never a contradiction, and
nothing is retired but by its own claim or by being named. Three signals are compared: authority (trust), confirmation
and time. Where at least one speaks for the newcomer and none against it, it wins; the other way round it waits for a
person; anything else is a tie that readers see and somebody must answer.
"""

from typing import Final

from msgspec import Struct

from eunoe.domain.identity import SENSITIVITY_RANK, cleared, same_owner
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import AgentId, MemoryId, Millis
from eunoe.schemas.values import Confirmation, ConflictPolicy, Lifecycle, Sensitivity, SourceKind, Trust, Visibility

MOST_MEMBERS: Final = 8
"""Records that may contradict each other openly; a further one waits for a person."""
_TRUST_RANK: Final = {each: rank for rank, each in enumerate(Trust)}
_ECHOES: Final = frozenset({SourceKind.INFERRED, SourceKind.TOOL, SourceKind.MODEL_OUTPUT})
"""Sources that may have had the words from memory itself."""
_ENDLESS: Final = Millis(1 << 62)


class Claimant(Struct, frozen=True, kw_only=True, gc=False):
    """What a record brings to a contradiction. ``said_at``: when it was observed, or else decided."""

    memory_id: MemoryId
    agent: AgentId
    visibility: Visibility
    purposes: tuple[str, ...]
    surfaces: tuple[str, ...]
    trust: Trust
    confirmation: Confirmation
    said_at: Millis
    valid_from: Millis | None
    valid_until: Millis | None
    content_hash: bytes
    conflict_policy: ConflictPolicy
    sensitivity: Sensitivity


class Standing(Struct, frozen=True, kw_only=True, gc=False):
    """How a newcomer stands against what is known. At most one of ``beats``, ``ties`` and ``loses_to`` holds any.

    ``by``: the signals by which it wins. ``review``: one of the two sides wants a person to decide.
    """

    beats: MemoryState | None = None
    by: tuple[str, ...] = ()
    ties: tuple[MemoryState, ...] = ()
    loses_to: tuple[MemoryState, ...] = ()
    review: bool = False


UNCONTESTED: Final = Standing()


def of_draft(case: Case, draft: Draft, trust: Trust, confirmation: Confirmation, content_hash: bytes) -> Claimant:
    return Claimant(
        memory_id=draft.memory_id,
        agent=draft.agent,
        visibility=draft.visibility,
        purposes=draft.purposes,
        surfaces=draft.surfaces,
        trust=trust,
        confirmation=confirmation,
        said_at=case.now if draft.observed_at is None else draft.observed_at,
        valid_from=draft.valid_from,
        valid_until=draft.valid_until,
        content_hash=content_hash,
        conflict_policy=draft.conflict_policy,
        sensitivity=draft.sensitivity,
    )


def of_record(record: MemoryState, trust: Trust) -> Claimant:
    """A record about to be let into use, with the trust it will have then."""
    return Claimant(
        memory_id=record.memory_id,
        agent=record.agent,
        visibility=record.visibility,
        purposes=record.purposes,
        surfaces=record.surfaces,
        trust=trust,
        confirmation=record.confirmation,
        said_at=record.said_at,
        valid_from=record.valid_from,
        valid_until=record.valid_until,
        content_hash=record.content_hash,
        conflict_policy=record.conflict_policy,
        sensitivity=record.sensitivity,
    )


def repeats(case: Case, newcomer: Claimant, claim_ref: bytes | None, source: SourceKind) -> Refusal | None:
    """The same words are known already to the same readers: one of them is enough (B27, M35).

    From a source that may have read them in memory they are no new evidence (M64). Words on another claim are others.
    Which record it is, is told to who may see it.
    """
    for twin in _twins(case, newcomer, claim_ref):
        # A correction retires what it names: beside that it takes nobody's place.
        if case.known.superseded is None and _betters(case, newcomer, twin, claim_ref, source):
            continue
        if source in _ECHOES:
            return Refusal(reason=Reason.DERIVED_FROM_MEMORY, field="statement")
        if _same_scope(newcomer, twin):
            if cleared(case, twin) is not None:
                return Refusal(reason=Reason.DUPLICATE_MEMORY)
            return Refusal(reason=Reason.DUPLICATE_MEMORY, memory_id=twin.memory_id, current_version=twin.version)
    return None


def waits_already(case: Case) -> Refusal | None:
    """The very same request of the same author waits for a person already: one item is enough.

    All that was said is compared, where it comes from too: what somebody else says, or the same words from another
    source, waits on its own, so nobody keeps another's candidate from being looked at.
    """
    digests = case.opened.digests
    for each in case.known.twins:
        waits = each.lifecycle is Lifecycle.QUARANTINED and case.now < each.expires_at
        asked = digests is not None and each.asked == digests.payload and each.author == case.opened.principal
        if waits and asked:
            return Refusal(reason=Reason.DUPLICATE_MEMORY, memory_id=each.memory_id, current_version=each.version)
    return None


def bettered(
    case: Case, newcomer: Claimant, claim_ref: bytes | None, source: SourceKind
) -> tuple[MemoryState, tuple[str, ...]] | None:
    """The record whose very words the newcomer says with more behind them, and by which signals; it takes its place."""
    for twin in _twins(case, newcomer, claim_ref):
        if case.known.superseded is None and _betters(case, newcomer, twin, claim_ref, source):
            return twin, _standing_of(case, newcomer, twin)[0]
    return None


def same_words(case: Case, newcomer: Claimant, record: MemoryState) -> MemoryState | Refusal | None:
    """What says the very words of a record that is let into use, to the same readers: one of them is enough.

    The record takes its place where more stands behind it; else what is in use stays, and whoever lets in is told which
    it is: to confirm that one, or to reject this.
    """
    for twin in _twins(case, newcomer, record.claim_ref):
        if not _same_scope(newcomer, twin):
            continue
        if cleared(case, twin) is not None:
            return Refusal(reason=Reason.DUPLICATE_MEMORY)
        speaking, against = _standing_of(case, newcomer, twin)
        # A correction names what it replaces, and one fact retires one record.
        makes_its_claim = twin.claim_ref in (None, record.claim_ref) and _lasts_as_long(newcomer, twin, case.now)
        if record.supersedes is None and speaking and not against and makes_its_claim and not _lowers(newcomer, twin):
            return twin
        return Refusal(reason=Reason.DUPLICATE_MEMORY, memory_id=twin.memory_id, current_version=twin.version)
    return None


def _twins(case: Case, newcomer: Claimant, claim_ref: bytes | None) -> list[MemoryState]:
    return [
        each
        for each in case.known.twins
        if _running(each, case.now)
        and (each.claim_ref == claim_ref or None in (each.claim_ref, claim_ref))
        and _have_a_reader_in_common(newcomer, each)
        and _hold_at_one_time(newcomer, each, case.now)
    ]


def _betters(case: Case, newcomer: Claimant, twin: MemoryState, claim_ref: bytes | None, source: SourceKind) -> bool:
    """Whether more stands behind it, and it makes the claim that the twin makes: else what contradicts that would go
    on unmarked."""
    speaking, against = _standing_of(case, newcomer, twin)
    return bool(
        speaking
        and not against
        and source not in _ECHOES
        and _same_scope(newcomer, twin)
        and _lasts_as_long(newcomer, twin, case.now)
        and twin.claim_ref in (None, claim_ref)
        and ConflictPolicy.REQUIRE_REVIEW not in (newcomer.conflict_policy, twin.conflict_policy)
        and cleared(case, twin) is None
        and not _lowers(newcomer, twin)
    )


def _standing_of(case: Case, newcomer: Claimant, twin: MemoryState) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Signals but time: that the same is said later makes it no better."""
    speaking, against = _signals(case, newcomer, twin)
    return tuple(each for each in speaking if each != "time"), tuple(each for each in against if each != "time")


def standing(case: Case, newcomer: Claimant) -> Standing:
    """Where the newcomer stands. The records of ``case.known.rivals`` are active and readable."""
    rivals = tuple(each for each in case.known.rivals if contradicts(newcomer, each, case.now))
    if not rivals:
        return UNCONTESTED
    asked = {newcomer.conflict_policy, *(each.conflict_policy for each in rivals)}
    if ConflictPolicy.REQUIRE_REVIEW in asked or len(rivals) >= MOST_MEMBERS:
        return Standing(loses_to=rivals, review=True)
    compared = [_signals(case, newcomer, each) for each in rivals]
    if any(against and not speaking for speaking, against in compared):
        return Standing(loses_to=rivals)
    (speaking, against), rival = compared[0], rivals[0]
    wins = speaking and not against and _same_scope(newcomer, rival) and _lasts_as_long(newcomer, rival, case.now)
    if len(rivals) == 1 and wins:
        if cleared(case, rival) is not None or _lowers(newcomer, rival):
            return Standing(loses_to=rivals, review=True)
        return Standing(beats=rival, by=speaking)
    return Standing(ties=rivals)


def replacing(case: Case, newcomer: Claimant, claim_ref: bytes | None, old: MemoryState) -> tuple[Reason, ...]:
    """Why a person must see a correction before it takes the place of ``old``, which it names; empty where none must.

    Being named spares a record nothing that a contradiction would not: another owner's side of an open conflict is
    answered by a reviewer alone (see `decide_records.resolve`). Another claim would hide what contradicts the
    record from then on, and a lower sensitivity would show it to more readers.
    """
    reasons: list[Reason] = []
    if ConflictPolicy.REQUIRE_REVIEW in (newcomer.conflict_policy, old.conflict_policy) or (
        _is_contested(case, old) and not same_owner(case, old)
    ):
        reasons.append(Reason.CONFLICT_REVIEW)
    elif _signals(case, newcomer, old)[1]:
        reasons.append(Reason.CONTRADICTS)
    if _lowers(newcomer, old):
        reasons.append(Reason.SENSITIVITY_LOWERED)
    if old.author != case.opened.principal and old.claim_ref not in (None, claim_ref):
        reasons.append(Reason.CLAIM_CHANGED)
    return tuple(reasons)


def _is_contested(case: Case, old: MemoryState) -> bool:
    side = of_record(old, old.trust)
    return any(contradicts(side, each, case.now) for each in case.known.rivals)


def contradicts(newcomer: Claimant, rival: MemoryState, now: Millis) -> bool:
    """Whether some reader would get both, at one time, and they say different things."""
    return (
        rival.memory_id != newcomer.memory_id
        and _running(rival, now)
        and rival.content_hash != newcomer.content_hash
        and _have_a_reader_in_common(newcomer, rival)
        and _hold_at_one_time(newcomer, rival, now)
    )


def _running(rival: MemoryState, now: Millis) -> bool:
    return rival.lifecycle is Lifecycle.ACTIVE and now < rival.expires_at


def _have_a_reader_in_common(newcomer: Claimant, rival: MemoryState) -> bool:
    shared = Visibility.SHARED in (newcomer.visibility, rival.visibility)
    return (shared or newcomer.agent == rival.agent) and not set(newcomer.purposes).isdisjoint(rival.purposes)


def _hold_at_one_time(newcomer: Claimant, rival: MemoryState, now: Millis) -> bool:
    """A fact true until June and one true from July do not contradict each other, nor does what was true once."""
    start = max(newcomer.valid_from or 0, rival.valid_from or 0, now)
    return start < min(newcomer.valid_until or _ENDLESS, rival.valid_until or _ENDLESS)


def _same_scope(newcomer: Claimant, rival: MemoryState) -> bool:
    """Whether one may take the other's place: every reader of the one is a reader of the other (A31)."""
    return (
        newcomer.agent == rival.agent
        and newcomer.visibility is rival.visibility
        and set(newcomer.purposes) == set(rival.purposes)
        and set(newcomer.surfaces) == set(rival.surfaces)
    )


def covers(record: Claimant, other: MemoryState, now: Millis) -> bool:
    """Whether every reader of the other is one of the record, and at every time from now on at which the other holds:
    so that nobody is left with nothing when it gives way."""
    shared = Visibility.SHARED
    return (
        (record.visibility is shared or (record.agent == other.agent and other.visibility is not shared))
        and set(record.purposes) >= set(other.purposes)
        and (not record.surfaces or (bool(other.surfaces) and set(record.surfaces) >= set(other.surfaces)))
        and _lasts_as_long(record, other, now)
    )


def _lasts_as_long(record: Claimant, other: MemoryState, now: Millis) -> bool:
    return (record.valid_from or 0) <= max(other.valid_from or 0, now) and (record.valid_until or _ENDLESS) >= (
        other.valid_until or _ENDLESS
    )


def _lowers(newcomer: Claimant, rival: MemoryState) -> bool:
    return SENSITIVITY_RANK[newcomer.sensitivity] < SENSITIVITY_RANK[rival.sensitivity]


def _signals(case: Case, newcomer: Claimant, rival: MemoryState) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the signals that speak for the newcomer, and of those against it."""
    after = case.policy.conflicts.newer_wins_after
    later = newcomer.said_at - rival.said_at
    compared = (
        ("authority", _TRUST_RANK[newcomer.trust] - _TRUST_RANK[rival.trust]),
        ("confirmation", _confirmed(newcomer.confirmation) - _confirmed(rival.confirmation)),
        ("time", 0 if after is None or abs(later) < after else later),
    )
    return tuple(name for name, sign in compared if sign > 0), tuple(name for name, sign in compared if sign < 0)


def _confirmed(confirmation: Confirmation) -> int:
    return int(confirmation is Confirmation.CONFIRMED)
