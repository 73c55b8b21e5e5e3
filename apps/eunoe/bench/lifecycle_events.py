"""Lifecycle facts as a log of years has them, made one at a time: a million of them need little more memory than ten.

Tenants have records by Zipf's law. Of the facts 5 % are records that supersede another one and 2 % are expiries; of the
people, of whom each has some ten records, 1 % are forgotten. Bodies are really sealed.
"""

import itertools
from bisect import bisect
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from eunoe.bench.derived_keys import DerivedKeys, is_forgotten
from eunoe.bench.sealed import accepted, decided, proposed
from eunoe.bench.text import ZipfText
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.events import Event, Fact, MemoryAccepted, MemoryExpired, SubjectForgotten, SupersededRef
from eunoe.schemas.ids import MemoryId, TenantId

SUPERSEDED: Final = 0.05
EXPIRED: Final = 0.02
WORDS: Final = (5, 15)
"""Distinct words in a statement, each number as likely."""
_RECORDS_A_PERSON: Final = 10
_BEFORE_FORGOTTEN: Final = 3
_RECENT: Final = 4


class ZipfTenants:
    """``count`` tenants, the one of rank r with a weight of 1/r."""

    def __init__(self, count: int) -> None:
        self.names: Final = tuple(TenantId(f"bench-{rank}") for rank in range(count))
        self._sums: Final = list(itertools.accumulate(1 / (rank + 1) for rank in range(count)))

    def one(self, chance: Random) -> TenantId:
        return self.names[bisect(self._sums, chance.random() * self._sums[-1])]


@dataclass(slots=True)
class _Tenant:
    """``recent``: the last records that still stand, with their person. ``doomed``: the records of those who will be
    forgotten, by person."""

    people: int = 0
    records: int = 0
    recent: deque[tuple[int, MemoryId]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    doomed: dict[int, int] = field(default_factory=dict)
    forgotten: set[int] = field(default_factory=set)


@dataclass(slots=True, kw_only=True)
class LifecycleEvents:
    """A seeded story. ``keys`` as they are before anybody is forgotten."""

    keys: DerivedKeys
    tenants: ZipfTenants
    seed: int
    made: int = 0
    accepted: int = 0
    superseded: int = 0
    expired: int = 0
    forgotten: int = 0
    _text: ZipfText = field(init=False)
    _chance: Random = field(init=False)
    _known: dict[TenantId, _Tenant] = field(default_factory=dict)
    _doomed: set[tuple[TenantId, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._text, self._chance = ZipfText(self.seed), Random(self.seed)

    async def up_to(self, total: int) -> AsyncIterator[Event]:
        """The next ones, until ``total`` were made in all. At that point everybody who had to be is forgotten."""
        while self.made < total:
            closing = self.made + len(self._doomed) >= total
            event = self._forget(*min(self._doomed)) if closing and self._doomed else await self._next()
            self.made += 1
            yield event

    async def _next(self) -> Event:
        name = self.tenants.one(self._chance)
        tenant = self._known.setdefault(name, _Tenant())
        what = self._chance.random()
        if tenant.recent and what < SUPERSEDED:
            person, old = tenant.recent.popleft()
            self.superseded += 1
            return await self._accept(name, tenant, person, SupersededRef(memory_id=old, version=2))
        if tenant.recent and what < SUPERSEDED + EXPIRED:
            self.expired += 1
            return self._decided(name, MemoryExpired(memory_id=tenant.recent.popleft()[1], version=2))
        person = self._person(name, tenant)
        if tenant.doomed.get(person, 0) >= _BEFORE_FORGOTTEN:
            return self._forget(name, person)
        return await self._accept(name, tenant, person, None)

    def _person(self, name: TenantId, tenant: _Tenant) -> int:
        """Somebody known and not forgotten, or somebody new."""
        if tenant.people > tenant.records // _RECORDS_A_PERSON:
            for _ in range(_RECENT):
                if (person := self._chance.randrange(tenant.people)) not in tenant.forgotten:
                    return person
        person, tenant.people = tenant.people, tenant.people + 1
        if is_forgotten(self.keys.subject_of(name, _named(person))):
            tenant.doomed[person] = 0
            self._doomed.add((name, person))
        return person

    async def _accept(self, name: TenantId, tenant: _Tenant, person: int, old: SupersededRef | None) -> Event:
        statement = self._text.varied(*WORDS)
        proposal = proposed(name, self.made, statement, self.keys.expires_at, _named(person))
        event = await accepted(self.keys.keyring, proposal, self.made, old)
        assert isinstance(event.fact, MemoryAccepted)
        tenant.records += 1
        tenant.recent.append((person, event.fact.draft.memory_id))
        if person in tenant.doomed:
            tenant.doomed[person] += 1
        self.accepted += 1
        return event

    def _forget(self, name: TenantId, person: int) -> Event:
        tenant = self._known[name]
        self._doomed.remove((name, person))
        tenant.forgotten.add(person)
        records = tenant.doomed.pop(person)
        kept = [each for each in tenant.recent if each[0] != person]
        tenant.recent.clear()
        tenant.recent.extend(kept)
        self.forgotten += 1
        subject = self.keys.subject_of(name, _named(person))
        return self._decided(name, SubjectForgotten(subject=subject, generation=1, records=records))

    def _decided(self, name: TenantId, fact: Fact) -> Event:
        return decided(name, self.made, SystemClock().now(), fact)


def _named(person: int) -> str:
    return f"person-{person}"
