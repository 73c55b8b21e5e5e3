"""The ``review`` read model: what waits for a person, quarantined records and open conflicts.

Folds ``memory-lifecycle`` without opening anything and without reading Redis; `review.lua` keeps the queue, in the
Function call that moves the watermark. Under the partition's prefix:

``r:<tenant>:<memory id>``       hash of a record: ``state`` (w waits, s waits again, a active), ``version``, ``refs``,
                                 ``claim``, and while it waits ``reasons``, ``record`` (`review_items.Waiting`),
                                 ``confirmed``, ``alike`` (`review_alike.alike_of`)
``rivals:<tenant>:<memory id>``  hash: the active record it contradicts -> since when (log time); both sides have it
``claim:<tenant>:<claim>``       set: the active records of the claim that contradict another
``waits:<tenant>:<claim>``       set: the records of the claim that wait
``met:<tenant>:<claim>``         set: what came into use on the claim while one of it waits, and what one
                                 that was sent back contradicted; some may have ended since
``queue:<tenant>``               sorted set by log time: ``w:<memory id>`` and ``c:<claim>``
``of:<tenant>:<subject>:<g>``    set: kept records that are about this generation of a subject
``alike:<tenant>:<group>``       sorted set by log time: the records that wait with the same words
``repeats:<tenant>``             how many wait beside the first of their group
``closed:<tenant>``              hash: subject -> its last closed generation
``closing``                      set: ``<tenant> <subject>:<g>``, closed and not all removed yet
``all``, ``by:<reason>``         sorted sets by log time over all tenants: ``<tenant> <queue member>``
``reasons``                      set: the reasons for which something waits

A claim is ``claim_ref`` in hex. Of active records only those in conflict are kept, and those on a claim that are about
several people: a conflict to come ends with any one of them. Records of a closed generation are hidden by the reader
at once and removed in small steps (`ReviewModel.tend`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, assert_never

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.errors import CannotApply
from eunoe.readmodels.removing import Removal
from eunoe.readmodels.review_alike import alike_of
from eunoe.readmodels.review_items import SUSPENDED, packed, sent_back
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.store import answers, ask, text
from eunoe.runtime.metrics import REVIEW_AGE_SECONDS, REVIEW_ITEMS, Metric
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions, lua
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import (
    ActionProposed,
    CandidateObserved,
    CommandDuplicate,
    CommandRejected,
    ConflictRef,
    ConflictResolved,
    Event,
    ExportRecorded,
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
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
    SubjectRef,
    SupersededRef,
    TenantActionProposed,
    TenantForgettingRequested,
    TenantForgotten,
    TenantReadmitted,
    WithdrawnRef,
)
from eunoe.schemas.ids import MemoryId, Millis, Partition, Pseudonym, TenantId
from eunoe.schemas.topics import Topic

NAME: Final = "review"
STEP: Final = 20
"""How many records of forgotten subjects one call removes."""
LIBRARY: Final = FunctionLibrary("eunoe_review", lua("eunoe.readmodels", "review.lua"), {"sweep": False})


class ReviewNames(Struct, frozen=True):
    """The model's Redis keys in one partition, as far as Python asks for them. `review.lua` builds the same ones."""

    prefix: Prefix

    def record(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"r:{tenant}:{memory_id}")

    def rivals(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"rivals:{tenant}:{memory_id}")

    def claim(self, tenant: TenantId, claim: str) -> str:
        return self.prefix.key(f"claim:{tenant}:{claim}")

    def met(self, tenant: TenantId, claim: str) -> str:
        return self.prefix.key(f"met:{tenant}:{claim}")

    def alike(self, tenant: TenantId, group: str) -> str:
        return self.prefix.key(f"alike:{tenant}:{group}")

    def repeats(self, tenant: TenantId) -> str:
        return self.prefix.key(f"repeats:{tenant}")

    def queue(self, tenant: TenantId) -> str:
        return self.prefix.key(f"queue:{tenant}")

    def closed(self, tenant: TenantId) -> str:
        return self.prefix.key(f"closed:{tenant}")

    def by(self, reason: str) -> str:
        return self.prefix.key(f"by:{reason}")

    @property
    def all(self) -> str:
        return self.prefix.key("all")

    @property
    def reasons(self) -> str:
        return self.prefix.key("reasons")

    @property
    def closing(self) -> str:
        return self.prefix.key("closing")


class Queue(Struct, frozen=True, kw_only=True):
    """How long a partition's queue is, and since when (log time) the oldest item waits for each reason."""

    items: int
    oldest: Mapping[str, Millis]


class ReviewModel:
    """The fold, the removal of what is forgotten, and the queue's figures. ``clock``: wall-clock ms, for ages alone."""

    name: Final = NAME
    source: Final = Topic.LIFECYCLE
    folds_ahead: Final = True

    def __init__(self, redis: Redis, clock: Callable[[], Millis]) -> None:
        self.functions: Final[LoadedFunctions] = LIBRARY.load()
        self._redis = redis
        self._clock = clock
        self._queues: dict[Partition, Queue] = {}

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        return [_writes(each) for each in records]

    async def let_go(self, removal: Removal) -> None:
        """The tenant's records and its part of the queue, which all tenants share."""
        names = ReviewNames(removal.prefix)
        (reasons,) = await ask(self._redis, ("SMEMBERS", names.reasons))
        for key in (names.all, *(names.by(text(each)) for each in reasons)):
            await removal.members(key, "ZREM", f"{removal.tenant} ")
        for reason in map(text, reasons):
            await removal.do(("review.unless", reason))
        await removal.members(names.closing, "SREM", f"{removal.tenant} ")
        await removal.keys()

    async def tend(self, prefix: Prefix) -> bool:
        """Removes at most `STEP` records of forgotten subjects; True while there are more. Repeat-safe.

        Then takes the queue's figures for `readings`: they are as old as the last call.
        """
        more = bool(await self.functions.call(self._redis, "sweep", (prefix.watermark,), (STEP,)))
        if not more:
            self._queues[prefix.partition] = await queue_of(self._redis, prefix)
        return more

    def readings(self, partition: Partition) -> Iterable[tuple[Metric, tuple[str, ...], float]]:
        """The gauges of one partition, once `tend` has been there."""
        queue = self._queues.get(partition)
        if queue is None:
            return
        yield REVIEW_ITEMS, (str(partition),), queue.items
        now = self._clock()
        for reason, since in sorted(queue.oldest.items()):
            yield REVIEW_AGE_SECONDS, (str(partition), reason), max(0, now - since) / 1_000


async def queue_of(redis: Redis, prefix: Prefix) -> Queue:
    """The figures of one partition. Raises `StoreUnavailable`."""
    names = ReviewNames(prefix)
    with answers("measuring the review queue"):
        items, reasons = await ask(redis, ("ZCARD", names.all), ("SMEMBERS", names.reasons))
        known = sorted(map(text, reasons))
        found = await ask(redis, *(("ZRANGE", names.by(each), 0, 0, "WITHSCORES") for each in known)) if known else []
    oldest = {reason: _score(first) for reason, first in zip(known, found, strict=True) if first}
    return Queue(items=int(items), oldest=oldest)


def _score(first: Any) -> Millis:
    """The score of the one pair of a range, flat or as pairs."""
    pair = first[0] if isinstance(first[0], tuple | list) else first
    return Millis(int(float(pair[1])))


def _writes(record: Positioned[Event]) -> Sequence[Operation]:
    event, fact = record.value, record.value.fact
    tenant = event.header.tenant
    match fact:
        case MemoryQuarantined() | MemoryAccepted():
            return _born(record, event, fact)
        case MemoryPromoted(memory_id=memory_id, version=version, conflicts_with=rivals):
            at = str(event.header.said.decided_at)
            promoted: Operation = ("review.promote", tenant, memory_id, version, at, _rivals(rivals))
            return (*_gone(tenant, _ids(fact.supersedes)), *_withdrawn(tenant, fact.withdrawn), promoted)
        case ConflictResolved(memory_id=memory_id, version=version, superseded=superseded):
            ended = _gone(tenant, [each.memory_id for each in superseded])
            return (*ended, *_withdrawn(tenant, fact.withdrawn), ("review.upheld", tenant, memory_id, version))
        case MemorySuspended():
            return _sent_back(event, fact)
        case MemoryConfirmed(memory_id=memory_id, version=version):
            return (("review.version", tenant, memory_id, version, 1),)
        case MemoryRejected() | MemoryRetracted() | MemoryExpired() | MemoryForgotten():
            return (*_gone(tenant, [fact.memory_id]), *_withdrawn(tenant, getattr(fact, "withdrawn", ())))
        case SubjectForgotten(subject=subject, generation=generation):
            return (("review.close", tenant, subject, generation),)
        case _:
            return _nothing(fact)


OfTenant = TenantForgotten | TenantReadmitted | TenantForgettingRequested | TenantActionProposed
Restricting = ForgettingRequested | ForgettingWithdrawn | SubjectHeld | HoldLifted | ActionProposed


def _nothing(
    fact: PartitionOpened
    | KeyIssued
    | SubjectReadmitted
    | CommandRejected
    | CommandDuplicate
    | CandidateObserved
    | ExportRecorded
    | Restricting
    | OfTenant,
) -> Sequence[Operation]:
    """These change nothing that waits. A new kind of fact has to be put here or above: mypy says so."""
    match fact:
        case PartitionOpened() | KeyIssued() | SubjectReadmitted():
            return ()
        case CommandRejected() | CommandDuplicate() | CandidateObserved() | ExportRecorded():
            return ()
        case ForgettingRequested() | ForgettingWithdrawn() | SubjectHeld() | HoldLifted() | ActionProposed():
            return ()  # whoever shows an item asks whether its people may be read
        case TenantForgotten() | TenantReadmitted() | TenantForgettingRequested() | TenantActionProposed():
            return ()  # what a forgotten tenant had is removed before its lane goes on
        case _:
            assert_never(fact)


def _born(record: Positioned[Event], event: Event, fact: MemoryQuarantined | MemoryAccepted) -> Sequence[Operation]:
    tenant, at = event.header.tenant, str(event.header.said.decided_at)
    where = (tenant, fact.draft.memory_id, _refs(fact), "" if fact.claim_ref is None else fact.claim_ref.hex(), at)
    if isinstance(fact, MemoryQuarantined):
        if not fact.reasons:
            raise CannotApply(record.offset, "a record is quarantined for no reason")
        reasons = " ".join(each.value for each in fact.reasons)
        return (("review.wait", *where, reasons, alike_of(fact), packed(event, fact)),)
    ended = (*_gone(tenant, _ids(fact.supersedes)), *_withdrawn(tenant, fact.withdrawn))
    if fact.claim_ref is not None:
        ended = (*ended, ("review.claimed", tenant, fact.draft.memory_id, fact.claim_ref.hex()))
    if fact.conflicts_with and fact.claim_ref is None:
        raise CannotApply(record.offset, "a record contradicts others and makes no claim")
    if not fact.conflicts_with and not (fact.about and fact.claim_ref):
        return ended
    return (*ended, ("review.born", *where, _rivals(fact.conflicts_with)))


def _sent_back(event: Event, fact: MemorySuspended) -> Sequence[Operation]:
    tenant, at = event.header.tenant, str(event.header.said.decided_at)
    claim = "" if fact.claim_ref is None else fact.claim_ref.hex()
    where = (tenant, fact.memory_id, _refs_of(fact.subject, fact.generation, fact.about), claim, at)
    return (("review.again", *where, SUSPENDED, fact.version, sent_back(event, fact)),)


def _refs(fact: MemoryQuarantined | MemoryAccepted) -> str:
    return _refs_of(fact.draft.subject, fact.draft.generation, fact.about)


def _refs_of(subject: Pseudonym, generation: int, others: Sequence[SubjectRef]) -> str:
    about = dict.fromkeys(((subject, generation), *((each.subject, each.generation) for each in others)))
    return " ".join(f"{subject}:{generation}" for subject, generation in about)


def _rivals(rivals: Sequence[ConflictRef]) -> str:
    return " ".join(f"{each.memory_id}:{each.version}" for each in rivals)


def _ids(gave_way: SupersededRef | None) -> Sequence[MemoryId]:
    return () if gave_way is None else (gave_way.memory_id,)


def _gone(tenant: TenantId, ids: Sequence[MemoryId]) -> tuple[Operation, ...]:
    return tuple(("review.gone", tenant, each) for each in ids)


def _withdrawn(tenant: TenantId, refs: Sequence[WithdrawnRef]) -> tuple[Operation, ...]:
    return _gone(tenant, [each.memory_id for each in refs])
