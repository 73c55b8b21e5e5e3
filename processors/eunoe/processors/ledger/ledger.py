"""One partition's ledger: read against its watermark, written with it.

Every read names the position this decider last wrote; a Redis that was flushed, failed over or moved by somebody else
answers `WatermarkMismatch`, and nothing is judged on it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from redis.asyncio import Redis

from eunoe.domain.entries import (
    CommandSeen,
    DayKey,
    Entry,
    IdempotencyEntry,
    LedgerKey,
    SubjectState,
    TenantState,
    decode_entry,
    encode_entry,
    goes_with,
    person_of,
)
from eunoe.domain.ledger_records import record_closed, subjects_of
from eunoe.domain.memory import MemoryState
from eunoe.processors.ledger import keys
from eunoe.runtime.redis.functions import FunctionLibrary, lua
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.removing import remove_keys
from eunoe.runtime.redis.watermark import Operation, Step, Watermark
from eunoe.schemas.ids import Millis, Offset, Pseudonym, TenantId
from eunoe.schemas.values import Lifecycle

_EVENTS_A_CALL: Final = 60
"""About 250 writes and 0.5 ms in Redis: a bystander's command waits no longer than that."""
_LAPSED_A_SWEEP: Final = 500
LIBRARY: Final = FunctionLibrary("eunoe_ledger", lua("eunoe.processors.ledger", "ledger.lua"), {"drop_lapsed": False})
_START: Final = Offset(0)
_EPOCH: Final = Millis(0)
_CAN_EXPIRE: Final = frozenset({Lifecycle.ACTIVE, Lifecycle.QUARANTINED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """Where the ledger is: next offset of the lifecycle log, next offset of the input, time of the last decision."""

    position: Offset = _START
    next_input: Offset = _START
    decided_at: Millis = _EPOCH

    @classmethod
    def of(cls, found: Mapping[str, str]) -> "Marks":
        return cls(
            position=Offset(int(found.get("position", 0))),
            next_input=Offset(int(found.get("input", 0))),
            decided_at=Millis(int(found.get("decided_at", 0))),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What one event made of the entries it touched, and where the marks are after it. ``forgets``: the tenant of which
    nothing else may be left then."""

    entries: Mapping[LedgerKey, Entry]
    marks: Marks
    forgets: TenantId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFor:
    """A person whom somebody asked to forget, whom no hold keeps, and when it is due."""

    tenant: TenantId
    subject: Pseudonym
    generation: int
    due_at: Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingTenant:
    """A tenant that two people want forgotten, and that no legal hold keeps any more."""

    tenant: TenantId
    incarnation: int


Missing = Callable[[Mapping[LedgerKey, Entry | None]], Iterable[LedgerKey]]
"""Which keys are still missing from what was loaded; asked again until it names none."""


class Ledger:
    """``retention`` (ms of log time): how long command ids and idempotency keys are kept, physically; asked each time
    something is deleted, for a policy may change it."""

    def __init__(self, redis: "Redis", prefix: Prefix, retention: Callable[[], int]) -> None:
        self._redis = redis
        self._prefix = prefix
        self._retention = retention
        self._functions = LIBRARY.load()
        self._watermark = Watermark(redis, prefix, self._functions)

    async def marks(self) -> Marks:
        return Marks.of(await self._watermark.marks())

    async def complete(self, position: Offset, entries: dict[LedgerKey, Entry | None], missing: Missing) -> None:
        """Load into ``entries`` whatever ``missing`` asks for. Raises `WatermarkMismatch`."""
        while wanted := list(dict.fromkeys(missing(entries))):
            names = [keys.entry(self._prefix, each) for each in wanted]
            _, found = await self._watermark.read(position, names)
            for key, value in zip(wanted, found, strict=True):
                entries[key] = None if value is None else decode_entry(value)

    async def write(self, before: Marks, changes: Sequence[Change], after: Marks) -> None:
        """Fold ``changes`` in and move the marks from ``before`` to ``after``. Raises `WatermarkMismatch`.

        A forgotten tenant's entries are removed before the marks pass that event, so that what its name stands for
        afterwards starts empty: after a crash in between the event is folded, and the rest removed, once more.
        """
        for at, change in enumerate(changes):
            if change.forgets is not None:
                here = changes[at - 1].marks if at else before
                await self._move(before, changes[:at], here)
                await self._remove(here.position, change.forgets)
                rest = changes[at:]
                first = Change(change.entries, change.marks)
                return await self.write(here, [first, *rest[1:]], after)
        await self._move(before, changes, after)

    async def _remove(self, position: Offset, tenant: TenantId) -> None:
        """Raises `WatermarkMismatch`: whoever is at another position may have folded what came after."""
        await remove_keys(
            self._redis,
            self._watermark,
            self._prefix,
            position,
            tenant,
            lambda rest: goes_with(LedgerKey(rest), tenant),
        )

    async def _move(self, before: Marks, changes: Sequence[Change], after: Marks) -> None:
        steps = []
        start = before
        for first in range(0, len(changes), _EVENTS_A_CALL):
            run = changes[first : first + _EVENTS_A_CALL]
            end = after if first + _EVENTS_A_CALL >= len(changes) else run[-1].marks
            merged: dict[LedgerKey, Entry] = {}
            for change in run:
                merged.update(change.entries)
            steps.append(self._step(start, end, merged))
            start = end
        await self._watermark.move(steps or [self._step(before, after, {})])

    def _step(self, start: Marks, end: Marks, entries: Mapping[LedgerKey, Entry]) -> Step:
        values: list[str | bytes] = []
        lapsing: list[str | int] = []
        due: list[str | int] = []
        over: list[str] = []
        for key, entry in entries.items():
            values += (keys.entry(self._prefix, key), encode_entry(entry))
            if isinstance(entry, CommandSeen | IdempotencyEntry | DayKey):
                lapsing += (entry.decided_at, key)
            elif isinstance(entry, MemoryState):
                if entry.lifecycle in _CAN_EXPIRE:
                    due += (entry.expires_at, key)
                else:
                    over.append(key)
            elif isinstance(entry, TenantState) and entry.request is not None and not entry.holds:
                due += (entry.request.due_at or 0, key)
            elif isinstance(entry, SubjectState) and (at := _forgotten_at(entry)) is not None:
                due += (at, key)
        operations: list[Operation] = [
            (command, *name, *arguments)
            for command, name, arguments in (
                ("MSET", (), values),
                ("ZADD", (keys.lapsing(self._prefix),), lapsing),
                ("ZADD", (keys.due(self._prefix),), due),
                ("ZREM", (keys.due(self._prefix),), over),
            )
            if arguments
        ]
        marks = {"input": end.next_input, "decided_at": end.decided_at}
        return Step(start.position, end.position, operations, marks)

    async def due(self, now: Millis, most: int) -> list[MemoryState | AskedFor | EndingTenant]:
        """Up to ``most`` records whose ``expires_at`` is not after ``now``, and people and tenants to be forgotten by
        then.

        Not checked against the watermark: what it yields is only proposed, and judged again. A record of a forgotten
        subject can never expire, so it leaves the index here.
        """
        found = await self._up_to(keys.due(self._prefix), now, most)
        # An entry may have moved on since the index was read.
        entries = await self._entries(found)
        gone = [key for key, entry in entries.items() if entry is None]
        states = {
            key: entry
            for key, entry in entries.items()
            if isinstance(entry, MemoryState) and entry.lifecycle in _CAN_EXPIRE
        }
        tenants = {key: _ending(key, entry) for key, entry in entries.items() if isinstance(entry, TenantState)}
        people = {key: entry for key, entry in entries.items() if isinstance(entry, SubjectState)}
        named = {each for state in states.values() for each in subjects_of(state)}
        subjects = await self._entries(sorted(named))
        over = gone + [key for key, state in states.items() if record_closed(state, subjects)]
        asked = {key: _asked_for(key, state) for key, state in people.items()}
        over += [key for ended in (asked, tenants) for key, each in ended.items() if each is None]
        if over:
            await self._redis.zrem(keys.due(self._prefix), *over)
        records = [state for key, state in states.items() if key not in over]
        ending = [each for each in tenants.values() if each is not None]
        return [*records, *ending, *(each for each in asked.values() if each is not None and each.due_at <= now)]

    async def _entries(self, wanted: Sequence[LedgerKey]) -> dict[LedgerKey, Entry | None]:
        if not wanted:
            return {}
        values = await self._redis.mget([keys.entry(self._prefix, each) for each in wanted])
        return {
            key: None if value is None else decode_entry(cast("bytes", value))
            for key, value in zip(wanted, values, strict=True)
        }

    async def drop_lapsed(self) -> int:
        """Delete a few entries that `decide` already ignores, by the time of the last decision. Returns how many."""
        names = (self._prefix.watermark, keys.lapsing(self._prefix))
        arguments = (self._retention(), _LAPSED_A_SWEEP)
        return int(await self._functions.call(self._redis, "drop_lapsed", names, arguments))

    async def _up_to(self, index: str, score: Millis, most: int) -> list[LedgerKey]:
        found = await self._redis.zrange(index, "-inf", str(score), byscore=True, offset=0, num=most)
        return [LedgerKey(cast("bytes", each).decode()) for each in found]


def _forgotten_at(state: SubjectState) -> Millis | None:
    if state.closed or state.review_at is not None or state.request is None:
        return None
    return state.request.due_at


def _ending(key: LedgerKey, state: TenantState) -> EndingTenant | None:
    if state.closed or state.request is None or state.holds:
        return None
    return EndingTenant(tenant=TenantId(key.partition(":")[2]), incarnation=state.incarnation)


def _asked_for(key: LedgerKey, state: SubjectState) -> AskedFor | None:
    """None where the request was withdrawn, carried out, or a hold keeps it (which names it anew when it lifts)."""
    due_at = _forgotten_at(state)
    if due_at is None:
        return None
    tenant, subject = person_of(key)
    return AskedFor(tenant=tenant, subject=subject, generation=state.generation, due_at=due_at)
