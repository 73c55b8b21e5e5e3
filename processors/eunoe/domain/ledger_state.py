"""The ledger as a fold of the log: what an event makes of the entries it touches.

`fold` needs the event alone, so a ledger catches up from the log without the commands; and all that it needs had been
wanted by the command, so after a decision nothing more is loaded. New values are absolute. What is not known of other
tenants, or of sealed content, is not needed here.
"""

from typing import Final, assert_never

from msgspec.structs import replace

from eunoe.domain import ledger_tenants, rates
from eunoe.domain.entries import (
    HOUR_MS,
    ClaimState,
    CommandSeen,
    DayKey,
    Entry,
    ForgottenValue,
    IdempotencyEntry,
    KeyState,
    LedgerKey,
    Proposal,
    Quota,
    RateState,
    Request,
    SubjectState,
    bucket_key,
    claim_key,
    command_key,
    day_key,
    idempotency_key,
    key_key,
    memory_key,
    quota_key,
    rate_key,
    subject_key,
    tenant_key,
    value_key,
    words_key,
)
from eunoe.domain.ledger_indexes import contesting
from eunoe.domain.ledger_questions import idempotency_of, known, wanted, with_rivals
from eunoe.domain.ledger_records import Entries, find, indexes_of, lineage_of, of_sources, subjects_of, words_of
from eunoe.domain.memory import ImpossibleFact, MemoryState, evolve, touches, withdrawn
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import (
    ActionProposed,
    CandidateObserved,
    CommandDuplicate,
    CommandRejected,
    ConflictResolved,
    Event,
    EventHeader,
    ExportRecorded,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    KeyIssued,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    PartitionOpened,
    Reason,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
    SubjectRef,
    TenantActionProposed,
    TenantForgettingRequested,
    TenantForgotten,
    TenantReadmitted,
)
from eunoe.schemas.ids import MemoryId, TenantId
from eunoe.schemas.values import Lifecycle

__all__ = ["Entries", "contesting", "fold", "folds", "idempotency_of", "known", "wanted", "with_rivals"]


def folds(event: Event, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries`` to fold the event; asked again until empty, three times at most."""
    tenant, fact = event.header.tenant, event.fact
    keys = [memory_key(tenant, each) for each in touches(fact)]
    match fact:
        case MemoryAccepted(draft=draft) | MemoryQuarantined(draft=draft):
            keys.append(subject_key(tenant, draft.subject))
            keys += [subject_key(tenant, each.subject) for each in fact.about]
            keys += of_sources(draft, tenant, entries)
            keys += [words_key(tenant, fact.content_hash)] if fact.content_hash else []
            if isinstance(fact, MemoryAccepted):
                keys += [] if fact.claim_ref is None else [claim_key(tenant, fact.claim_ref)]
        case KeyIssued(subject=subject, created=True) if subject is not None:
            keys.append(subject_key(tenant, subject))
        case (
            SubjectForgotten(subject=subject)
            | SubjectReadmitted(subject=subject)
            | ForgettingRequested(subject=subject)
            | ForgettingWithdrawn(subject=subject)
            | SubjectHeld(subject=subject)
            | HoldLifted(subject=subject)
            | ActionProposed(subject=subject)
        ):
            keys.append(subject_key(tenant, subject))
            if isinstance(fact, SubjectHeld | HoldLifted):
                keys.append(tenant_key(tenant))
        case KeyIssued(created=True, bucket=None):
            keys.append(tenant_key(tenant))
        case TenantForgotten() | TenantReadmitted() | TenantForgettingRequested() | TenantActionProposed():
            keys.append(tenant_key(tenant))
    if isinstance(fact, _COUNTED):
        keys.append(quota_key(tenant))
    if rates.counts(fact):
        keys.append(rate_key(tenant))
    for each in touches(fact):
        record = find(entries, memory_key(tenant, each), MemoryState) if memory_key(tenant, each) in entries else None
        keys += [] if record is None else indexes_of(record)
        if record is not None and each in _leaving(fact):
            keys += subjects_of(record)
    return tuple(key for key in keys if key not in entries)


def fold(entries: Entries, event: Event) -> dict[LedgerKey, Entry]:
    """The new values of all entries the event changes; ``entries`` holds what `folds` asked for.

    Raises `ImpossibleFact` where the entries are not those of the log so far, ``KeyError`` where they were not loaded.
    """
    header, fact = event.header, event.fact
    tenant = header.tenant
    match fact:
        case PartitionOpened():
            return {}
        case CommandRejected(reason=Reason.NOT_DUE):
            # Not remembered: the same ExpireMemory is judged again until it is due.
            return {}
        case CommandRejected() | CommandDuplicate() | CandidateObserved():
            return _spent(entries, header, fact) | {
                command_key(tenant, header.command_id): CommandSeen(decided_at=header.decided_at)
            }
        case KeyIssued():
            changed = _issued(entries, header, fact)
        case SubjectForgotten() | SubjectReadmitted():
            changed = _turned(entries, tenant, fact)
        case ForgettingRequested() | ForgettingWithdrawn() | SubjectHeld() | HoldLifted() | ActionProposed():
            changed = _restricted(entries, header, fact)
        case TenantForgotten() | TenantReadmitted() | TenantForgettingRequested() | TenantActionProposed():
            changed = ledger_tenants.changed(entries, header, fact)
        case ExportRecorded():
            changed = {}
        case (
            MemoryAccepted()
            | MemoryQuarantined()
            | MemoryPromoted()
            | ConflictResolved()
            | MemoryRejected()
            | MemoryConfirmed()
            | MemoryRetracted()
            | MemorySuspended()
            | MemoryExpired()
            | MemoryForgotten()
        ):
            changed = _recorded(entries, header, fact)
        case unreachable:
            assert_never(unreachable)
    if isinstance(fact, _COUNTED):
        changed[quota_key(tenant)] = _used(find(entries, quota_key(tenant), Quota), header)
    changed |= _spent(entries, header, fact)
    changed[command_key(tenant, header.command_id)] = CommandSeen(decided_at=header.decided_at)
    if header.idempotency is not None:
        changed[idempotency_key(tenant, header.idempotency)] = _first(event)
    return changed


_RecordFact = (
    MemoryAccepted
    | MemoryQuarantined
    | MemoryPromoted
    | ConflictResolved
    | MemoryRejected
    | MemoryConfirmed
    | MemoryRetracted
    | MemorySuspended
    | MemoryExpired
    | MemoryForgotten
)


def _recorded(entries: Entries, header: EventHeader, fact: _RecordFact) -> dict[LedgerKey, Entry]:
    tenant = header.tenant
    changed: dict[LedgerKey, Entry] = {}
    for memory_id in touches(fact):
        key = memory_key(tenant, memory_id)
        before = find(entries, key, MemoryState)
        after = evolve(before, memory_id, header, fact)
        changed[key] = after
        _index(entries, before, after, changed)
    if isinstance(fact, MemoryAccepted | MemoryQuarantined):
        draft = fact.draft
        _link(entries, tenant, draft, changed)
        _count(entries, tenant, SubjectRef(subject=draft.subject, generation=draft.generation), 1, changed)
        for ref in fact.about:
            _count(entries, tenant, ref, 1, changed)
    for memory_id in _leaving(fact):
        record = find(entries, memory_key(tenant, memory_id), MemoryState)
        if record is not None:
            _let_go(entries, record, changed, for_good=isinstance(fact, MemoryForgotten))
    return changed


MOST_WAITING: Final = 16
"""Records under one index beyond which one that waits is not entered: who sends many makes no decision slower."""


def _leaving(fact: Fact) -> tuple[MemoryId, ...]:
    """The records that count no longer among what is held on anybody."""
    named = (fact.memory_id,) if isinstance(fact, MemoryForgotten) else ()
    return (*named, *(each.memory_id for each in withdrawn(fact)))


def _link(entries: Entries, tenant: TenantId, draft: Draft, changed: dict[LedgerKey, Entry]) -> None:
    """The new record knows all it stands on, and each of those knows of it."""
    sources = lineage_of(draft, tenant, entries)
    if not sources:
        return
    own = memory_key(tenant, draft.memory_id)
    state = changed[own]
    assert isinstance(state, MemoryState), "it was just born"
    changed[own] = replace(state, sources=sources)
    for each in sources:
        key = memory_key(tenant, each)
        # It may have given way to the new one in this very fact.
        source = changed.get(key) or find(entries, key, MemoryState)
        if not isinstance(source, MemoryState):
            raise ImpossibleFact("a record", own, f"it was built on {each}, which is unknown")
        changed[key] = replace(source, derived=(*source.derived, draft.memory_id))


def _let_go(entries: Entries, record: MemoryState, changed: dict[LedgerKey, Entry], *, for_good: bool) -> None:
    """``for_good``: the words are not taken again either."""
    tenant = record.tenant
    for ref in _concerned(record) if record.lifecycle is not Lifecycle.WITHDRAWN else ():
        _count(entries, tenant, ref, -1, changed)
    if for_good and record.content_hash:
        changed[value_key(tenant, record.content_hash)] = ForgottenValue(memory_id=record.memory_id)
        owner = subject_key(tenant, record.subject)
        state = changed.get(owner) or find(entries, owner, SubjectState)
        if not isinstance(state, SubjectState):
            raise ImpossibleFact("a record", owner, "its subject is unknown")
        changed[owner] = replace(state, forgotten_values=state.forgotten_values + 1)


def _index(entries: Entries, before: MemoryState | None, after: MemoryState, changed: dict[LedgerKey, Entry]) -> None:
    """A record is found by its claim while it is active, by its words while it is active or waits."""
    if before is not None and before.lifecycle is after.lifecycle:
        return
    active, waits = after.lifecycle is Lifecycle.ACTIVE, after.lifecycle is Lifecycle.QUARANTINED
    begins = before is None and not active
    for key in words_of(after) if begins else indexes_of(after):
        # One fact may change two records of a claim.
        state = changed.get(key) or find(entries, key, ClaimState)
        members = state.members if isinstance(state, ClaimState) else ()
        others = tuple(each for each in members if each != after.memory_id)
        entered = active or (waits and key in words_of(after) and len(others) < MOST_WAITING)
        changed[key] = ClaimState(members=(*others, after.memory_id) if entered else others)


def _concerned(record: MemoryState) -> tuple[SubjectRef, ...]:
    return (SubjectRef(subject=record.subject, generation=record.generation), *record.about)


def _count(entries: Entries, tenant: TenantId, ref: SubjectRef, change: int, changed: dict[LedgerKey, Entry]) -> None:
    """One record more or less for the subject, whose generation is open. The first mention makes the state."""
    key = subject_key(tenant, ref.subject)
    # One fact may be about several records of a person.
    state = changed.get(key) or find(entries, key, SubjectState)
    if state is None:
        state = SubjectState(generation=ref.generation, closed=False, root_key_id=None, records=0)
    assert isinstance(state, SubjectState), "nothing else has this key"
    if state.closed or state.generation != ref.generation:
        raise ImpossibleFact("a record", key, f"generation {ref.generation} is not open")
    changed[key] = replace(state, records=state.records + change)


def _issued(entries: Entries, header: EventHeader, fact: KeyIssued) -> dict[LedgerKey, Entry]:
    tenant = header.tenant
    if not fact.created:
        return {}
    if fact.subject is None and fact.bucket is not None:
        return {day_key(tenant, fact.bucket): DayKey(key_id=fact.key_id, decided_at=header.decided_at)}
    if fact.subject is None or fact.bucket is None:
        return ledger_tenants.opened(entries, tenant, fact)
    at = subject_key(tenant, fact.subject)
    state = find(entries, at, SubjectState)
    if state is not None and (state.closed or state.generation != fact.generation):
        raise ImpossibleFact("KeyIssued", at, f"generation {fact.generation} is not open")
    key = KeyState(key_id=fact.key_id, subject=fact.subject, generation=fact.generation, bucket=fact.bucket)
    return {
        at: SubjectState(generation=fact.generation, closed=False, root_key_id=fact.root_key_id, records=0)
        if state is None
        else replace(state, root_key_id=fact.root_key_id),
        key_key(tenant, fact.key_id): key,
        bucket_key(tenant, fact.subject, fact.generation, fact.bucket): key,
    }


def _turned(entries: Entries, tenant: TenantId, fact: SubjectForgotten | SubjectReadmitted) -> dict[LedgerKey, Entry]:
    """One entry, however many records there are."""
    key = subject_key(tenant, fact.subject)
    state = find(entries, key, SubjectState)
    closing = isinstance(fact, SubjectForgotten)
    follows = state is not None and fact.generation == state.generation + (0 if closing else 1)
    if state is None or not follows or state.closed is closing:
        raise ImpossibleFact(type(fact).__name__, key, f"generation {fact.generation} does not follow")
    return {
        key: SubjectState(
            generation=fact.generation,
            closed=closing,
            root_key_id=state.root_key_id if closing else None,
            records=state.records if closing else 0,
        )
    }


_COUNTED = (SubjectForgotten, MemoryForgotten, ForgettingRequested, TenantForgotten, TenantForgettingRequested)
"""What a principal may have only so much of in an hour."""


def _spent(entries: Entries, header: EventHeader, fact: Fact) -> dict[LedgerKey, Entry]:
    if not rates.counts(fact):
        return {}
    key = rate_key(header.tenant)
    return {key: rates.spent(find(entries, key, RateState), header)}


def _used(quota: Quota | None, header: EventHeader) -> Quota:
    hour = header.decided_at // HOUR_MS
    used = dict(quota.used) if quota is not None and quota.hour == hour else {}
    used[header.principal] = used.get(header.principal, 0) + 1
    return Quota(hour=hour, used=tuple(sorted(used.items())))


_Restricting = ForgettingRequested | ForgettingWithdrawn | SubjectHeld | HoldLifted | ActionProposed


def _restricted(entries: Entries, header: EventHeader, fact: _Restricting) -> dict[LedgerKey, Entry]:
    """What was asked for about a person and changes no record. Only a proposal may be about a closed generation."""
    key = subject_key(header.tenant, fact.subject)
    state = find(entries, key, SubjectState)
    if state is None or state.generation != fact.generation:
        raise ImpossibleFact(type(fact).__name__, key, f"generation {fact.generation} is not the latest")
    if state.closed and not isinstance(fact, ActionProposed):
        raise ImpossibleFact(type(fact).__name__, key, f"generation {fact.generation} is closed")
    match fact:
        case ForgettingRequested(due_at=due_at, authorized=authorized):
            request = Request(principal=header.principal, due_at=due_at, authorized=authorized)
            return {key: replace(state, request=request)}
        case ForgettingWithdrawn():
            return {key: replace(state, request=None)}
        case SubjectHeld(review_at=review_at):
            more = 1 if state.review_at is None else 0
            held = ledger_tenants.held(entries, header.tenant, more)
            return {key: replace(state, review_at=review_at), **held}
        case HoldLifted():
            fewer = 0 if state.review_at is None else -1
            held = ledger_tenants.held(entries, header.tenant, fewer)
            return {key: replace(state, review_at=None, proposal=None), **held}
        case ActionProposed(action=action, owner=owner):
            proposal = Proposal(action=action, principal=header.principal, owner=owner, at=header.decided_at)
            return {key: replace(state, proposal=proposal)}
        case unreachable:
            assert_never(unreachable)


def _first(event: Event) -> IdempotencyEntry:
    """What a repetition of this request will be answered with."""
    header, fact = event.header, event.fact
    touched = touches(fact)
    return IdempotencyEntry(
        first_command_id=header.command_id,
        payload_digest=header.payload_digest or b"",
        memory_id=touched[0] if touched else None,
        version=getattr(fact, "version", 1) if touched else None,
        decided_at=header.decided_at,
        records=fact.records if isinstance(fact, SubjectForgotten) else None,
    )
