"""Reading the queue from the ``review`` model. Who may, and what is opened, is the caller's matter.

An item is told only while somebody could decide about it: what is past its ``expires_at``, or about somebody who is
forgotten, is left out from that moment on, whether it has been removed yet or not.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from redis.asyncio import Redis

from eunoe.readmodels.recall.errors import BadScope, TooStale
from eunoe.readmodels.review import NAME, ReviewNames
from eunoe.readmodels.review_alike import MOST, beside, is_told
from eunoe.readmodels.review_items import (
    Conflict,
    Contested,
    Item,
    Page,
    Quarantined,
    Suspended,
    Waiting,
)
from eunoe.readmodels.review_kept import FIELDS, Kept, Wanted, kept_of
from eunoe.readmodels.serving import Serving, being_filled
from eunoe.readmodels.store import answers, ask, text, texts
from eunoe.runtime.installation import Installation
from eunoe.schemas.ids import MemoryId, Millis, Offset, Pseudonym, TenantId

T = TypeVar("T")
_Told = Mapping[MemoryId, tuple[Quarantined, frozenset[Pseudonym]]]

_CHUNK: Final = 200
"""Queue members looked at in one round: a filter that nothing passes costs one round trip for each of so many."""
_WAITING: Final = "w:"
_CLAIM: Final = "c:"


class ReviewReader:
    """Answers from the model; raises `StoreUnavailable`, or `Undecodable` for what a newer version stored.

    ``max_lag`` (ms): fails closed with `TooStale` where the model may lag more, for it would not know of an erasure.
    """

    def __init__(
        self,
        redis: Redis,
        installation: Installation,
        clock: Callable[[], Millis],
        *,
        max_lag: int | None = None,
        generation: int | None = None,
    ) -> None:
        self._redis = redis
        self._installation = installation
        self._clock = clock
        self._max_lag = max_lag
        self._serving = Serving(redis, installation, NAME, generation)

    async def page(self, tenant: TenantId, wanted: Wanted, limit: int, cursor: str | None = None) -> Page:
        """At most ``limit`` items, oldest first, after ``cursor``. Raises `BadScope` for a text that is no cursor."""
        last = None if cursor is None else _position(cursor)
        return await self._read(tenant, lambda names: self._page(names, tenant, wanted, limit, last))

    async def _page(
        self, names: ReviewNames, tenant: TenantId, wanted: Wanted, limit: int, last: tuple[int, str] | None
    ) -> Page:
        until = Millis(self._clock() - wanted.min_age)
        found: list[Item] = []
        examined, more = 0, True
        with answers("reading the review queue"):
            position = await self._fresh(names)
            members, repeats = await ask(self._redis, ("ZCARD", names.queue(tenant)), ("GET", names.repeats(tenant)))
            while more and len(found) < limit:
                stretch, more = await self._members(names, tenant, last)
                due = [each for each in stretch if each[0] <= until]
                more = more and len(due) == len(stretch)
                for at, item in zip(due, await self._items(names, tenant, wanted, due), strict=True):
                    if len(found) == limit:
                        more = True
                        break
                    last, examined = at, examined + 1
                    if item is not None:
                        found.append(item)
        return Page(
            items=tuple(found),
            cursor=f"{last[0]}:{last[1]}" if more and last is not None else None,
            waiting=int(members) - int(repeats or 0),
            examined=examined,
            position=position,
        )

    async def waiting(self, tenant: TenantId, memory_id: MemoryId) -> Waiting | None:
        """The quarantined record; None where it does not wait (any more)."""
        return await self._read(tenant, lambda names: self._waiting(names, tenant, memory_id))

    async def _waiting(self, names: ReviewNames, tenant: TenantId, memory_id: MemoryId) -> Waiting | None:
        with answers("reading the review queue"):
            await self._fresh(names)
            kept = (await self._kept(names, tenant, [memory_id])).get(memory_id)
            if kept is None or kept.waiting is None or kept.waiting.item.expires_at <= self._clock():
                return None
            groups = await self._groups(names, tenant, {kept.alike})
            met = await self._met(names, tenant, kept.claim)
        group, total = groups.get(kept.alike, ({}, 1))
        item = beside(kept.waiting.item, {each: one[0] for each, one in group.items()}, total)
        return msgspec.structs.replace(kept.waiting, item=msgspec.structs.replace(item, met=met))

    async def _met(self, names: ReviewNames, tenant: TenantId, claim: str) -> tuple[MemoryId, ...]:
        if not claim:
            return ()
        (held,) = await ask(self._redis, ("SMEMBERS", names.met(tenant, claim)))
        return tuple(sorted(MemoryId(text(each)) for each in held))

    async def suspended(self, tenant: TenantId, memory_id: MemoryId) -> Suspended | None:
        """The record that was sent back; None where it does not wait (any more)."""

        async def reading(names: ReviewNames) -> Suspended | None:
            with answers("reading the review queue"):
                await self._fresh(names)
                kept = (await self._kept(names, tenant, [memory_id])).get(memory_id)
                again = None if kept is None else self._sent_back(kept)
                if kept is None or again is None:
                    return None
                return msgspec.structs.replace(again, met=await self._met(names, tenant, kept.claim))

        return await self._read(tenant, reading)

    async def conflict(self, tenant: TenantId, memory_id: MemoryId) -> Conflict | None:
        """The open conflict that the record is part of, or None."""
        return await self._read(tenant, lambda names: self._conflict(names, tenant, memory_id))

    async def _conflict(self, names: ReviewNames, tenant: TenantId, memory_id: MemoryId) -> Conflict | None:
        with answers("reading the review queue"):
            await self._fresh(names)
            kept = (await self._kept(names, tenant, [memory_id])).get(memory_id)
            if kept is None or not kept.claim:
                return None
            score = (await ask(self._redis, ("ZSCORE", names.queue(tenant), f"{_CLAIM}{kept.claim}")))[0]
            if score is None:
                return None
            found = (await self._conflicts(names, tenant, {kept.claim: Millis(int(float(score)))})).get(kept.claim)
        if found is None or memory_id not in {each.memory_id for each in found[0].members}:
            return None
        return found[0]

    async def _fresh(self, names: ReviewNames) -> Offset:
        """How far the model is. Raises `TooStale`."""
        marks = texts((await ask(self._redis, ("HGETALL", names.prefix.watermark)))[0])
        caught_up, allowed = marks.get("caught_up_at"), self._max_lag
        lag = None if caught_up is None else max(0, self._clock() - int(caught_up))
        if allowed is not None and caught_up is None:
            raise being_filled(names.prefix, marks.get("position"), marks.get("log_end"))
        if allowed is not None and (lag is None or lag > allowed):
            raise TooStale(names.prefix.partition, lag, allowed)
        return Offset(int(marks.get("position", 0)))

    async def _read(self, tenant: TenantId, reading: Callable[[ReviewNames], Awaitable[T]]) -> T:
        partition = self._installation.partition_of(tenant)
        return await self._serving.read(partition, lambda prefix: reading(ReviewNames(prefix)))

    async def _members(
        self, names: ReviewNames, tenant: TenantId, last: tuple[int, str] | None
    ) -> tuple[Sequence[tuple[int, str]], bool]:
        """The next queue members after ``last``, with their log times, and whether there may be more.

        ``last`` itself may be gone meanwhile: then those of its time are looked through for where it stood.
        """
        queue, start = names.queue(tenant), 0
        if last is not None:
            rank, before = await ask(self._redis, ("ZRANK", queue, last[1]), ("ZCOUNT", queue, "-inf", f"({last[0]}"))
            start = int(before) if rank is None else int(rank) + 1
        while True:
            flat = (await ask(self._redis, ("ZRANGE", queue, start, start + _CHUNK - 1)))[0]
            scores = (await ask(self._redis, ("ZMSCORE", queue, *flat)))[0] if flat else ()
            pairs = zip(flat, scores, strict=True)
            found = [(int(float(score)), text(each)) for each, score in pairs if score is not None]
            after = [each for each in found if last is None or each > last]
            if after or len(flat) < _CHUNK:
                return after, len(flat) == _CHUNK
            start += _CHUNK

    async def _items(
        self, names: ReviewNames, tenant: TenantId, wanted: Wanted, members: Sequence[tuple[int, str]]
    ) -> Sequence[Item | None]:
        """What each member stands for; None for what does not fit, is not to be told, or is told with an older one."""
        ids = [MemoryId(name[2:]) for _, name in members if name.startswith(_WAITING)]
        claims = {name[2:]: Millis(at) for at, name in members if name.startswith(_CLAIM)}
        kept = await self._kept(names, tenant, ids)
        groups = await self._groups(names, tenant, {each.alike for each in kept.values()})
        told: dict[str, Item] = {}
        for memory_id, (item, subjects) in self._waiting_of(kept).items():
            if not wanted.fits(item, subjects):
                continue
            group, total = groups.get(kept[memory_id].alike, ({}, 1))
            if is_told(item, {each: one for each, (one, whom) in group.items() if wanted.fits(one, whom)}):
                told[f"{_WAITING}{memory_id}"] = beside(item, {each: one[0] for each, one in group.items()}, total)
        for memory_id, one in kept.items():
            again = self._sent_back(one)
            if again is not None and wanted.fits(again, one.subjects):
                told[f"{_WAITING}{memory_id}"] = again
        for claim, (conflict, subjects) in (await self._conflicts(names, tenant, claims)).items():
            if wanted.fits(conflict, subjects):
                told[f"{_CLAIM}{claim}"] = conflict
        return [told.get(name) for _, name in members]

    def _sent_back(self, kept: Kept) -> Suspended | None:
        again = kept.suspended
        return again if again is not None and again.expires_at > self._clock() else None

    def _waiting_of(self, kept: Mapping[MemoryId, Kept]) -> _Told:
        now = self._clock()
        return {
            memory_id: (one.waiting.item, one.subjects)
            for memory_id, one in kept.items()
            if one.waiting is not None and one.waiting.item.expires_at > now
        }

    async def _groups(
        self, names: ReviewNames, tenant: TenantId, groups: Iterable[str]
    ) -> Mapping[str, tuple[_Told, int]]:
        """Of each group of which more than one waits: the oldest that may be told, and how many there are."""
        asked = [each for each in groups if each]
        if not asked:
            return {}
        keys = [names.alike(tenant, each) for each in asked]
        answered = await ask(self._redis, *(c for key in keys for c in (("ZRANGE", key, 0, MOST - 1), ("ZCARD", key))))
        sizes = {each: int(answered[2 * n + 1]) for n, each in enumerate(asked)}
        ids = {
            each: [MemoryId(text(one)) for one in answered[2 * n]] for n, each in enumerate(asked) if sizes[each] > 1
        }
        kept = self._waiting_of(await self._kept(names, tenant, [one for held in ids.values() for one in held]))
        return {
            group: ({each: kept[each] for each in held if each in kept}, sizes[group]) for group, held in ids.items()
        }

    async def _kept(self, names: ReviewNames, tenant: TenantId, ids: Sequence[MemoryId]) -> Mapping[MemoryId, Kept]:
        """The records that are there and about nobody who is forgotten."""
        if not ids:
            return {}
        answered = await ask(self._redis, *(("HMGET", names.record(tenant, each), *FIELDS) for each in ids))
        found = {each: kept_of(values) for each, values in zip(ids, answered, strict=True) if values[0] is not None}
        subjects = sorted({ref.subject for one in found.values() for ref in one.refs})
        if not subjects:
            return found
        marks = (await ask(self._redis, ("HMGET", names.closed(tenant), *subjects)))[0]
        closed = {subject: int(mark or 0) for subject, mark in zip(subjects, marks, strict=True)}
        return {
            memory_id: one
            for memory_id, one in found.items()
            if all(closed[ref.subject] < ref.generation for ref in one.refs)
        }

    async def _conflicts(
        self, names: ReviewNames, tenant: TenantId, claims: Mapping[str, Millis]
    ) -> Mapping[str, tuple[Conflict, frozenset[Pseudonym]]]:
        """The conflicts on ``claims`` that still are some: of at least two records that may be told."""
        if not claims:
            return {}
        sets = await ask(self._redis, *(("SMEMBERS", names.claim(tenant, each)) for each in claims))
        members = {
            claim: sorted(MemoryId(text(each)) for each in held) for claim, held in zip(claims, sets, strict=True)
        }
        kept = await self._kept(names, tenant, [each for held in members.values() for each in held])
        found: dict[str, tuple[Conflict, frozenset[Pseudonym]]] = {}
        for claim, held in members.items():
            there = [each for each in held if each in kept]
            if len(there) > 1:
                conflict = Conflict(
                    claim=claim,
                    queued_at=claims[claim],
                    subject=kept[there[0]].refs[0].subject,
                    members=tuple(Contested(memory_id=each, version=kept[each].version) for each in there),
                )
                found[claim] = (conflict, frozenset[Pseudonym]().union(*(kept[each].subjects for each in there)))
        return found


def _position(cursor: str) -> tuple[int, str]:
    at, _, member = cursor.partition(":")
    if not (at.isascii() and at.isdigit() and member[:2] in (_WAITING, _CLAIM)):
        raise BadScope("cursor", "is none that this queue gave")
    return int(at), member
