"""Looks after a worker's lanes from outside them: where each is, where its log ends, whether it moves.

Once a second: the ends of the logs (asked of the broker, not of the lanes), the lanes' positions, and how far the
decider is on the partitions that are projected here. What is found is what ``/readyz`` and the gauges say. A partition
that stands still has the stacks of the process written to the log, once. Now and then the projectors' positions are
committed to Kafka, for lag tools: nobody reads from there (DESIGN §4).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError
from redis.exceptions import RedisError

from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.runtime.lane import LaneState, heed_cancellation
from eunoe.runtime.metrics import LAG, LAG_SECONDS, UNMOVED_SECONDS, UNREADABLE_SECONDS
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation
from eunoe.worker.health import Failing, Item
from eunoe.worker.lanes import LaneService, Place
from eunoe.worker.prometheus import Reading
from eunoe.worker.readable import Readable
from eunoe.worker.stacks import task_stacks, thread_stacks
from eunoe.worker.watched import Watched

log = logging.getLogger(__name__)

_EVERY_S: Final = 1.0
_EVERY_UNREADY_S: Final = 0.2
_ANSWER_S: Final = 5.0
"""How long a look waits for Kafka or Redis; what is known from before stands meanwhile."""
_COMMIT_S: Final = 5.0
_STORE_S: Final = 10.0
"""Redis answers in milliseconds or is away: two looks in vain are enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A service under watch. ``places`` tells where its lanes are and asks nobody; ``first`` is what is not so before a
    lane has begun; ``committed``: whether its positions are told to Kafka by the watch."""

    service: LaneService
    topic: Topic
    places: Callable[[], Mapping[Partition, Place]]
    first: Item = Item.PROJECTING
    committed: bool = True

    @property
    def name(self) -> str:
        return self.service.name


@dataclass(slots=True, kw_only=True)
class Watch:
    """``stuck_after``: seconds. ``serving``: names of the stages that readers are answered from."""

    foundation: Foundation
    stages: Sequence[Stage]
    stuck_after: float
    serving: frozenset[str] = frozenset()
    _seen: dict[tuple[str, Partition], Watched] = field(default_factory=dict)
    _readable: Readable = field(default_factory=Readable)
    _answered: float | None = None
    _stored: float | None = None
    _looked: bool = False
    _now: float = 0.0
    _commit_at: float = 0.0
    _committing: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Look until cancelled; what Kafka or Redis fail to answer is no reason to end."""
        try:
            while True:
                await self.look()
                heed_cancellation()
                await asyncio.sleep(_EVERY_UNREADY_S if any(True for _ in self.failing()) else _EVERY_S)
        finally:
            if self._committing is not None:
                self._committing.cancel()

    async def look(self) -> None:
        """One look at everything."""
        clock = asyncio.get_running_loop().time
        inputs = await self._inputs()
        ends = await self._ends()
        self._now = now = clock()
        if ends or self._answered is None:
            self._answered = now
        if inputs is not None or self._stored is None:
            self._stored = now
        for stage in self.stages:
            self._look_at(stage, ends, now)
        for stage, partition, watched in self._all():
            if stage.name in self.serving:
                at = (stage.name, partition)
                known = (
                    (inputs or {}).get(partition),
                    ends.get((Topic.EVENTS, partition)),
                    ends.get((Topic.LIFECYCLE, partition)),
                )
                self._readable.look(at, now, *known, watched.position)
        self._readable.keep(self._seen)
        self._looked = True
        self._report(now)
        if now >= self._commit_at and (self._committing is None or self._committing.done()):
            self._commit_at = now + _COMMIT_S
            self._committing = asyncio.create_task(self.commit(), name="commit-for-lag-tools")

    def _look_at(self, stage: Stage, ends: Mapping[tuple[Topic, Partition], int], now: float) -> None:
        places, owned = stage.places(), stage.service.status.keys()
        for name, partition in [each for each in self._seen if each[0] == stage.name]:
            if partition not in owned:
                del self._seen[name, partition]
        for partition in owned:
            position, healed = places.get(partition, (None, 0))
            watched = self._seen.setdefault((stage.name, partition), Watched(now))
            watched.look(now, position, ends.get((stage.topic, partition)), healed)

    async def _ends(self) -> Mapping[tuple[Topic, Partition], int]:
        """Last stable offsets of what is worked on here; empty where the broker does not answer."""
        installation = self.foundation.installation
        wanted = {
            TopicPartition(installation.topic(topic), partition): (topic, partition)
            for stage in self.stages
            for partition in stage.service.status
            for topic in ({stage.topic, Topic.EVENTS, Topic.LIFECYCLE} if stage.name in self.serving else {stage.topic})
        }
        if not wanted:
            return {}
        try:
            async with asyncio.timeout(_ANSWER_S):
                found = await self.foundation.ends.end_offsets(list(wanted))
        except (TimeoutError, KafkaError) as error:
            log.debug("no end offsets: %s", type(error).__name__)
            return {}
        return {wanted[place]: end for place, end in found.items()}

    async def _inputs(self) -> Mapping[Partition, int] | None:
        """Up to which command each partition is decided, as the ledgers say; None where Redis does not answer."""
        stages = [each for each in self.stages if each.name in self.serving]
        partitions = sorted({partition for each in stages for partition in each.service.status})
        partitions = partitions or [Partition(0)]  # Redis is asked in any case
        pipeline = self.foundation.redis.pipeline(transaction=False)
        for partition in partitions:
            pipeline.hget(ledger_prefix(self.foundation.installation.log_id, partition).watermark, "input")
        try:
            async with asyncio.timeout(_ANSWER_S):
                answers = await pipeline.execute()
        except (TimeoutError, RedisError, OSError) as error:
            log.debug("no ledger marks: %s", type(error).__name__)
            return None
        return {
            partition: int(answer) for partition, answer in zip(partitions, answers, strict=True) if answer is not None
        }

    async def commit(self) -> None:
        """Tell Kafka where the projectors are. What it does not take now it is told the next time."""
        for stage in self.stages:
            if stage.committed:
                places = stage.places().items()
                known = {partition: Offset(at) for partition, (at, _) in places if at is not None}
                await stage.service.commit(known)

    def _all(self) -> Iterator[tuple[Stage, Partition, Watched]]:
        for stage in self.stages:
            for (name, partition), watched in sorted(self._seen.items(), key=lambda each: each[0]):
                if name == stage.name:
                    yield stage, partition, watched

    def _report(self, now: float) -> None:
        """The stacks of the process, once for each partition that begins to stand still."""
        stuck = [
            (stage, partition, watched)
            for stage, partition, watched in self._all()
            if watched.unmoved(now) > self.stuck_after and not watched.told and _running(stage, partition)
        ]
        for _, _, watched in stuck:
            watched.told = True
        if stuck:
            where = ", ".join(f"{stage.name} partition {partition}" for stage, partition, _ in stuck)
            log.error("%s does not move\n%s\n%s", where, task_stacks(), thread_stacks())

    def failing(self) -> Iterator[Failing]:
        """As of the last look."""
        if not self._looked:
            yield Failing(Item.STARTED, "worker", "nobody has looked at its lanes yet")
            return
        silent = 0.0 if self._answered is None else self._now - self._answered
        if silent > self.stuck_after:
            yield Failing(Item.KAFKA, "kafka", f"has not said for {silent:.0f} s where the log ends")
        deaf = 0.0 if self._stored is None else self._now - self._stored
        if deaf > min(_STORE_S, self.stuck_after):
            yield Failing(Item.STORE, "redis", f"has not answered for {deaf:.0f} s")
        for stage, partition, watched in self._all():
            if _running(stage, partition):
                where = f"{stage.name} partition {partition}"
                for item, why in self._failing(stage, watched):
                    yield Failing(item, where, why)

    def _failing(self, stage: Stage, watched: Watched) -> Iterator[tuple[Item, str]]:
        unmoved = watched.unmoved(self._now)
        if watched.lost_from is not None:
            yield Item.REDIS, f"Redis lost what was up to {watched.lost_from}; {watched.to_go} offsets to be read again"
        elif stage.first is Item.LEDGER and not watched.known:
            yield Item.LEDGER, "the partition is being acquired: fence, ledger, input"
        elif stage.first is Item.PROJECTING and watched.position is None:
            yield Item.PROJECTING, "has not read its partition yet"
        elif stage.first is Item.PROJECTING and not watched.caught_up_once:
            yield Item.PROJECTING, f"{watched.to_go} offsets before the end of the log"
        if unmoved > self.stuck_after:
            waiting = "it is not known where it is" if watched.to_go is None else f"{watched.to_go} offsets wait"
            yield Item.MOVING, f"has not moved for {unmoved:.0f} s while {waiting}; the log has the stacks"

    def readings(self) -> Iterable[Reading]:
        for stage, partition, watched in self._all():
            labels = (stage.name, str(partition))
            if watched.to_go is not None:
                yield LAG, labels, watched.to_go
                yield LAG_SECONDS, labels, watched.age
            yield UNMOVED_SECONDS, labels, watched.unmoved(self._now)
        for (name, partition), seconds in sorted(self._readable.ages.items()):
            yield UNREADABLE_SECONDS, (name, str(partition)), seconds


def _running(stage: Stage, partition: Partition) -> bool:
    status = stage.service.status.get(partition)
    return status is not None and status.state is LaneState.RUNNING
