"""What must hold of a log whatever was done to those who wrote it. Pure: it is given what lies on the topics.

A **place** is a record of ``memory-events``. Every place is worked on exactly once: it has an event that names it, or
a dead letter, or it repeats a command that an earlier place brought (which only moves the input offset on). `not_due`
is the one refusal that is not remembered: the same proposal may be judged again, and then has another event.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from eunoe.domain.memory import touches
from eunoe.schemas.commands import ExpireMemory
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
    ConflictResolved,
    Fact,
    KeyIssued,
    MemoryAccepted,
    MemoryPromoted,
    MemoryQuarantined,
    PartitionOpened,
    Reason,
)
from eunoe.schemas.ids import CommandId, MemoryId, TenantId
from eunoe.schemas.partitioning import partition_of
from eunoe.testing.chaos.logged import Asked, Decided, Logged


class Violation(Struct, frozen=True, kw_only=True):
    """``check`` names the rule. ``where`` and ``what`` are free of content."""

    check: str
    where: str
    what: str


Check = Callable[[Logged], Iterable[tuple[str, str]]]


def _is_outcome(each: Decided) -> bool:
    return not isinstance(each.event.fact, PartitionOpened)


def _not_due(fact: Fact) -> bool:
    return isinstance(fact, CommandRejected) and fact.reason is Reason.NOT_DUE


def _at(each: Decided) -> str:
    return f"memory-lifecycle[{each.partition}]@{each.offset}"


def _place(each: Asked) -> str:
    return f"memory-events[{each.partition}]@{each.offset}"


def one_outcome(log: Logged) -> Iterator[tuple[str, str]]:
    """Each command has exactly one outcome, or no outcome and a dead letter for each of its records."""
    outcomes: dict[CommandId, list[Decided]] = defaultdict(list)
    for each in filter(_is_outcome, log.decided):
        outcomes[each.event.header.command_id].append(each)
    for command_id, found in outcomes.items():
        final = [each for each in found if not _not_due(each.event.fact)]
        if len(final) > 1:
            yield _at(final[1]), f"command {command_id} has {len(final)} outcomes; the first is at {_at(final[0])}"
    letters = {(each.partition, each.offset) for each in log.letters}
    for asked in log.asked:
        if (asked.partition, asked.offset) not in letters and asked.command_id not in outcomes:
            yield _place(asked), f"command {asked.command_id} has no outcome, and the record no dead letter"


def from_its_command(log: Logged) -> Iterator[tuple[str, str]]:
    """Each event names the record that brought its command, in its partition, for its tenant; no two name one."""
    places = {(each.partition, each.offset): each for each in log.asked}
    letters = {(each.partition, each.offset) for each in log.letters}
    seen: dict[tuple[int, int], Decided] = {}
    for each in filter(_is_outcome, log.decided):
        header = each.event.header
        at = (each.partition, header.input_offset)
        asked = places.get(at)
        if asked is None or asked.command_id != header.command_id:
            yield _at(each), f"input offset {header.input_offset} is not where command {header.command_id} was"
        elif asked.command is not None and asked.command.tenant != header.tenant:
            yield _at(each), "the event is of another tenant than its command"
        if at in seen:
            yield _at(each), f"the record {at[1]} was decided before, at {_at(seen[at])}"
        if at in letters:
            yield _at(each), f"the record {at[1]} has a dead letter, too"
        seen[at] = each


def one_letter(log: Logged) -> Iterator[tuple[str, str]]:
    """No record has two dead letters, and none is of a record that is not there."""
    places = {(each.partition, each.offset) for each in log.asked}
    seen: set[tuple[int, int]] = set()
    for each in log.letters:
        at = (each.partition, each.offset)
        if at in seen:
            yield f"memory-events[{at[0]}]@{at[1]}", "has two dead letters"
        if at not in places:
            yield f"memory-events[{at[0]}]@{at[1]}", "has a dead letter, and there is no such record"
        seen.add(at)


def in_order(log: Logged) -> Iterator[tuple[str, str]]:
    """In each partition events come in the order of their commands (S5), and log time never goes back."""
    last: dict[int, Decided] = {}
    for each in filter(_is_outcome, log.decided):
        before = last.get(each.partition)
        if before is not None and each.event.header.input_offset <= before.event.header.input_offset:
            yield _at(each), f"input offset {each.event.header.input_offset} after {before.event.header.input_offset}"
        if before is not None and each.event.header.decided_at < before.event.header.decided_at:
            yield _at(each), "decided_at went back"
        last[each.partition] = each


def in_its_partition(log: Logged) -> Iterator[tuple[str, str]]:
    """Every event lies where its tenant belongs, under its tenant's key (S14)."""
    for each in filter(_is_outcome, log.decided):
        tenant = each.event.header.tenant
        if each.key != tenant.encode() or partition_of(tenant, log.partitions) != each.partition:
            yield _at(each), "lies in another partition, or under another key, than its tenant's"


def opened_once(log: Logged) -> Iterator[tuple[str, str]]:
    """One genesis record a partition, and nothing before it."""
    seen: set[int] = set()
    for each in log.decided:
        if isinstance(each.event.fact, PartitionOpened) == (each.partition in seen):
            yield _at(each), "a partition is opened once, by its first record"
        seen.add(each.partition)


def versions(log: Logged) -> Iterator[tuple[str, str]]:
    """The versions of each record are 1, 2, 3 … in the order of the log: none missing, none twice."""
    known: dict[tuple[TenantId, MemoryId], int] = {}
    for each in log.decided:
        for memory_id, version in versions_of(each.event.fact):
            key = (each.event.header.tenant, memory_id)
            if version != known.get(key, 0) + 1:
                yield _at(each), f"{memory_id} goes from version {known.get(key, 0)} to {version}"
            known[key] = version


def versions_of(fact: Fact) -> Iterator[tuple[MemoryId, int]]:
    """Each record that the fact changes, with its version afterwards, as the fact says."""
    match fact:
        case MemoryAccepted(draft=draft, supersedes=old, conflicts_with=rivals):
            yield draft.memory_id, 1
            yield from _others(() if old is None else (old,), rivals)
        case MemoryQuarantined(draft=draft):
            yield draft.memory_id, 1
        case MemoryPromoted(memory_id=memory_id, version=version, supersedes=old, conflicts_with=rivals):
            yield memory_id, version
            yield from _others(() if old is None else (old,), rivals)
        case ConflictResolved(memory_id=memory_id, version=version, superseded=superseded):
            yield memory_id, version
            yield from _others(superseded)
        case _:
            for memory_id in touches(fact):
                yield memory_id, getattr(fact, "version", 0)


def _others(*groups: Iterable[object]) -> Iterator[tuple[MemoryId, int]]:
    for group in groups:
        for each in group:
            yield each.memory_id, each.version  # type: ignore[attr-defined]  # SupersededRef or ConflictRef


def idempotency(log: Logged) -> Iterator[tuple[str, str]]:
    """Of all requests under one key one takes effect; a duplicate is of that one, and says what it had said."""
    effective: dict[tuple[TenantId, bytes], Decided] = {}
    for each in filter(_is_outcome, log.decided):
        header, fact = each.event.header, each.event.fact
        if header.idempotency is None:
            continue
        first = effective.get((header.tenant, header.idempotency))
        if isinstance(fact, CommandDuplicate):
            yield from ((_at(each), what) for what in _as_the_first(fact, each, first))
        elif isinstance(fact, CommandRejected):
            same = first is not None and first.event.header.payload_digest == header.payload_digest
            if fact.reason is Reason.IDEMPOTENCY_MISMATCH and (first is None or same):
                yield _at(each), "refused as another request under its key, and there is no other"
        elif first is not None:
            yield _at(each), f"took effect under a key that had taken effect at {_at(first)}"
        else:
            effective[header.tenant, header.idempotency] = each


def _as_the_first(fact: CommandDuplicate, each: Decided, first: Decided | None) -> Iterator[str]:
    if first is None or first.event.header.command_id != fact.first_command_id:
        yield "a duplicate of a command that did not take effect under this key before it"
        return
    if first.event.header.payload_digest != each.event.header.payload_digest:
        yield "called a duplicate of a request with another payload"
    changed = dict(versions_of(first.event.fact))
    if fact.memory_id is not None and changed.get(fact.memory_id) != fact.version:
        yield f"{fact.memory_id} version {fact.version} is not what the first request led to"


def one_key(log: Logged) -> Iterator[tuple[str, str]]:
    """For each bucket of a subject's generation, each day and each tenant one key is made; every answer names it."""
    made: dict[tuple[object, ...], str] = {}
    for each in log.decided:
        fact = each.event.fact
        if not isinstance(fact, KeyIssued):
            continue
        place = (each.event.header.tenant, fact.incarnation, fact.subject, fact.generation, fact.bucket)
        if fact.created == (place in made):
            yield _at(each), "a second key was made" if fact.created else "an answer names a key that nobody made"
        elif made.setdefault(place, fact.key_id) != fact.key_id:
            yield _at(each), "another key than the one that was made"


def swept_rightly(log: Logged) -> Iterator[tuple[str, str]]:
    """Nothing expires before its time, by log time, whatever the sweeper's clock says."""
    asked = {each.command_id: each.command for each in log.asked}
    for each in log.decided:
        command = asked.get(each.event.header.command_id)
        refused = isinstance(each.event.fact, CommandRejected | CommandDuplicate)
        if isinstance(command, ExpireMemory) and not refused and command.expires_at > each.event.header.decided_at:
            yield _at(each), f"expired {command.expires_at - each.event.header.decided_at} ms before its time"


CHECKS: Final[Mapping[str, Check]] = {
    "each command has exactly one outcome": one_outcome,
    "each event comes from its command": from_its_command,
    "each bad record has one dead letter": one_letter,
    "events come in the order of commands": in_order,
    "each event is in its tenant's partition": in_its_partition,
    "each partition is opened once": opened_once,
    "versions have no gap and no repeat": versions,
    "idempotency held": idempotency,
    "one key for each place": one_key,
    "nothing expires before its time": swept_rightly,
}


def violations(log: Logged) -> tuple[Violation, ...]:
    """Of every check, in the order of the log."""
    return tuple(
        Violation(check=name, where=where, what=what) for name, check in CHECKS.items() for where, what in check(log)
    )


def lost(log: Logged, confirmed: Collection[str]) -> Iterator[Violation]:
    """Commands that Kafka confirmed to their producers and that are not on ``memory-events``."""
    there = {each.command_id for each in log.asked}
    for command_id in confirmed:
        if command_id not in there:
            what = "was confirmed to its producer, and is not there"
            yield Violation(check="nothing confirmed is lost", where=f"command {command_id}", what=what)
