"""From the log to what leaves of it: which records are exported, and each of their facts in the form that is signed.

Pure. A record goes out only if its text can be opened, its people can be named, it has not expired, and what replaced
it goes out too: without that it would be in use again where it is brought in. What was built on one that stays, stays;
but a source that has expired is no longer named, where its people are named by what was built on it as well.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from eunoe.client.held import Held, HeldRecord
from eunoe.domain.memory import touches
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.events import (
    ConflictResolved,
    Event,
    Fact,
    Finding,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
)
from eunoe.schemas.ids import MemoryId, Millis
from eunoe.schemas.restored import Restored, RestoredFinding
from eunoe.schemas.values import Lifecycle

_EXPIRED: Final = "expired"
_BEGIN: Final = (MemoryAccepted, MemoryQuarantined)
_CHANGE: Final = (MemoryPromoted, MemoryRejected, MemoryConfirmed, MemoryRetracted, MemorySuspended, ConflictResolved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One fact of an export. ``draft`` and ``body`` where it begins the record."""

    memory_id: MemoryId
    draft: Draft | None
    body: MemoryBody | None
    restored: Restored


@dataclass(frozen=True, slots=True)
class Chosen:
    """``left_out``: how many records stay, by why."""

    facts: tuple[Outgoing, ...]
    records: int
    left_out: Mapping[str, int]


def chosen(
    held: Held, bodies: Mapping[MemoryId, MemoryBody], named: frozenset[MemoryId], now: Millis, incarnation: int = 1
) -> Chosen:
    """``bodies``: what could be opened; ``named``: records whose sealed names are those of their pseudonyms.
    ``incarnation``: of the tenant."""
    left: dict[MemoryId, str] = {}
    own = frozenset(each for each, record in held.records.items() if _names_all(record))
    for memory_id, record in held.records.items():
        why = _stays(held, record, memory_id in bodies, memory_id in named, now)
        if why is not None:
            left[memory_id] = why
    replaced = {old: new for event in held.facts for new, old in _replaced(event.fact)}
    while more := {
        each: why for each, why in _follow(held, replaced, left, own) if each in held.records and each not in left
    }:
        left |= more
    out = frozenset(held.records) - frozenset(left)
    return Chosen(
        tuple(_outgoing(held.facts, bodies, out, incarnation)), len(out), dict(sorted(Counter(left.values()).items()))
    )


def _follow(
    held: Held, replaced: Mapping[MemoryId, MemoryId], left: Mapping[MemoryId, str], own: Collection[MemoryId]
) -> Iterable[tuple[MemoryId, str]]:
    """What cannot go out without those that are ``left`` out, and why. ``own``: those that need no source to say whom
    they concern."""
    yield from ((old, "replaced_by_one_left_out") for old, new in replaced.items() if new in left)
    for memory_id, record in held.records.items():
        stays = [left[each.memory_id] for each in record.draft.derived_from if each.memory_id in left]
        if any(why != _EXPIRED or memory_id not in own for why in stays):
            yield memory_id, "built_on_one_left_out"


def _names_all(record: HeldRecord) -> bool:
    """Whether its author named everybody whom it concerns: then they are known also where its sources are not."""
    return {each.subject for each in record.whom} <= {record.draft.subject, *record.draft.about}


def _stays(held: Held, record: HeldRecord, opened: bool, named: bool, now: Millis) -> str | None:
    if held.erased(record):
        return "forgotten"
    if record.state.lifecycle is Lifecycle.EXPIRED or record.draft.expires_at <= now:
        return _EXPIRED
    if not opened:
        return "unreadable"
    return None if named else "people_not_named"


def _replaced(fact: Fact) -> Iterable[tuple[MemoryId, MemoryId]]:
    """The newcomer and the record that gave way to it."""
    match fact:
        case MemoryAccepted(draft=draft, supersedes=old) if old is not None:
            yield draft.memory_id, old.memory_id
        case MemoryPromoted(memory_id=memory_id, supersedes=old) if old is not None:
            yield memory_id, old.memory_id
        case ConflictResolved(memory_id=memory_id, superseded=gone):
            yield from ((memory_id, each.memory_id) for each in gone)
        case _:
            pass


def _outgoing(
    events: Iterable[Event], bodies: Mapping[MemoryId, MemoryBody], out: frozenset[MemoryId], incarnation: int
) -> Iterable[Outgoing]:
    """Versions are counted anew: one that only a record that stays had brought about is not there."""
    versions: Counter[MemoryId] = Counter()
    for event in events:
        fact = event.fact
        memory_id, *others = touches(fact)
        if memory_id not in out or not isinstance(fact, (*_BEGIN, *_CHANGE)):
            continue
        versions.update((memory_id, *(each for each in others if each in out)))
        begins = isinstance(fact, _BEGIN)
        yield Outgoing(
            memory_id=memory_id,
            draft=_standing_on(fact.draft, out) if isinstance(fact, _BEGIN) else None,
            body=bodies[memory_id] if begins else None,
            restored=restored_of(event, versions[memory_id], out, incarnation),
        )


def _standing_on(draft: Draft, out: frozenset[MemoryId]) -> Draft:
    """Without the sources that do not go out."""
    kept = tuple(each for each in draft.derived_from if each.memory_id in out)
    return draft if kept == draft.derived_from else replace(draft, derived_from=kept)


def restored_of(event: Event, version: int, out: frozenset[MemoryId], incarnation: int = 1) -> Restored:
    """The fact without what belongs to this installation; of other records it names those that go ``out``."""
    fact, said = event.fact, event.header.said
    superseded = tuple(old for _, old in _replaced(fact) if old in out)
    contested = tuple(each.memory_id for each in getattr(fact, "conflicts_with", ()) if hasattr(each, "memory_id"))
    waits = fact if isinstance(fact, MemoryQuarantined) else None
    findings: tuple[Finding, ...] = getattr(fact, "findings", ())
    named = fact.reason if isinstance(fact, MemoryRejected | MemoryRetracted) else None
    reasons: tuple[str, ...] = getattr(fact, "reasons", ())
    return Restored(
        what=type(fact).__name__,
        version=version,
        incarnation=incarnation,
        trust=getattr(fact, "trust", None),
        confirmation=getattr(fact, "confirmation", None),
        superseded=superseded,
        contested=tuple(each for each in contested if each in out),
        supersedes=None if waits is None or waits.supersedes not in out else waits.supersedes,
        conflicts=() if waits is None else tuple(each for each in waits.conflicts_with if each in out),
        reasons=tuple(str(each) for each in reasons) if named is None else (named,),
        settled_by=getattr(fact, "settled_by", ()),
        owner=getattr(fact, "owner", ""),
        claim_changed=getattr(fact, "claim_changed", False),
        policy_influence=waits is not None and waits.policy_influence,
        reviewable_at=getattr(fact, "reviewable_at", Millis(0)),
        findings=tuple(
            RestoredFinding(detector=each.detector, rule=each.rule, verdict=each.verdict) for each in findings
        ),
        at=said.decided_at,
        by=said.principal,
        event_id=said.event_id,
        command_id=said.command_id,
        policy_version=said.policy_version,
        policy_hash=said.policy_hash,
    )
