"""All that is held, as the log has it: the records of a tenant, or those that concern one person, ended ones too.

Read models answer what may be used now; what is held is more. The log is read once from its beginning, so reading it
takes as long as its partition is long. Nothing is opened here.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from eunoe.domain.memory import MemoryState, evolve, touches, withdrawn
from eunoe.readmodels.errors import CannotApply
from eunoe.readmodels.history import Stored, entries_of
from eunoe.readmodels.source import PartitionSource
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import Installation
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import (
    ActionProposed,
    Event,
    EventHeader,
    ExportRecorded,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    MemoryAccepted,
    MemoryForgotten,
    MemoryQuarantined,
    MemorySuspended,
    Reason,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
    SubjectRef,
    TenantForgotten,
)
from eunoe.schemas.ids import MemoryId, Offset, Pseudonym, TenantId
from eunoe.schemas.policy import BY_POLICY
from eunoe.schemas.topics import Topic

_FETCH_MS: Final = 200
_RECORDS: Final = 1_000
_SILENCE_S: Final = 30.0
"""For how long a broker may send nothing before it counts as away."""
_ABOUT_PERSON: Final = (
    SubjectForgotten, SubjectReadmitted, ForgettingRequested, ForgettingWithdrawn, SubjectHeld, HoldLifted,
    ActionProposed, ExportRecorded,
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class HeldRecord:
    """``whom``: everyone it concerns, its own subject first. ``changes``: as `eunoe history` shows them.
    ``reasons``: why it was quarantined, or sent back by a later policy."""

    draft: Draft
    born: EventHeader
    whom: tuple[SubjectRef, ...]
    state: MemoryState
    changes: list[tuple[Offset, Stored]]
    reasons: tuple[Reason, ...] = ()

    def others(self, person: Pseudonym) -> int:
        """How many other people it concerns."""
        return len({each.subject for each in self.whom} - {person})


@dataclass(slots=True, kw_only=True)
class Held:
    """The fold. ``person`` None: everybody's. ``position``: everything below it was folded."""

    tenant: TenantId
    person: Pseudonym | None = None
    records: dict[MemoryId, HeldRecord] = field(default_factory=dict)
    closed: set[SubjectRef] = field(default_factory=set)
    forgotten: set[MemoryId] = field(default_factory=set)
    about_person: list[tuple[EventHeader, Fact]] = field(default_factory=list)
    facts: list[Event] = field(default_factory=list)
    """Of everybody's records, in order; kept only where nobody is named."""
    ended: bool = False
    """Whether the tenant was forgotten meanwhile, whatever has its name by now."""
    position: Offset = field(default=Offset(0))

    def take(self, offset: Offset, event: Event) -> None:
        self.position = Offset(offset + 1)
        if event.header.tenant != self.tenant:
            return
        fact = event.fact
        if isinstance(fact, TenantForgotten):
            self._begun_anew()
        if isinstance(fact, SubjectForgotten):
            self.closed.add(SubjectRef(subject=fact.subject, generation=fact.generation))
        if isinstance(fact, MemoryForgotten):
            self.forgotten.add(fact.memory_id)
        self.forgotten.update(each.memory_id for each in withdrawn(fact))
        everybody = isinstance(fact, ExportRecorded) and fact.subject is None  # theirs went out with all
        if self.person is not None and isinstance(fact, _ABOUT_PERSON) and (everybody or fact.subject == self.person):
            self.about_person.append((event.header, fact))
        if isinstance(fact, MemoryAccepted | MemoryQuarantined):
            self._born(event.header, fact)
        touched = touches(fact)
        if touched and self.person is None:
            self.facts.append(event)
        for memory_id in touched:
            record = self.records.get(memory_id)
            if record is not None and record.born is not event.header:
                record.state = evolve(record.state, memory_id, event.header, fact)
        if isinstance(fact, MemorySuspended) and fact.memory_id in self.records:
            again = tuple(each for each in Reason if f"{BY_POLICY}{each.value}" in fact.reasons)
            self.records[fact.memory_id].reasons += again
        for memory_id, change in entries_of(event):
            if memory_id in self.records:
                self.records[memory_id].changes.append((offset, change))

    def _begun_anew(self) -> None:
        """What was held is another tenant's from here on; it is gone."""
        self.ended = True
        for each in (self.records, self.about_person, self.facts):
            each.clear()

    def _born(self, header: EventHeader, fact: MemoryAccepted | MemoryQuarantined) -> None:
        draft = fact.draft
        whom = (SubjectRef(subject=draft.subject, generation=draft.generation), *fact.about)
        if self.person is None or any(each.subject == self.person for each in whom):
            state = evolve(None, draft.memory_id, header, fact)
            reasons = fact.reasons if isinstance(fact, MemoryQuarantined) else ()
            self.records[draft.memory_id] = HeldRecord(
                draft=draft, born=header, whom=whom, state=state, changes=[], reasons=reasons
            )

    def erased(self, record: HeldRecord) -> bool:
        """Forgotten by itself, or with anybody whom it concerns, or gone with what it was built on: its text is never
        opened."""
        return record.draft.memory_id in self.forgotten or any(each in self.closed for each in record.whom)

    def learn(self, later: "Held") -> None:
        """Take over who and what was forgotten since; what came is left where it is."""
        self.closed |= later.closed
        self.forgotten |= later.forgotten
        if later.ended:
            self.forgotten.update(self.records)

    def of_generation(self, generation: int) -> Iterable[HeldRecord]:
        """The person's records of one generation, in the order in which they came."""
        assert self.person is not None
        ref = SubjectRef(subject=self.person, generation=generation)
        return (each for each in self.records.values() if ref in each.whom)


async def read_on(bootstrap: Bootstrap, installation: Installation, held: Held) -> Held:
    """``held``, folded from its position to what is committed now. Raises `BrokerAway`, `CannotApply`."""
    end = await read_log(bootstrap, installation, held.tenant, held.position, held.take)
    held.position = max(held.position, end)
    return held


async def read_log(
    bootstrap: Bootstrap,
    installation: Installation,
    tenant: TenantId,
    begin: Offset,
    take: Callable[[Offset, Event], None],
) -> Offset:
    """Give ``take`` each event of the tenant's partition (other tenants' too) from ``begin`` to what is committed now,
    and return that position. Raises `BrokerAway`, `CannotApply`."""
    source = PartitionSource(bootstrap, installation, Topic.LIFECYCLE, installation.partition_of(tenant), {})
    clock = asyncio.get_running_loop().time
    try:
        async with within(_SILENCE_S, "reading memory-lifecycle"):
            await source.start()
            start, end = await source.bounds()
        source.seek(max(start, begin))
        heard = clock()
        while (at := await source.position()) < end:
            decoded, problem = source.decode(await source.fetch(_FETCH_MS, _RECORDS))
            for each in decoded:
                take(each.offset, each.value)
            if problem is not None:
                raise CannotApply(problem.offset, problem.problem)
            if await source.position() > at:
                heard = clock()
            elif clock() - heard > _SILENCE_S:
                raise BrokerAway("reading memory-lifecycle", _SILENCE_S)
        return Offset(end)
    finally:
        await source.stop()
