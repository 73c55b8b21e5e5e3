"""A read model filled from the log beside the one that serves, compared with it at one offset, and switched to.

Nothing here can publish: it has a consumer and a Redis. Killed anywhere, it goes on from the watermarks when it is
called again; readers notice nothing until the switch, and nothing of it but the generation afterwards.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisAway
from redis.exceptions import TimeoutError as RedisLate

from eunoe.readmodels.as_of import AsOf
from eunoe.readmodels.projector import Pace, ProjectorLane, ReadModel
from eunoe.readmodels.rebuild.errors import LogDoesNotReachBack, NotInTime
from eunoe.readmodels.rebuild.pacing import Paced, Throttle
from eunoe.readmodels.rebuild.places import Places
from eunoe.readmodels.rebuild.proving import Check, Proving, Tended
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.errors import WorldFault
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.errors import SlotMoving
from eunoe.runtime.redis.generations import NotChanged
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.schemas.ids import Offset, Partition

log = logging.getLogger(__name__)

T = TypeVar("T")

AT_ONCE: Final = 4
"""Partitions filled side by side."""
_REPORT_S: Final = 0.25
_AGAIN_S: Final = 1.0
_AWAY: Final = (RedisAway, RedisLate, SlotMoving, KafkaError, OSError)


class Progress(Struct, frozen=True, kw_only=True):
    """``done`` and ``total`` in offsets over all partitions; ``records`` were folded by this call in ``seconds``."""

    phase: str
    done: int
    total: int
    records: int
    seconds: float


class Switched(Struct, frozen=True, kw_only=True):
    partition: Partition
    serving: int
    kept: int
    position: Offset


async def side_by_side(prefixes: Sequence[Prefix], work: Callable[[Prefix], Awaitable[T]]) -> Sequence[T]:
    """What ``work`` returns for each, `AT_ONCE` at a time. Raises the first error; the others are cancelled."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(prefix: Prefix) -> T:
        async with turn:
            return await work(prefix)

    tasks = [asyncio.ensure_future(one(each)) for each in prefixes]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@dataclass(slots=True, kw_only=True)
class Rebuild:
    """One call of it. ``patience`` in seconds: how long the two may take to stand at one offset and hold the same, and
    how long Kafka or Redis may be away."""

    model: ReadModel[Any]
    redis: Redis
    installation: Installation
    bootstrap: Bootstrap
    throttle: Throttle
    progress: Callable[[Progress], None]
    tended: Tended | None = None
    checks: Sequence[Check] = ()
    batch: int = 2_000
    patience: float = 30.0
    until: Mapping[Partition, Offset] | None = None
    _paced: Paced = field(init=False)
    _positions: dict[Partition, int] = field(default_factory=dict)
    _ends: Mapping[Partition, Offset] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._paced = Paced(self.model, self.throttle)

    @property
    def places(self) -> Places:
        return Places(redis=self.redis, installation=self.installation, model=self.model.name)

    async def fill(self, prefixes: Sequence[Prefix]) -> None:
        """Fold the log into each of them, up to its end as it is then. Raises `LogDoesNotReachBack`."""
        starts, self._ends = await self._bounds([each.partition for each in prefixes])
        for prefix in prefixes:
            await self._start(prefix, starts[prefix.partition])
        telling = asyncio.create_task(self._tell())
        try:
            await side_by_side(prefixes, lambda each: self._fold(each, self._ends[each.partition]))
        finally:
            telling.cancel()
        self.report("filled")

    @property
    def proving(self) -> Proving:
        """Of what was filled, by going on with filling it up to where the serving one is."""
        return Proving(
            model=self.model,
            redis=self.redis,
            installation=self.installation,
            fold=self._fold,
            tended=self.tended,
            checks=self.checks,
            patience=self.patience,
        )

    async def switch(self, prefix: Prefix, *, behind: bool = False) -> Switched:
        """Readers are answered from it from now on. Raises `NotInTime` where it never comes as far as the other.

        ``behind``: it may be, where the other one has seen a log that is there no more; else it is filled on first, so
        that nobody's next answer is older than the last.
        """
        store, past_the_log = self.places.store, False
        serving = (await store.of(prefix)).serving
        deadline = time.monotonic() + self.patience
        while True:
            try:
                position, _ = await store.switch(prefix, serving, behind=past_the_log)
            except NotChanged as refused:
                if refused.why != "behind":
                    raise
                if time.monotonic() > deadline:
                    raise NotInTime(self.model.name, prefix.partition, str(refused)) from refused
                there = Offset(refused.details[1])
                past_the_log = behind and there > await self._end(prefix.partition)
                if not past_the_log:
                    await self._fold(prefix, there)
                continue
            return Switched(
                partition=prefix.partition, serving=prefix.generation, kept=serving, position=Offset(position)
            )

    async def _end(self, partition: Partition) -> Offset:
        return (await self._bounds([partition]))[1][partition]

    async def join(self, prefixes: Sequence[Prefix]) -> None:
        """Workers project these generations too from now on."""
        for each in prefixes:
            await self.places.store.join(each)

    async def freeze(self, prefixes: Sequence[Prefix]) -> None:
        """They stay as of `until`, and workers fold into them what erases."""
        assert self.until is not None
        for each in prefixes:
            await self.places.store.freeze(each, self.until[each.partition])

    async def _start(self, prefix: Prefix, start: Offset) -> None:
        position = await Watermark(self.redis, prefix).position()
        if position == 0 and start > 0:
            topic = self.installation.topic(self.model.source)
            raise LogDoesNotReachBack(self.model.name, topic, prefix.partition, start)
        self._positions[prefix.partition] = position

    async def _fold(self, prefix: Prefix, until: Offset) -> None:
        """Up to ``until``. Where Kafka or Redis fails it is tried again, until nothing comes of it for `patience`."""
        deadline, reached = time.monotonic() + self.patience, self._positions.get(prefix.partition, 0)
        while True:
            try:
                return await self._fold_once(prefix, until)
            except (*_AWAY, WorldFault) as away:
                now = self._positions.get(prefix.partition, 0)
                if now > reached:
                    deadline, reached = time.monotonic() + self.patience, now
                if time.monotonic() + _AGAIN_S > deadline:
                    raise
                log.warning("%s partition %d: %s; again", self.model.name, prefix.partition, type(away).__name__)
                await asyncio.sleep(_AGAIN_S)

    async def _fold_once(self, prefix: Prefix, until: Offset) -> None:
        if await Watermark(self.redis, prefix).position() >= until:
            return
        model: ReadModel[Any] = self._paced
        if self.until is not None:
            model = AsOf(model, self.until[prefix.partition])
        lane: ProjectorLane[Any] = ProjectorLane(
            model,
            prefix.partition,
            installation=self.installation,
            bootstrap=self.bootstrap,
            redis=self.redis,
            generation=prefix.generation,
            named=True,
            ahead=bool(getattr(self.model, "folds_ahead", False)),
            pace=Pace(batch=self.batch),
        )
        watching = asyncio.create_task(self._watch(prefix.partition, lane))
        try:
            await lane.run(until=until)
            self._positions[prefix.partition] = lane.position
        finally:
            watching.cancel()

    async def _watch(self, partition: Partition, lane: ProjectorLane[Any]) -> None:
        while True:
            await asyncio.sleep(_REPORT_S)
            self._positions[partition] = max(self._positions.get(partition, 0), lane.position)

    async def _tell(self) -> None:
        while True:
            self.report("filling")
            await asyncio.sleep(_REPORT_S)

    def report(self, phase: str) -> None:
        """Tell how far it is, and in what ``phase``: proving and switching are for the caller to tell."""
        self.progress(
            Progress(
                phase=phase,
                done=sum(min(at, self._ends[partition]) for partition, at in self._positions.items()),
                total=sum(self._ends.values()),
                records=self._paced.folded,
                seconds=time.monotonic() - self._began,
            )
        )

    async def _bounds(
        self, partitions: Sequence[Partition]
    ) -> tuple[Mapping[Partition, Offset], Mapping[Partition, Offset]]:
        topic = self.installation.topic(self.model.source)
        places = [TopicPartition(topic, each) for each in partitions]
        consumer = AIOKafkaConsumer(
            **connecting(self.bootstrap), isolation_level="read_committed", enable_auto_commit=False
        )
        try:
            await consumer.start()
            starts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        finally:
            await close_in_time(consumer.stop())
        return (
            {Partition(place.partition): Offset(at) for place, at in starts.items()},
            {Partition(place.partition): Offset(at) for place, at in ends.items()},
        )
