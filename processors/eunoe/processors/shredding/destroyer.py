"""Working off what is due on one partition: tombstones first, acknowledged, and only then is it no longer due.

Killed between any two steps, it does the last one again: a tombstone more is harmless, and nothing is let go of that
has none. Two that work on the same partition for a moment do no more than that either.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from redis.asyncio import Redis

from eunoe.processors.shredding.errors import GuardedKey
from eunoe.processors.shredding.names import ShredNames
from eunoe.processors.shredding.tombstones import Tombstones
from eunoe.processors.shredding.units import Generation, Incarnation, OneKey, OneRecord, Unit, member, unit_of
from eunoe.runtime.clock import Clock
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.metrics import KEYS_DESTROYED, SILENT, Meter
from eunoe.schemas.ids import KeyId, MemoryId, Millis, Offset

log = logging.getLogger(__name__)

HELD_MS: Final = 3_600_000
"""How long after a legal hold was lifted at most what it kept from being destroyed is looked at again."""
AT_ONCE: Final = 500
"""Keys in one round of tombstones, and members in one Redis command."""


@dataclass(frozen=True, slots=True)
class Pending:
    """What is due and not destroyed: how many units, and since when the oldest is (None where there is none)."""

    units: int = 0
    since: Millis | None = None


@dataclass(slots=True, kw_only=True)
class Destroyer:
    """``settle`` (ms): how long after a tombstone heartbeats go on. ``every`` (seconds): between looks at what is due.

    ``clock`` is the wall clock: it says which month is over. What a fact made due is due whatever it says.
    """

    redis: "Redis"
    names: ShredNames
    tombstones: Tombstones
    clock: Clock
    settle: int
    topic: str
    every: float = 1.0
    meter: Meter = SILENT
    pending: Pending = field(default_factory=Pending)
    _protected: frozenset[KeyId] = frozenset()

    async def run(self) -> None:
        """Destroy what is due until cancelled. Raises `GuardedKey`, and what Redis or Kafka raise."""
        while True:
            heed_cancellation()
            if not await self.step():
                await asyncio.sleep(self.every)

    async def step(self) -> int:
        """One round. Returns how many units are done with; 0 where nothing is due."""
        now = self.clock.now()
        pipeline = self.redis.pipeline(transaction=False)
        pipeline.zrange(self.names.todo, 0, AT_ONCE - 1, withscores=True)
        pipeline.zrange(self.names.due, "-inf", str(now), byscore=True, offset=0, num=AT_ONCE, withscores=True)
        pipeline.zcard(self.names.todo)
        pipeline.zcount(self.names.due, "-inf", str(now))
        todo, over, *counts = await pipeline.execute()
        found = [*todo, *over]
        since = min((Millis(int(score)) for _, score in found), default=None)
        self.pending = Pending(sum(counts), since)
        units = [unit_of(cast("bytes", each).decode()) for each, _ in found]
        self._protected = await self._held_keys()
        await self._keys([each for each in units if isinstance(each, OneKey)])
        await self._records([each for each in units if isinstance(each, OneRecord)])
        for each in units:
            if isinstance(each, Generation):
                await self._generation(each)
                heed_cancellation()
        for each in units:
            if isinstance(each, Incarnation):
                await self._incarnation(each)
                heed_cancellation()
        self.pending = Pending(sum(counts) - len(units), None if sum(counts) == len(units) else since)
        return len(units)

    async def _keys(self, units: Sequence[OneKey]) -> None:
        if units:
            await self._destroy([each.key_id for each in units], "time_over")
            await self._let_go([each for each in units if each.key_id not in self._protected])

    async def _records(self, units: Sequence[OneRecord]) -> None:
        if not units:
            return
        names = [self.names.own(each.tenant, each.memory_id) for each in units]
        await self._destroy(await self._own(names), "record")
        await self._let_go(units)

    async def _generation(self, unit: Generation) -> None:
        place = (unit.tenant, unit.subject, unit.generation)
        held, about = self.names.keys(*place), self.names.about(*place)
        last: Offset | None = None
        while ids := await self._some(held):
            last = await self._destroy([KeyId(each) for each in ids], "subject") or last
            await self._remove(held, ids)
        while records := await self._some(about):
            names = [self.names.own(unit.tenant, MemoryId(each)) for each in records]
            last = await self._destroy(await self._own(names), "subject") or last
            await self._remove(about, records)
        await self._let_go((unit,), last)

    async def _incarnation(self, unit: Incarnation) -> None:
        """Its keys, and what was kept of whose they are. Nothing here is of whoever has the tenant's name by now."""
        given = self.names.tenant(unit.tenant, unit.number)
        last: Offset | None = None
        while members := await self._some(given):
            names = [self.names.prefix.key(each) for each in members if ":" in each]
            ids = [KeyId(each) for each in members if ":" not in each]
            last = await self._destroy(ids, "tenant") or last
            if names:
                await self.redis.unlink(*names)
            await self._remove(given, members)
        await self._let_go((unit,), last)

    async def _destroy(self, key_ids: Sequence[KeyId], why: str) -> Offset | None:
        """Tombstones for ``key_ids``, acknowledged; the offset of the last, None where there are none.

        What a legal hold keeps is due again later, whatever made it due now.
        """
        kept = [each for each in key_ids if each in self._protected]
        if kept:
            again = self.clock.now() + HELD_MS
            await self.redis.zadd(self.names.due, {member(OneKey(each)): again for each in kept})
            key_ids = [each for each in key_ids if each not in self._protected]
        if not key_ids:
            return None
        answers: Any = self.redis.smismember(self.names.guarded, list(key_ids))
        for key_id, guarded in zip(key_ids, await answers, strict=True):
            if guarded:
                raise GuardedKey(self.topic, self.names.prefix.partition, key_id)
        # Before the tombstones: whoever is killed in between writes some heartbeats for nothing.
        await self.redis.set(self.names.until, self.clock.now() + self.settle)
        last = await self.tombstones.destroy(key_ids)
        await self.redis.zrem(self.names.due, *(member(OneKey(each)) for each in key_ids))
        self.meter.add(KEYS_DESTROYED, why, amount=len(key_ids))
        log.info("%s[%d]: %d keys destroyed (%s)", self.topic, self.names.prefix.partition, len(key_ids), why)
        return last

    async def _let_go(self, units: Sequence[Unit], last: Offset | None = None) -> None:
        members = [member(each) for each in units]
        pipeline = self.redis.pipeline(transaction=True)
        pipeline.zrem(self.names.todo, *members)
        pipeline.zrem(self.names.due, *members)
        for each in units:
            if isinstance(each, Generation | Incarnation):
                pipeline.hset(self.names.done, member(each), str(-1 if last is None else last))
        await pipeline.execute()

    async def _held_keys(self) -> frozenset[KeyId]:
        """Every key that opens something of a person under a legal hold."""
        answer: Any = self.redis.smembers(self.names.held)
        keys: set[KeyId] = set()
        for each in await answer:
            unit = unit_of(each.decode())
            assert isinstance(unit, Generation), "only generations are held"
            place = (unit.tenant, unit.subject, unit.generation)
            own: Any = self.redis.smembers(self.names.keys(*place))
            about: Any = self.redis.smembers(self.names.about(*place))
            keys |= {KeyId(key.decode()) for key in await own}
            records = [self.names.own(unit.tenant, MemoryId(record.decode())) for record in await about]
            keys |= set(await self._own(records)) if records else set()
        return frozenset(keys)

    async def _own(self, names: Sequence[str]) -> list[KeyId]:
        """The keys that single records have; a record under a month's key has none."""
        found = await self.redis.mget(names)
        return [KeyId(cast("bytes", each).decode()) for each in found if each is not None]

    async def _some(self, key: str) -> list[str]:
        answer: Any = self.redis.srandmember(key, AT_ONCE)
        return [each.decode() for each in await answer]

    async def _remove(self, key: str, members: Sequence[str]) -> None:
        answer: Any = self.redis.srem(key, *members)
        await answer


@dataclass(slots=True, kw_only=True)
class Heartbeats:
    """Goes on a while after the last tombstone: without another record the active segment would never be cleaned."""

    redis: "Redis"
    names: Sequence[ShredNames]
    tombstones: Tombstones
    clock: Clock
    every: float = 1.0

    async def run(self) -> None:
        """Beat while something settles, until cancelled. Raises what Redis or Kafka do."""
        while True:
            heed_cancellation()
            if await self.settling():
                await self.tombstones.beat()
            await asyncio.sleep(self.every)

    async def settling(self) -> bool:
        """Whether something was destroyed so lately that the log may still hold it."""
        pipeline = self.redis.pipeline(transaction=False)
        for each in self.names:  # of several slots
            pipeline.get(each.until)
        found = await pipeline.execute()
        return any(each is not None and self.clock.now() < int(each) for each in found)
