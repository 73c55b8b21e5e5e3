"""Doing the faults of a schedule to the stack, and noting what became of each."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from redis.asyncio import Redis

from eunoe.operations.lag import owners_of
from eunoe.stack.local import LocalStack
from eunoe.testing.chaos.bad_records import BadRecords
from eunoe.testing.chaos.crew import NOTHING, Crew, Post
from eunoe.testing.chaos.faults import RULES, Kind, Track
from eunoe.testing.chaos.schedule import Fault
from eunoe.testing.chaos.shifted_clock import ShiftedClock
from eunoe.testing.chaos.slow_link import SlowLink
from eunoe.testing.chaos.small_disk import SmallDisk

_FULL: Final = 500_000
"""Bytes: less than an empty Redis with its Functions uses."""
_MOVED_S: Final = 30.0
_VISIT_S: Final = 40.0
_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """``began`` and ``ended`` in seconds of the monotonic clock; ``notes``: what was seen while it was done."""

    fault: Fault
    began: float
    ended: float
    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Injector:
    """``group``: the consumer group of the deciders. ``clock`` None: clocks cannot be stepped here. ``disk`` None: the
    broker's data lie on no disk of their own."""

    stack: LocalStack
    link: SlowLink
    crew: Crew
    bad: BadRecords
    group: str
    clock: ShiftedClock | None
    disk: SmallDisk | None
    done: list[Injected] = field(default_factory=list)
    bad_records: int = 0

    async def run(self, faults: Sequence[Fault], began: float, last: float) -> None:
        """All of them, each track one at a time, none before its moment and none after ``last``. ``began``: when the
        load did."""
        async with asyncio.TaskGroup() as tracks:
            for track in Track:
                tracks.create_task(self._track([each for each in faults if each.track is track], began, last))

    async def _track(self, faults: Sequence[Fault], began: float, last: float) -> None:
        """A fault that came late (a broker takes its time) puts off the next one: each is to have its rest. So on a
        busy machine the last ones of a schedule do not come."""
        free_at = began
        for fault in faults:
            at = max(began + fault.at, free_at)
            if at > last:
                return
            await asyncio.sleep(at - time.monotonic())
            at = time.monotonic()
            notes = await self._way(fault.kind)(fault)
            ended = time.monotonic()
            free_at = ended + RULES[fault.kind].rest
            self.done.append(Injected(fault=fault, began=at, ended=ended, notes=tuple(notes)))

    def _way(self, kind: Kind) -> Callable[[Fault], Awaitable[Sequence[str]]]:
        ways: Mapping[Kind, Callable[[Fault], Awaitable[Sequence[str]]]] = {
            Kind.BROKER_STOPPED: self._broker_stopped,
            Kind.BROKER_KILLED: self._broker_killed,
            Kind.BROKER_RESTARTED: self._broker_stopped,
            Kind.BROKER_SLOW: self._broker_slow,
            Kind.BROKER_CUT: self._cut,
            Kind.BROKER_FULL: self._broker_full,
            Kind.REDIS_KILLED: self._redis_killed,
            Kind.REDIS_EMPTIED: self._redis_emptied,
            Kind.REDIS_PAUSED: self._redis_paused,
            Kind.REDIS_FULL: self._redis_full,
            Kind.DECIDER_KILLED: self._killed("decide"),
            Kind.DECIDER_TERMINATED: self._terminated("decide"),
            Kind.PROJECTOR_KILLED: self._killed("project"),
            Kind.PROJECTOR_TERMINATED: self._terminated("project"),
            Kind.SHREDDER_KILLED: self._killed("attest"),
            Kind.WORKER_JOINS: self._joins,
            Kind.ZOMBIE: self._zombie,
            Kind.CLOCK: self._clock,
            Kind.POISON: self._poison,
            Kind.OVERSIZED: self._oversized,
        }
        return ways[kind]

    # The world.

    async def _broker_stopped(self, fault: Fault) -> Sequence[str]:
        await asyncio.to_thread(self.stack.broker.stop)
        return await self._broker_back(fault)

    async def _broker_killed(self, fault: Fault) -> Sequence[str]:
        await asyncio.to_thread(self.stack.broker.kill)
        return await self._broker_back(fault)

    async def _broker_back(self, fault: Fault) -> Sequence[str]:
        await asyncio.sleep(fault.seconds)
        return await self._started_again()

    async def _started_again(self) -> Sequence[str]:
        began = time.monotonic()
        await asyncio.to_thread(self.stack.broker.start)
        return [f"the broker answered {time.monotonic() - began:.1f} s after its start"]

    async def _broker_slow(self, fault: Fault) -> Sequence[str]:
        self.link.delay = random.Random(fault.draw).choice((0.05, 0.15, 0.4))
        try:
            await asyncio.sleep(fault.seconds)
            return [f"{self.link.delay * 1_000:.0f} ms each way"]
        finally:
            self.link.delay = 0.0

    async def _cut(self, fault: Fault) -> Sequence[str]:
        return [f"{self.link.cut() // 2} connections"]

    async def _broker_full(self, fault: Fault) -> Sequence[str]:
        if self.disk is None:
            return ["left out: no file system can be mounted here"]
        used = self.disk.fill()
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            self.disk.make_room()
        went_on = self.stack.broker.running
        notes = [f"{used / 1e6:.1f} MB were used", "it went on" if went_on else "the broker had ended itself"]
        return notes if went_on else [*notes, *await self._started_again()]

    async def _redis_killed(self, fault: Fault) -> Sequence[str]:
        await asyncio.to_thread(self.stack.redis_server.kill)
        await asyncio.sleep(fault.seconds)
        await asyncio.to_thread(self.stack.redis_server.start)
        return []

    async def _redis_emptied(self, fault: Fault) -> Sequence[str]:
        await asyncio.to_thread(self.stack.redis_server.kill)
        await asyncio.sleep(fault.seconds)
        await asyncio.to_thread(self.stack.redis_server.start, empty=True)
        return []

    async def _redis_paused(self, fault: Fault) -> Sequence[str]:
        self.stack.redis_server.pause()
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            self.stack.redis_server.resume()
        return []

    async def _redis_full(self, fault: Fault) -> Sequence[str]:
        client: Any = Redis.from_url(self.stack.redis)
        try:
            used = (await client.info("memory"))["used_memory"]
            await client.config_set("maxmemory", _FULL)
            try:
                await asyncio.sleep(fault.seconds)
                refused = (await client.info("errorstats")).get("errorstat_OOM", {}).get("count", 0)
            finally:
                await client.config_set("maxmemory", 0)
        finally:
            await client.aclose()
        return [f"{used / 1e6:.1f} MB were in use; {refused} writes were refused"]

    # Workers.

    def _killed(self, role: str) -> Callable[[Fault], Awaitable[Sequence[str]]]:
        async def kill(fault: Fault) -> Sequence[str]:
            if (post := self._chosen(role, fault)) is None:
                return ["left out: nobody to kill"]
            await asyncio.to_thread(self.crew.kill, post)
            await asyncio.sleep(fault.seconds)
            self.crew.start(post)
            return [post.name]

        return kill

    def _terminated(self, role: str) -> Callable[[Fault], Awaitable[Sequence[str]]]:
        async def terminate(fault: Fault) -> Sequence[str]:
            if (post := self._chosen(role, fault)) is None:
                return ["left out: nobody to end"]
            notes = await self._stopped(post)
            await asyncio.sleep(fault.seconds)
            self.crew.start(post)
            return notes

        return terminate

    async def _stopped(self, post: Post) -> Sequence[str]:
        seconds, code = await self.crew.stop(post)
        said = "had to be killed" if code is None else f"exit code {code}"
        return [f"{post.name} ended {seconds:.1f} s after SIGTERM, {said}"]

    async def _joins(self, fault: Fault) -> Sequence[str]:
        post = self.crew.add("visitor", "decide,project")
        began = time.monotonic()
        ready = await self.crew.one_ready(post, _VISIT_S)
        notes = [f"{'ready' if ready else 'NOT ready'} after {time.monotonic() - began:.1f} s"]
        await asyncio.sleep(fault.seconds)
        notes += await self._stopped(post)
        self.crew.remove(post.name)
        return notes

    async def _zombie(self, fault: Fault) -> Sequence[str]:
        post = self._chosen("decide", fault)
        if post is None or post.worker is None:
            return ["left out: nobody to stop"]
        post.down = True
        post.worker.pause()
        try:
            await asyncio.sleep(fault.seconds)
            moved = await self._moved()
        finally:
            post.worker.resume()
            post.down = False
        what = "its partitions had moved" if moved else "its partitions had NOT moved"
        return [f"{post.name}: {what} before it went on"]

    async def _moved(self) -> bool:
        """Whether the deciders' group has settled without the one that is stopped."""
        deadline = time.monotonic() + _MOVED_S
        while time.monotonic() < deadline:
            admin = AIOKafkaAdminClient(bootstrap_servers=self.stack.kafka)
            try:
                await admin.start()
                owners = await owners_of(admin, self.group)
            except KafkaError:
                owners = None
            finally:
                await admin.close()
            # One that is stopped cannot take part in settling: the group does it without it.
            if owners is not None and len(owners) == self.bad.installation.partitions:
                return True
            await asyncio.sleep(_LOOK_S)
        return False

    async def _clock(self, fault: Fault) -> Sequence[str]:
        post = self._chosen("decide", fault)
        if self.clock is None or post is None:
            return ["left out: no libfaketime works here" if self.clock is None else "left out: nobody to change"]
        first = random.Random(fault.draw).choice((1, -1))
        await asyncio.to_thread(self.crew.kill, post)
        self.clock.step(0)
        self.crew.start(post, self.clock.environ)
        for hours in (first, -first):
            await asyncio.sleep(fault.seconds / 2)
            self.clock.step(hours)
        await asyncio.sleep(fault.seconds / 2)
        notes = await self._stopped(post)
        self.crew.start(post, NOTHING)
        return [f"{post.name} in {self.clock.zone}, {first:+d} h, then {-first:+d} h", *notes]

    def _chosen(self, role: str, fault: Fault) -> Post | None:
        found = self.crew.of_role(role)
        return found[fault.draw % len(found)] if found else None

    # Records.

    async def _poison(self, fault: Fault) -> Sequence[str]:
        return await self._written(lambda: self._poisoned(random.Random(fault.draw)))

    async def _poisoned(self, dice: random.Random) -> str:
        count = await self.bad.poison(dice)
        self.bad_records += count
        return f"{count} records"

    async def _oversized(self, fault: Fault) -> Sequence[str]:
        return await self._written(lambda: self._too_large(random.Random(fault.draw)))

    async def _too_large(self, dice: random.Random) -> str:
        count, refused = await self.bad.oversized(dice)
        self.bad_records += count
        return f"{count} taken, the larger one {'refused by Kafka' if refused else 'NOT refused'}"

    async def _written(self, write: Callable[[], Awaitable[str]]) -> Sequence[str]:
        """Bad records wait for no broker: where it is away, they are left out."""
        try:
            async with asyncio.timeout(_MOVED_S):
                return [await write()]
        except (KafkaError, TimeoutError) as away:
            return [f"left out or only some: the broker was away ({type(away).__name__})"]
