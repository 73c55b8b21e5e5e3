"""Killed between any two steps, the shredder finishes what it began: nothing is let go of that has no tombstone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.processors.shredding.destroyer import Destroyer, Heartbeats
from eunoe.processors.shredding.due import month_over
from eunoe.processors.shredding.errors import GuardedKey
from eunoe.processors.shredding.fold import DueModel
from eunoe.processors.shredding.names import ShredNames, shred_prefix
from eunoe.processors.shredding.units import Generation, OneKey, member
from eunoe.readmodels.source import Positioned
from eunoe.runtime.clock import ManualClock
from eunoe.runtime.redis.watermark import Step, Watermark
from eunoe.schemas.events import (
    Fact,
    KeyIssued,
    MemoryForgotten,
    SubjectForgotten,
    SubjectRef,
    TenantForgotten,
    TenantReadmitted,
)
from eunoe.schemas.ids import Bucket, KeyId, LogId, MemoryId, Millis, Offset, Partition, Pseudonym, new_id
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_accepted, sample_draft, sample_event

ANNA, BORIS = Pseudonym("a" * 32), Pseudonym("b" * 32)
MAY = Bucket("2027-05")
SETTLE = 30_000


class Killed(Exception):
    """What the test does at a step."""


@dataclass
class Steps:
    """Counts what reaches the world, and ends it there: before the step is done (``after`` False) or just after."""

    at: int = -1
    after: bool = False
    seen: int = 0

    async def take(self, step: Callable[[], Any]) -> Any:
        here, self.seen = self.seen == self.at, self.seen + 1
        if here and not self.after:
            raise Killed
        answer = await step()
        if here:
            raise Killed
        return answer


class SteppedRedis:
    """A Redis of which every round trip is a step."""

    def __init__(self, redis: Any, steps: Steps) -> None:
        self._redis = redis
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._redis, name)

        async def stepped(*args: Any, **kwargs: Any) -> Any:
            return await self._steps.take(lambda: real(*args, **kwargs))

        return stepped

    def pipeline(self, **kwargs: Any) -> Any:
        pipeline = self._redis.pipeline(**kwargs)
        execute, steps = pipeline.execute, self._steps
        pipeline.execute = lambda: steps.take(execute)
        return pipeline


@dataclass
class Topic:
    """What was tombstoned, in order."""

    steps: Steps = field(default_factory=Steps)
    written: list[KeyId] = field(default_factory=list)
    beats: int = 0

    async def destroy(self, key_ids: Sequence[KeyId]) -> Offset:
        return Offset(await self.steps.take(lambda: self._write(key_ids)))

    async def _write(self, key_ids: Sequence[KeyId]) -> int:
        self.written += key_ids
        return len(self.written) - 1

    async def beat(self) -> None:
        self.beats += 1


@dataclass
class World:
    """One partition's log, folded in Redis, and what destroys from it."""

    redis: Redis
    names: ShredNames
    clock: ManualClock = field(default_factory=lambda: ManualClock(SAMPLE_TIME))
    topic: Topic = field(default_factory=Topic)
    offset: int = 0

    def destroyer(self, redis: Any = None) -> Destroyer:
        return Destroyer(
            redis=redis or self.redis,
            names=self.names,
            tombstones=self.topic,
            clock=self.clock,
            settle=SETTLE,
            topic="memory-keys",
        )

    async def fold(self, *facts: Fact) -> None:
        records = [
            Positioned(Offset(self.offset + at), SAMPLE_TIME, sample_event(fact)) for at, fact in enumerate(facts)
        ]
        operations = await DueModel().fold(self.names.prefix, records)
        flat = [operation for one in operations for operation in one]
        to = self.offset + len(facts)
        await Watermark(self.redis, self.names.prefix).move([Step(self.offset, to, flat)])
        self.offset = to

    async def issue(self, subject: Pseudonym, bucket: str, root: KeyId) -> KeyId:
        key = KeyId(new_id())
        await self.fold(
            KeyIssued(
                incarnation=1,
                subject=subject,
                generation=1,
                bucket=Bucket(bucket),
                key_id=key,
                root_key_id=root,
                created=True,
            )
        )
        return key

    async def single(self, subject: Pseudonym, root: KeyId, *about: Pseudonym) -> tuple[MemoryId, KeyId]:
        """A record with a key of its own."""
        memory_id = MemoryId(new_id())
        key = await self.issue(subject, memory_id, root)
        draft = sample_draft(memory_id=memory_id, key_id=key, subject=subject)
        await self.fold(sample_accepted(draft, about=tuple(SubjectRef(subject=each, generation=1) for each in about)))
        return memory_id, key

    async def todo(self) -> list[Any]:
        return list(await self.redis.zrange(self.names.todo, 0, -1))


@pytest.fixture
async def world(redis_client: Redis) -> World:
    return World(redis_client, ShredNames(shred_prefix(LogId(new_id()), Partition(0))))


async def populate(world: World) -> tuple[set[KeyId], set[KeyId]]:
    """Anna has a month, a single record, and a part in one of Boris's; hers, and what must stay."""
    hers, his = KeyId(new_id()), KeyId(new_id())
    month = await world.issue(ANNA, MAY, hers)
    _, single = await world.single(ANNA, hers)
    _, shared = await world.single(BORIS, his, ANNA)
    stays = await world.issue(BORIS, MAY, his)
    _, other = await world.single(BORIS, his)
    return {hers, month, single, shared}, {his, stays, other}


async def drained(world: World) -> None:
    destroyer = world.destroyer()
    while await destroyer.step():
        pass


async def finished_after_a_kill(world: World, at: int, after: bool, gone: set[KeyId]) -> bool:
    """One turn of the destroyer, killed at (or ``after``) its step ``at``, and the next ones to the end: then ``gone``
    is destroyed and nothing else. False where it had no such step."""
    steps = Steps(at=at, after=after)
    world.topic.steps = steps
    try:
        await world.destroyer(SteppedRedis(world.redis, steps)).step()
    except Killed:
        pass
    else:
        return False
    assert set(world.topic.written) == gone or await world.todo(), "let go of, but not destroyed"
    steps.at = -1
    await drained(world)
    assert set(world.topic.written) == gone
    assert await world.todo() == []
    return True


@pytest.mark.parametrize("after", [False, True])
async def test_killed_at_each_step_it_finishes_the_next_time(redis_client: Redis, after: bool) -> None:
    kills = 0
    while True:
        world = World(redis_client, ShredNames(shred_prefix(LogId(new_id()), Partition(0))))
        hers, others = await populate(world)
        await world.fold(SubjectForgotten(subject=ANNA, generation=1, records=2))
        if not await finished_after_a_kill(world, kills, after, hers):
            break
        kills += 1
        assert not others & set(world.topic.written)
        assert await redis_client.hlen(world.names.done) == 1
    assert kills >= 10, "look, guard, announce, tombstone, unschedule, remove, and so on"


@pytest.mark.parametrize("after", [False, True])
async def test_killed_at_each_step_a_whole_tenant_is_finished_the_next_time(redis_client: Redis, after: bool) -> None:
    """The name is readmitted before the shredder comes back: what the next tenant of it was given stays."""
    kills = 0
    while True:
        world = World(redis_client, ShredNames(shred_prefix(LogId(new_id()), Partition(0))))
        tenant, day = KeyId(new_id()), KeyId(new_id())
        await world.fold(
            KeyIssued(incarnation=1, key_id=tenant, created=True),
            KeyIssued(incarnation=1, key_id=day, bucket=Bucket("2027-05-04"), created=True),
        )
        hers, his = await populate(world)
        await world.fold(TenantForgotten(incarnation=1, key_id=tenant), TenantReadmitted(incarnation=2))
        later = KeyId(new_id())
        await world.fold(KeyIssued(incarnation=2, key_id=later, created=True))
        given = {tenant, day} | hers | his
        if not await finished_after_a_kill(world, kills, after, given):
            break
        kills += 1
        assert await redis_client.smembers(world.names.guarded) == {later.encode()}
        keys = [each async for each in redis_client.scan_iter(f"{world.names.prefix}*:*")]
        left = {world.names.rest(each.decode()) for each in keys}
        assert left == {"tenant:acme:2"}, "nothing is kept of whose the destroyed keys were"
    assert kills >= 10


async def test_a_generation_of_many_keys_is_destroyed_in_rounds(world: World) -> None:
    root = KeyId(new_id())
    facts = [
        KeyIssued(
            incarnation=1,
            subject=ANNA,
            generation=1,
            bucket=Bucket(new_id()),
            key_id=KeyId(new_id()),
            root_key_id=root,
            created=True,
        )
        for _ in range(1_200)
    ]
    for first in range(0, len(facts), 100):
        await world.fold(*facts[first : first + 100])
    await world.fold(SubjectForgotten(subject=ANNA, generation=1, records=0))
    await drained(world)
    assert sorted(world.topic.written) == sorted({each.key_id for each in facts} | {root})


async def test_a_month_is_destroyed_when_it_is_over_and_not_before(world: World) -> None:
    root = KeyId(new_id())
    month = await world.issue(ANNA, MAY, root)
    later = await world.issue(ANNA, "2027-06", root)
    world.clock.set(Millis(month_over(MAY) - 1))
    await drained(world)
    assert world.topic.written == []
    world.clock.advance(1)
    await drained(world)
    assert world.topic.written == [month]
    world.clock.set(month_over(Bucket("2027-06")))
    await drained(world)
    assert world.topic.written == [month, later]


async def test_a_single_records_key_goes_with_the_record(world: World) -> None:
    root = KeyId(new_id())
    memory_id, key = await world.single(ANNA, root)
    _, stays = await world.single(ANNA, root)
    await world.issue(ANNA, MAY, root)
    await world.fold(
        MemoryForgotten(memory_id=memory_id, version=2), MemoryForgotten(memory_id=MemoryId(new_id()), version=2)
    )
    await drained(world)
    assert world.topic.written == [key]
    assert await world.todo() == []
    assert stays not in world.topic.written


async def test_a_tenants_key_is_never_destroyed(world: World) -> None:
    key = KeyId(new_id())
    await world.fold(KeyIssued(incarnation=1, key_id=key, created=True))
    await world.redis.sadd(world.names.keys(SAMPLE_TENANT, ANNA, 1), key)
    await world.fold(SubjectForgotten(subject=ANNA, generation=1, records=0))
    with pytest.raises(GuardedKey, match=key):
        await world.destroyer().step()
    assert world.topic.written == []
    assert await world.todo() == [member(Generation(SAMPLE_TENANT, ANNA, 1)).encode()]


async def test_what_waits_is_told_with_its_age(world: World) -> None:
    await populate(world)
    await world.fold(SubjectForgotten(subject=ANNA, generation=1, records=2))
    steps = Steps(at=2)
    destroyer = world.destroyer(SteppedRedis(world.redis, steps))
    with pytest.raises(Killed):
        await destroyer.step()
    assert (destroyer.pending.units, destroyer.pending.since) == (1, SAMPLE_TIME)
    await destroyer.step()
    assert (destroyer.pending.units, destroyer.pending.since) == (0, None)


async def test_heartbeats_go_on_until_the_log_has_settled(world: World) -> None:
    beats = Heartbeats(redis=world.redis, names=[world.names], tombstones=world.topic, clock=world.clock)
    assert not await beats.settling()
    await world.redis.zadd(world.names.due, {member(OneKey(KeyId(new_id()))): 0})
    await drained(world)
    assert await beats.settling()
    world.clock.advance(SETTLE)
    assert not await beats.settling()
