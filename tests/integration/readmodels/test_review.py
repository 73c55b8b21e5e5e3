"""The queue of what waits for a person: the fold in a real Redis, and what its reader tells."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs
from redis.asyncio import Redis

from eunoe.readmodels.errors import CannotApply, ProjectionStopped
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.review import ReviewModel, queue_of
from eunoe.readmodels.review_items import Conflict, Page, Quarantined, Suspended
from eunoe.readmodels.review_kept import Wanted
from eunoe.readmodels.review_reader import ReviewReader
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import steps_of
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.schemas.events import (
    ConflictRef,
    ConflictResolved,
    Event,
    Fact,
    Finding,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    Reason,
    SubjectForgotten,
    SubjectReadmitted,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import LogId, MemoryId, Millis, Offset, Partition, Pseudonym, TenantId, new_id
from eunoe.schemas.topics import TopicNames
from eunoe.schemas.values import Confirmation, SourceKind, Trust, Verdict
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_quarantined,
)
from readmodel_log import FAST, Log

HOUR = 3_600_000
FRIEND = SubjectRef(subject=Pseudonym("f" * 32), generation=2)
OTHER_TENANT = TenantId("umbrella")
EVERYTHING = Wanted()


def memory(name: str) -> MemoryId:
    return MemoryId(sample_id(name))


def waiting(name: str, *, about: tuple[SubjectRef, ...] = (), **over: Any) -> MemoryQuarantined:
    source = over.pop("source_kind", SourceKind.MODEL_OUTPUT)
    subject = over.pop("subject", SAMPLE_SUBJECT)
    draft = sample_draft(memory_id=memory(name), body=name.encode() * 3, source_kind=source, subject=subject)
    # Each says something else, unless a test has them say the same.
    words = {"content_hash": name.encode().ljust(16)}
    return structs.replace(sample_quarantined(draft, about=about), **{**words, **over})


def active(
    name: str, *rivals: tuple[str, int], about: tuple[SubjectRef, ...] = (), claim: bytes | None = b"c", **over: Any
) -> MemoryAccepted:
    fact = sample_accepted(sample_draft(memory_id=memory(name)), about=about)
    refs = tuple(ConflictRef(memory_id=memory(each), version=version) for each, version in rivals)
    return structs.replace(fact, claim_ref=claim, conflicts_with=refs, **over)


def sent_back(name: str, version: int, *, expires: int = SAMPLE_TIME * 2, **over: Any) -> MemorySuspended:
    return MemorySuspended(
        memory_id=memory(name),
        version=version,
        reasons=("policy.untrusted_source",),
        subject=SAMPLE_SUBJECT,
        generation=1,
        claim_ref=b"c",
        expires_at=Millis(expires),
        **over,
    )


class World:
    """One partition without a Kafka. ``hour`` is the log's time and the reader's, in hours after `SAMPLE_TIME`."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis
        self.hour = 0
        self.installation = Installation(log_id=LogId(new_id()), partitions=1, names=TopicNames(prefix=""))
        self.prefix = Prefix(self.installation.log_id, Partition(0), "review")
        self.model = ReviewModel(redis, self.now)
        self.reader = ReviewReader(redis, self.installation, self.now)
        self._offset = 0

    def now(self) -> Millis:
        return Millis(SAMPLE_TIME + self.hour * HOUR)

    async def happens(self, *facts: Fact, tenant: TenantId = SAMPLE_TENANT) -> None:
        events = [sample_event(each, tenant=tenant, decided_at=self.now()) for each in facts]
        await self.write(events)

    async def write(self, events: Sequence[Event]) -> None:
        start = Offset(self._offset)
        records = [Positioned(Offset(start + n), each.header.decided_at, each) for n, each in enumerate(events)]
        operations = await self.model.fold(self.prefix, records)
        self._offset += len(records)
        steps = steps_of(start, Offset(self._offset), records, operations)
        await Watermark(self.redis, self.prefix, self.model.functions).move(steps)

    async def page(self, wanted: Wanted = EVERYTHING, limit: int = 50, cursor: str | None = None) -> Page:
        return await self.reader.page(SAMPLE_TENANT, wanted, limit, cursor)

    async def listed(self, wanted: Wanted = EVERYTHING) -> list[Any]:
        """The ids of what waits; of a conflict, the set of its members' ids."""
        return [
            {member.memory_id for member in each.members} if isinstance(each, Conflict) else each.memory_id
            for each in (await self.page(wanted)).items
        ]

    async def swept(self) -> None:
        while await self.model.tend(self.prefix):
            pass

    async def keys(self) -> set[str]:
        """What the model holds, without its watermark and the memory of who is closed."""
        found = {each.decode().removeprefix(str(self.prefix)) async for each in self.redis.scan_iter(f"{self.prefix}*")}
        return {each for each in found if each != "watermark" and not each.startswith("closed:")}


@pytest.fixture
def world(redis_client: Redis) -> World:
    return World(redis_client)


async def test_a_quarantined_record_waits_with_all_that_a_reviewer_sorts_by(world: World) -> None:
    finding = Finding(detector="rules", rule="policy_influence", verdict=Verdict.QUARANTINE)
    later = Millis(SAMPLE_TIME + HOUR)
    fact = waiting(
        "one",
        reasons=(Reason.UNTRUSTED_SOURCE, Reason.POLICY_INFLUENCE),
        findings=(finding,),
        policy_influence=True,
        reviewable_at=later,
        supersedes=memory("old"),
        conflicts_with=(memory("rival"),),
    )
    await world.happens(fact)
    (item,) = (await world.page()).items
    assert isinstance(item, Quarantined)
    assert (item.memory_id, item.version, item.queued_at) == (memory("one"), 1, SAMPLE_TIME)
    assert (item.reasons, item.findings) == (("untrusted_source", "policy_influence"), (finding,))
    assert (item.policy_influence, item.reviewable_at, item.supersedes) == (True, later, memory("old"))
    assert (item.conflicts_with, item.subject, item.agent) == ((memory("rival"),), SAMPLE_SUBJECT, "support-bot")
    assert (item.kind, item.purposes, item.sensitivity, item.trust) == (
        "fact",
        ("support",),
        "personal",
        Trust.UNTRUSTED,
    )
    kept = await world.reader.waiting(SAMPLE_TENANT, memory("one"))
    assert kept is not None
    assert kept.body == b"oneoneone"


@pytest.mark.parametrize(
    "end",
    [
        MemoryPromoted(memory_id=memory("one"), version=2, trust=Trust.VERIFIED),
        MemoryRejected(memory_id=memory("one"), version=2, reason="not_accepted"),
        MemoryRetracted(memory_id=memory("one"), version=2),
        MemoryExpired(memory_id=memory("one"), version=2),
        MemoryForgotten(memory_id=memory("one"), version=2),
    ],
    ids=lambda fact: type(fact).__name__,
)
async def test_what_is_decided_waits_no_more_and_leaves_nothing(world: World, end: Fact) -> None:
    await world.happens(waiting("one"), waiting("two"))
    assert sorted(await world.listed()) == sorted([memory("one"), memory("two")])
    await world.happens(end)
    assert await world.listed() == [memory("two")]
    await world.happens(MemoryRetracted(memory_id=memory("two"), version=2))
    assert await world.keys() == set()


async def test_what_comes_into_use_on_its_claim_is_told_with_what_waits_and_leaves_nothing(world: World) -> None:
    await world.happens(active("before"), waiting("one", claim_ref=b"c"), waiting("two", claim_ref=b"c"))
    await world.happens(waiting("other", claim_ref=b"d"), waiting("none"))
    await world.happens(active("since"), active("elsewhere", claim=b"e"), active("free", claim=None))
    await world.happens(MemoryPromoted(memory_id=memory("two"), version=2, trust=Trust.VERIFIED))

    async def met(name: str) -> tuple[MemoryId, ...]:
        found = await world.reader.waiting(SAMPLE_TENANT, memory(name))
        assert found is not None
        return found.item.met

    assert await met("one") == tuple(sorted((memory("since"), memory("two"))))
    assert (await met("other"), await met("none")) == ((), ())
    assert all(isinstance(each, Quarantined) and not each.met for each in (await world.page()).items)
    for name in ("one", "other", "none"):
        await world.happens(MemoryRejected(memory_id=memory(name), version=2, reason="no"))
    assert await world.keys() == set()
    await world.happens(waiting("again", claim_ref=b"c"))
    assert await met("again") == ()


async def test_a_confirmation_moves_the_version_that_a_decision_has_to_name(world: World) -> None:
    await world.happens(waiting("one"), MemoryConfirmed(memory_id=memory("one"), version=2))
    (item,) = (await world.page()).items
    assert isinstance(item, Quarantined)
    assert (item.version, item.confirmation) == (2, Confirmation.CONFIRMED)


async def test_a_tie_is_one_conflict_until_one_is_left(world: World) -> None:
    await world.happens(active("first"), active("apart", claim=b"d"))
    assert await world.listed() == []
    world.hour = 1
    await world.happens(active("second", ("first", 2)))
    world.hour = 2
    await world.happens(active("third", ("first", 3), ("second", 2)))
    (conflict,) = (await world.page()).items
    assert isinstance(conflict, Conflict)
    versions = {each.memory_id: each.version for each in conflict.members}
    assert versions == {memory("first"): 3, memory("second"): 2, memory("third"): 1}
    assert conflict.queued_at == SAMPLE_TIME + HOUR
    for each in versions:
        assert await world.reader.conflict(SAMPLE_TENANT, each) == conflict
    assert await world.reader.conflict(SAMPLE_TENANT, memory("apart")) is None

    await world.happens(MemoryRetracted(memory_id=memory("first"), version=4))
    assert await world.listed() == [{memory("second"), memory("third")}]
    left = (await world.page()).items[0]
    assert left.queued_at == SAMPLE_TIME + 2 * HOUR
    await world.happens(
        ConflictResolved(
            memory_id=memory("third"),
            version=2,
            superseded=(SupersededRef(memory_id=memory("second"), version=3),),
        )
    )
    assert await world.listed() == []
    assert await world.keys() == set()


async def test_a_record_that_tied_two_others_takes_the_conflict_along(world: World) -> None:
    """A statement for the whole year contradicts one for its first half and one for its second; they not each other."""
    await world.happens(active("spring"), active("autumn"), active("year", ("spring", 2), ("autumn", 2)))
    assert await world.listed() == [{memory("spring"), memory("autumn"), memory("year")}]
    await world.happens(MemoryExpired(memory_id=memory("year"), version=2))
    assert await world.listed() == []
    assert await world.keys() == set()


async def test_a_promoted_record_may_open_a_conflict_and_one_that_replaces_ends_it(world: World) -> None:
    await world.happens(active("old"), waiting("new", claim_ref=b"c", conflicts_with=(memory("old"),)))
    rivals = (ConflictRef(memory_id=memory("old"), version=2),)
    await world.happens(MemoryPromoted(memory_id=memory("new"), version=2, trust=Trust.VERIFIED, conflicts_with=rivals))
    assert await world.listed() == [{memory("old"), memory("new")}]
    correction = active("newest", supersedes=SupersededRef(memory_id=memory("old"), version=3))
    await world.happens(structs.replace(correction, claim_ref=None))
    assert await world.listed() == []
    assert await world.keys() == set()


async def test_filters_age_and_pages(world: World) -> None:
    for number in range(7):
        world.hour = number
        tool = number % 2 == 1
        await world.happens(
            waiting(
                f"m{number}",
                source_kind=SourceKind.THIRD_PARTY if tool else SourceKind.MODEL_OUTPUT,
                reasons=(Reason.UNTRUSTED_SOURCE,) + ((Reason.INSTRUCTION,) if number > 4 else ()),
                subject=FRIEND.subject if number == 3 else SAMPLE_SUBJECT,
            )
        )
    world.hour = 7
    await world.happens(active("a"), active("b", ("a", 2)))
    every = [memory(f"m{number}") for number in range(7)]
    both = {memory("a"), memory("b")}
    assert await world.listed() == [*every, both]
    assert await world.listed(Wanted(source=SourceKind.THIRD_PARTY)) == every[1::2]
    assert await world.listed(Wanted(reason="instruction")) == every[5:]
    assert await world.listed(Wanted(reason="conflict")) == [both]
    assert await world.listed(Wanted(min_age=5 * HOUR)) == every[:3]
    assert await world.listed(Wanted(subject=FRIEND.subject)) == [every[3]]
    first = await world.page(limit=3)
    assert ([getattr(each, "memory_id", both) for each in first.items], first.waiting) == (every[:3], 8)
    # What the cursor stands on may be decided between two pages, and something may come to stand before it.
    await world.happens(MemoryRetracted(memory_id=memory("m2"), version=2))
    second = await world.page(limit=3, cursor=first.cursor)
    assert [getattr(each, "memory_id", both) for each in second.items] == every[3:6]
    third = await world.page(limit=3, cursor=second.cursor)
    assert [getattr(each, "memory_id", both) for each in third.items] == [every[6], both]
    assert third.cursor is None
    with pytest.raises(BadScope, match="cursor"):
        await world.page(cursor="nonsense")


SAME: dict[str, Any] = {"content_hash": b"the same words.."}


async def test_the_same_words_from_several_sources_are_one_item_that_each_decision_makes_smaller(world: World) -> None:
    for number, name in enumerate(("m0", "m1", "m2")):
        world.hour = number
        source = SourceKind.THIRD_PARTY if name == "m1" else SourceKind.MODEL_OUTPUT
        await world.happens(waiting(name, source_kind=source, **SAME))
    await world.happens(waiting("other", **SAME, claim_ref=b"another claim"), waiting("else"))
    page = await world.page()
    first = page.items[0]
    assert isinstance(first, Quarantined)
    assert (len(page.items), page.waiting) == (3, 3), "items, and not the five records"
    assert (await world.listed())[0] == memory("m0")
    assert set(await world.listed()) == {memory(each) for each in ("m0", "other", "else")}
    assert ([each.memory_id for each in first.alike], first.alike_total) == ([memory("m1"), memory("m2")], 3)
    # A filter that the oldest does not pass hides none of the others, and an id asked for is always shown.
    assert await world.listed(Wanted(source=SourceKind.THIRD_PARTY)) == [memory("m1")]
    shown = await world.reader.waiting(SAMPLE_TENANT, memory("m2"))
    assert shown is not None
    assert [each.memory_id for each in shown.item.alike] == [memory("m0"), memory("m1")]
    # What its author takes back takes nobody else's along.
    await world.happens(MemoryRetracted(memory_id=memory("m0"), version=2))
    assert (await world.listed())[0] == memory("m1")
    assert (await world.page()).waiting == 3
    await world.happens(MemoryPromoted(memory_id=memory("m1"), version=2, trust=Trust.VERIFIED))
    (left,) = [each for each in (await world.page()).items if getattr(each, "memory_id", None) == memory("m2")]
    assert isinstance(left, Quarantined)
    assert (left.alike, left.alike_total) == ((), 1)
    await world.happens(
        *(MemoryRejected(memory_id=memory(each), version=2, reason="no") for each in ("m2", "other", "else"))
    )
    assert not [each for each in await world.keys() if each.startswith(("alike", "queue", "repeats"))]


async def test_no_item_is_lost_between_rounds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A round looks at few members, most of them of one time, few of which fit; and the cursor's own may be gone."""
    monkeypatch.setattr("eunoe.readmodels.review_reader._CHUNK", 2)
    facts = [waiting(f"m{number}", source_kind=list(SourceKind)[number % 3]) for number in range(11)]
    await world.happens(*facts)
    world.hour = 1
    await world.happens(waiting("last", source_kind=SourceKind.USER_EXPLICIT))
    every = (await world.page()).items
    assert len(every) == 12
    wanted = Wanted(source=SourceKind.USER_EXPLICIT)
    fitting = [each for each in every if isinstance(each, Quarantined) and each.source_kind is wanted.source]
    assert list((await world.page(wanted)).items) == fitting
    assert len(fitting) == 5
    for size in (1, 2, 3, 11, 12):
        found: list[Any] = []
        cursor = None
        while True:
            page = await world.page(limit=size, cursor=cursor)
            found += page.items
            cursor = page.cursor
            if cursor is None:
                break
        assert found == list(every)
    page = await world.page(limit=9)
    for each in page.items[-2:]:
        assert isinstance(each, Quarantined)
        await world.happens(MemoryRetracted(memory_id=each.memory_id, version=2))
    rest = await world.page(limit=50, cursor=page.cursor)
    assert rest.items == every[9:]


async def test_what_was_sent_back_waits_leaves_its_conflict_and_leaves_nothing_when_it_is_decided(world: World) -> None:
    await world.happens(active("a"), active("b", ("a", 2)))
    before = await world.keys()
    await world.happens(sent_back("b", 2, about=(FRIEND,)))
    (item,) = (await world.page()).items
    assert isinstance(item, Suspended)
    assert (item.memory_id, item.version, item.reasons) == (memory("b"), 2, ("policy.untrusted_source",))
    shown = await world.reader.suspended(SAMPLE_TENANT, memory("b"))
    assert shown == structs.replace(item, met=(memory("a"),)), "what it contradicted is told with it"
    assert await world.reader.waiting(SAMPLE_TENANT, memory("b")) is None
    assert await world.listed(Wanted(reason="suspended")) == [memory("b")]
    assert await world.listed(Wanted(source=SourceKind.TOOL)) == []
    back = MemoryPromoted(
        memory_id=memory("b"),
        version=3,
        trust=Trust.VERIFIED,
        conflicts_with=(ConflictRef(memory_id=memory("a"), version=4),),
    )
    await world.happens(back)
    assert await world.listed() == [{memory("a"), memory("b")}]
    assert before < await world.keys()
    await world.happens(
        sent_back("b", 4, about=(FRIEND,)), MemoryRejected(memory_id=memory("b"), version=5, reason="no")
    )
    assert (await world.listed(), await world.keys()) == ([], set())
    await world.happens(sent_back("c", 2, expires=SAMPLE_TIME))
    assert (await world.listed(), await world.reader.suspended(SAMPLE_TENANT, memory("c"))) == ([], None)


async def test_a_tenant_sees_its_own_queue(world: World) -> None:
    await world.happens(waiting("one"))
    await world.happens(waiting("two"), tenant=OTHER_TENANT)
    assert await world.listed() == [memory("one")]
    assert await world.reader.waiting(SAMPLE_TENANT, memory("two")) is None
    assert await world.reader.waiting(OTHER_TENANT, memory("two")) is not None


async def test_who_is_forgotten_is_gone_from_the_queue_at_once_and_from_redis_in_steps(world: World) -> None:
    await world.happens(*(waiting(f"m{number}") for number in range(25)))
    friend = structs.replace(
        waiting("friend", subject=FRIEND.subject),
        draft=sample_draft(memory_id=memory("friend"), subject=FRIEND.subject, generation=2),
    )
    await world.happens(
        friend, structs.replace(waiting("both"), draft=sample_draft(memory_id=memory("both")), about=(FRIEND,))
    )
    await world.happens(active("a"), active("b", ("a", 2)))
    assert len(await world.listed()) == 28
    await world.happens(SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=29))
    assert await world.listed() == [memory("friend")]
    for name in ("m3", "both"):
        assert await world.reader.waiting(SAMPLE_TENANT, memory(name)) is None
    assert await world.reader.conflict(SAMPLE_TENANT, memory("b")) is None
    assert await world.model.tend(world.prefix) is True
    await world.swept()
    assert len(await world.keys()) == 7
    assert (await queue_of(world.redis, world.prefix)).items == 1
    await world.happens(SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2))
    again = structs.replace(waiting("again"), draft=sample_draft(memory_id=memory("again"), generation=2))
    await world.happens(again, waiting("m0"))
    assert set(await world.listed()) == {memory("friend"), memory("again")}


async def test_a_conflict_ends_with_whoever_else_one_of_its_records_is_about(world: World) -> None:
    """Whenever that is swept: what is left is the same."""
    left = []
    for sweep_first in (True, False):
        other = World(world.redis)
        await other.happens(active("a", about=(FRIEND,)), active("b"))
        other.hour = 1
        await other.happens(active("c", ("a", 2), ("b", 2)))
        await other.happens(MemoryRetracted(memory_id=memory("b"), version=3))
        assert await other.listed() == [{memory("a"), memory("c")}]
        await other.happens(SubjectForgotten(subject=FRIEND.subject, generation=2, records=1))
        assert await other.listed() == []
        if sweep_first:
            await other.swept()
        other.hour = 2
        await other.happens(active("d", ("c", 2)))
        assert await other.listed() == [{memory("c"), memory("d")}]
        await other.swept()
        (conflict,) = (await other.page()).items
        left.append((await other.keys(), conflict))
    assert left[0] == left[1]
    assert left[0][1].queued_at == SAMPLE_TIME + 2 * HOUR


async def test_what_has_expired_is_told_no_more(world: World) -> None:
    await world.happens(waiting("one"))
    world.hour = 30 * 24 - 1
    assert await world.listed() == [memory("one")]
    world.hour += 1
    assert await world.listed() == []
    assert await world.reader.waiting(SAMPLE_TENANT, memory("one")) is None


async def test_the_queues_length_and_age_are_gauges_by_reason(world: World) -> None:
    await world.happens(waiting("old", reasons=(Reason.UNTRUSTED_SOURCE,)))
    world.hour = 2
    await world.happens(waiting("new", reasons=(Reason.UNTRUSTED_SOURCE, Reason.INSTRUCTION)))
    assert list(world.model.readings(Partition(0))) == []
    await world.swept()
    world.hour = 3

    def read() -> dict[tuple[str, ...], float]:
        return {(metric.name, *labels[1:]): value for metric, labels, value in world.model.readings(Partition(0))}

    age = "eunoe_review_age_seconds"
    assert read() == {
        ("eunoe_review_items",): 2,
        (age, "instruction"): 3_600,
        (age, "untrusted_source"): 3 * 3_600,
    }
    await world.happens(MemoryRetracted(memory_id=memory("old"), version=2))
    await world.swept()
    assert read()[age, "untrusted_source"] == 3_600


async def test_an_event_that_cannot_be_applied_stops_the_partition(log: Log) -> None:
    model = ReviewModel(log.redis, lambda: SAMPLE_TIME)
    broken = structs.replace(active("b", ("a", 2)), claim_ref=None)
    with pytest.raises(CannotApply):
        await model.fold(log.prefix("review"), [Positioned(Offset(7), SAMPLE_TIME, sample_event(broken))])
    offsets = await log.write(sample_event(waiting("one")), sample_event(broken), sample_event(waiting("two")))
    with pytest.raises(ProjectionStopped) as stopped:
        await log.fold(model)
    assert stopped.value.offset == offsets[1]
    reader = ReviewReader(log.redis, log.installation, lambda: SAMPLE_TIME)
    page = await reader.page(SAMPLE_TENANT, EVERYTHING, 10)
    assert [each.memory_id for each in page.items if isinstance(each, Quarantined)] == [memory("one")]


async def test_two_folds_of_one_log_are_equal_however_they_are_cut(log: Log) -> None:
    facts: list[Fact] = [
        waiting("one"),
        active("a"),
        active("b", ("a", 2)),
        waiting("two", claim_ref=b"c", conflicts_with=(memory("a"),)),
        MemoryPromoted(
            memory_id=memory("two"),
            version=2,
            trust=Trust.VERIFIED,
            conflicts_with=(ConflictRef(memory_id=memory("a"), version=3),),
        ),
        MemoryRetracted(memory_id=memory("b"), version=2),
        sent_back("two", 3),
    ]
    for fact in facts:
        await log.write(sample_event(fact))
    for generation in (1, 2):
        model = ReviewModel(log.redis, lambda: SAMPLE_TIME)
        pace = structs.replace(FAST, batch=1) if generation == 2 else FAST
        await log.fold(model, generation=generation, pace=pace)
    one, two = await log.contents("review", 1), await log.contents("review", 2)
    assert one == two
    assert len(one) > 5
