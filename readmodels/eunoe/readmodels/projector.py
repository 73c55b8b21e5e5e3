"""Keeps one read model up to date with one partition of its topic. The rule, in one place:

Redis says how far the model is (its watermark); the lane reads on from there, folds, and moves data and watermark in
one Function call that applies only where the watermark still is what the lane believes. A lost, rolled back or flushed
Redis, a second lane and a repeated call all end the same way: the watermark is read again, and the log from there on.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

from aiokafka.errors import OffsetOutOfRangeError, RecordTooLargeError
from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.errors import (
    CannotApply,
    GenerationRetired,
    LogStartMovedOn,
    NotThisLog,
    ProjectionAheadOfLog,
    ProjectionStopped,
)
from eunoe.readmodels.feed import Chunk, Feeds, Reading
from eunoe.readmodels.removing import Removal, ends_in, let_go_of
from eunoe.readmodels.source import PartitionSource, Positioned, Unreadable
from eunoe.readmodels.steps import steps_of
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.generations import FIRST, RETIRED, GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation, Step, Watermark
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

R = TypeVar("R")


class ReadModel(Protocol[R]):
    """One question, and the keys that answer it. ``R``: `Event` for `Topic.LIFECYCLE`, `KeyChange` for `Topic.KEYS`.

    A model whose fold reads nothing that its own writes change says so by ``folds_ahead = True``: a rebuild then folds
    the next batch while Redis applies the last.
    """

    @property
    def name(self) -> str:
        """Part of every key. No two models share one."""
        ...

    @property
    def source(self) -> Topic: ...

    @property
    def functions(self) -> LoadedFunctions | None:
        """The library whose ``apply`` writes it: its own, `DIGESTED`, or (None) the one that keeps no digest."""
        ...

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[R]]) -> Sequence[Sequence[Operation]]:
        """The Redis writes of each record: absolute values, in order, as many sequences as records; no clock.

        May read keys under ``prefix``, which hold everything before ``records`` (what was read is discarded where that
        turns out to be wrong), and may be called again with fewer or the same records. Raises `CannotApply` for a
        record that stops the partition, and anything retryable where the world does not answer.
        """
        ...


class Pace(Struct, frozen=True, kw_only=True):
    """``batch``: records decoded and folded at once. ``poll_ms``: how late progress without records is written.
    ``check_s``: how often an idle lane looks whether Redis still has what it wrote. ``settle_s``: a new leader may
    report an older end for a moment, so an end before the watermark is believed only after this long."""

    batch: int = 500
    poll_ms: int = 250
    check_s: float = 1.0
    settle_s: float = 5.0


class ProjectorLane(Generic[R]):
    """One model's generation on one partition. A second lane on the same does no harm, and no good.

    ``feeds``: shared by the lanes of a process, which then read the same partition once; without them the lane reads by
    itself. ``written`` is told what has become readable, once the lane has been at the end of the log. ``named``: a
    generation after the first is begun only while the partition names it: a Redis that lost everything has lost that
    too, and nobody would ever look at what is filled there (raises `GenerationRetired`).
    """

    def __init__(
        self,
        model: ReadModel[R],
        partition: Partition,
        *,
        installation: Installation,
        bootstrap: Bootstrap,
        redis: Redis,
        generation: int = 1,
        feeds: Feeds | None = None,
        named: bool = False,
        ahead: bool = False,
        pace: Pace = Pace(),  # noqa: B008  # a frozen value
        client_settings: Mapping[str, Any] = MappingProxyType({}),
        written: Callable[[Sequence[Positioned[R]]], None] | None = None,
    ) -> None:
        self._written = written
        self._model = model
        self._partition = partition
        self._log_id = installation.log_id
        self._topic: Final = installation.topic(model.source)
        source = partial(PartitionSource, bootstrap, installation, model.source, partition, client_settings)
        feed = None if feeds is None else feeds.of(self._topic, partition, source)
        self._reading = Reading(source(), feed)
        self._prefix: Final = Prefix(installation.log_id, partition, model.name, generation)
        self._redis = redis
        self._watermark = Watermark(redis, self._prefix, model.functions)
        self._generations = GenerationStore(redis) if named else None
        self._pace = pace
        self._ahead = ahead
        self._moving: asyncio.Task[int] | None = None
        self._position = Offset(0)
        self._healed = 0
        self._check_at = 0.0
        self._told = False

    @property
    def position(self) -> Offset:
        """The next offset to fold: the watermark, as far as this lane knows, with what is on its way there."""
        return self._position

    @property
    def behind(self) -> int | None:
        """Committed offsets in the log that are not folded yet, as of the last fetch; None before the first."""
        end = self._reading.committed_end
        return None if end is None else max(0, end - self._position)

    @property
    def healed(self) -> int:
        """How often Redis was not where this lane had left it."""
        return self._healed

    async def run(self, until: Offset | None = None) -> None:
        """Fold until cancelled, or until the watermark is at ``until``: then it is there exactly, or was beyond before.

        Raises a `ProjectionHalted` (a `LaneStalled`) where a person has to act. Errors of Kafka and Redis come out as
        they are: nothing is lost, a new `run` starts from the watermark. One `run` per lane object.
        """
        try:
            await self._reading.start()
            await self._seek_to_watermark()
            while until is None or self._position < until:
                await self._advance(until)
                heed_cancellation()
            if self._reading.committed_end is not None:
                with contextlib.suppress(WatermarkMismatch):
                    await self._check()
        finally:
            if self._moving is not None:
                self._moving.cancel()
                await asyncio.gather(self._moving, return_exceptions=True)
            await self._reading.stop()

    async def _advance(self, until: Offset | None) -> None:
        try:
            chunk = await self._reading.read(self._pace.poll_ms, self._pace.batch)
        except OffsetOutOfRangeError:
            # Cut off at its start, or gone at its end: the checks tell which, and where it was a moment's matter go on.
            return await self._seek_to_watermark()
        except RecordTooLargeError:
            await self._settle()
            raise self._stopped(Unreadable(self._position, "it is larger than a fetch")) from None
        chunk = chunk if until is None else chunk.before(until)
        try:
            if chunk.to != self._position or chunk.problem is not None:
                await self._apply(chunk)
            await self._check()
            if until is not None and self._position >= until:
                await self._settle()
        except WatermarkMismatch as mismatch:
            self._healed += 1
            log.warning("%s; reading on from there", mismatch)
            await self._seek_to_watermark()

    async def _check(self) -> None:
        """Once in a while: is Redis where this lane left it, and, at the end of the log, since when is nothing missing.

        Without the first, an idle partition would stay empty after a flush until somebody wrote to it. The mark
        ``caught_up_at`` is the broker's last answer, so a reader notices when this lane no longer gets any; ``log_end``
        is for whoever has to say how far a model is that is filled.
        """
        now, fetched_at = asyncio.get_running_loop().time(), self._reading.fetched_at
        at_end = self.behind == 0 and fetched_at is not None
        # The first time it is told at once: until then readers cannot know that the model is not far behind.
        if now < self._check_at and (self._told or not at_end):
            return
        self._check_at = now + self._pace.check_s
        await self._settle()
        if at_end and fetched_at is not None:
            await self._watermark.move([Step(self._position, self._position, (), {"caught_up_at": fetched_at})])
            self._told = True
        elif (end := self._reading.committed_end) is not None:
            await self._watermark.move([Step(self._position, self._position, (), {"log_end": end})])
        elif (found := await self._watermark.position()) != self._position:
            raise WatermarkMismatch(self._prefix.watermark, self._position, found)

    async def _apply(self, chunk: Chunk[R]) -> None:
        """Up to where a tenant ends, then without what it had, then on from there."""
        for end, tenant in ends_in(chunk.records):
            if end > self._position:
                await self._fold(chunk.from_(self._position).before(end))
            await self._settle()
            removal = Removal(self._redis, self._watermark, self._prefix, self._position, tenant)
            await let_go_of(self._model, removal)
        await self._fold(chunk.from_(self._position))

    async def _fold(self, chunk: Chunk[R]) -> None:
        records, to, problem = chunk.records, chunk.to, chunk.problem
        try:
            operations = await self._model.fold(self._prefix, records) if records else ()
        except CannotApply as refused:
            to, problem = refused.offset, Unreadable(refused.offset, refused.problem)
            records = [each for each in records if each.offset < refused.offset]
            operations = await self._model.fold(self._prefix, records) if records else ()
        await self._move(steps_of(self._position, to, records, operations))
        if self._written is not None and self._told and records:
            self._written(records)
        if problem is not None:
            await self._settle()
            raise self._stopped(problem)

    async def _move(self, steps: Sequence[Step]) -> None:
        """Returns when it is done, or, of a lane that folds ahead, when what came before it is."""
        await self._settle()
        if steps:
            self._moving = asyncio.create_task(self._watermark.move(steps), name="move")
            self._position = Offset(steps[-1].to)
        if not self._ahead:
            await self._settle()

    async def _settle(self) -> None:
        """Returns when nothing is on its way. Raises what moving raised."""
        moving, self._moving = self._moving, None
        if moving is not None:
            await moving

    async def _seek_to_watermark(self) -> None:
        with contextlib.suppress(WatermarkMismatch):
            await self._settle()
        position = Offset(await self._watermark.position())
        if position == RETIRED or not await self._is_wanted(position):
            raise GenerationRetired(self._model.name, self._partition, self._prefix.generation)
        start, end = await self._bounds(position)
        where = (self._model.name, self._topic, self._partition, position)
        if position < start:
            raise LogStartMovedOn(*where, start)
        if position > end:
            raise ProjectionAheadOfLog(*where, end)
        found = await self._reading.begins_log(start, end)
        if found != self._log_id:
            raise NotThisLog(self._topic, self._partition, self._log_id, found)
        await self._watermark.prepare()
        self._reading.seek(position)
        self._position = position

    async def _is_wanted(self, position: Offset) -> bool:
        if self._generations is None or position > 0 or self._prefix.generation == FIRST:
            return True
        return self._prefix.generation in (await self._generations.of(self._prefix)).all

    async def _bounds(self, position: Offset) -> tuple[Offset, Offset]:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._pace.settle_s
        while True:
            start, end = await self._reading.bounds()
            if position <= end or clock() >= deadline:
                return start, end
            await asyncio.sleep(self._pace.poll_ms / 1_000)

    def _stopped(self, problem: Unreadable) -> ProjectionStopped:
        return ProjectionStopped(self._model.name, self._topic, self._partition, problem.offset, problem.problem)
