"""One reading of a partition for all the read models of a process that are at the same place.

Fetching and decoding an event once for each of four models took a third of a worker's time (measured), so what one lane
reads is held for the others until they have passed it. The feed follows the foremost lane and waits for nobody: a lane
that is behind what is held, be it slow, restarted or rolled back, reads with a consumer of its own until it has caught
up. Each lane keeps its own watermark, and finds the same record unreadable at its own time.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from eunoe.readmodels.source import PartitionSource, Positioned, Unreadable
from eunoe.schemas.ids import LogId, Millis, Offset, Partition

R = TypeVar("R")

HELD: Final = 4
"""Chunks held for slower lanes. A lane that needs an older one reads by itself: memory, not speed, sets the limit."""


class Chunk(Struct, Generic[R], frozen=True):
    """What lies between two positions, which may be nothing but gaps. ``problem``: why reading ended at ``to``."""

    start: Offset
    to: Offset
    records: Sequence[Positioned[R]] = ()
    problem: Unreadable | None = None

    def from_(self, position: Offset) -> "Chunk[R]":
        """The part that begins at ``position``, which is within the chunk."""
        if position == self.start:
            return self
        return Chunk(position, self.to, [each for each in self.records if each.offset >= position], self.problem)

    def before(self, end: Offset) -> "Chunk[R]":
        """The part that ends at ``end``, which is not before its start."""
        if self.to <= end:
            return self
        return Chunk(self.start, end, [each for each in self.records if each.offset < end])


async def read_chunk(source: PartitionSource, start: Offset, timeout_ms: int, most: int) -> Chunk[Any]:
    """The next records of ``source``, which is at ``start``, up to an unreadable one; as `PartitionSource.fetch`."""
    raw = await source.fetch(timeout_ms, most)
    to = await source.position()
    records, problem = source.decode(raw)
    if problem is None:
        return Chunk(start, to, records)
    source.seek(problem.offset)  # whoever comes after it finds it again
    return Chunk(start, problem.offset, records, problem)


class Feed:
    """The shared reading. Opens its consumer with the first `read`, and closes it when the last reader has left."""

    def __init__(self, make: Callable[[], PartitionSource]) -> None:
        self._make = make
        self._source: PartitionSource | None = None
        self._head: Offset | None = None
        self._chunks: deque[Chunk[Any]] = deque(maxlen=HELD)
        self._readers: set[object] = set()
        self._at: dict[object, Offset] = {}
        self._pulling: asyncio.Task[Chunk[Any]] | None = None

    @property
    def source(self) -> PartitionSource | None:
        """What the broker's last answer is asked of; None while nothing is read."""
        return self._source

    def enter(self, reader: object) -> None:
        self._readers.add(reader)

    async def leave(self, reader: object) -> None:
        self._readers.discard(reader)
        self._at.pop(reader, None)
        if not self._readers:
            await self._close()

    async def read(self, reader: object, position: Offset, timeout_ms: int, most: int) -> Chunk[Any] | None:
        """What follows ``position``, which may be nothing after ``timeout_ms``; None where the feed is past it.

        Raises what reading raised, to everyone who waited for it; the next call begins anew.
        """
        self._at[reader] = position
        self._let_go()
        while True:
            if (held := self._held(position)) is not None:
                return held
            pulling = self._pulling
            idle = pulling is None or pulling.done()
            if self._head is not None and position < self._head and not (idle and self._at.keys() == {reader}):
                del self._at[reader]
                return None
            if idle:
                self._move_to(position)
                pulling = asyncio.create_task(self._pull(position, timeout_ms, most), name="feed")
                self._pulling = pulling
            assert pulling is not None
            await asyncio.wait([pulling])  # cancelling one reader does not cancel what the others wait for
            if not pulling.cancelled() and (chunk := pulling.result()).start <= position <= chunk.to:
                return chunk.from_(position)

    def _held(self, position: Offset) -> Chunk[Any] | None:
        for chunk in self._chunks:
            if chunk.start <= position < chunk.to:
                return chunk.from_(position)
        return None

    def _let_go(self) -> None:
        """Forget what every reader here has passed."""
        passed = min(self._at.values())
        while self._chunks and self._chunks[0].to <= passed:
            self._chunks.popleft()

    def _move_to(self, position: Offset) -> None:
        """Read on from ``position``: the foremost lane's, or the only one's."""
        if position != self._head:
            self._chunks.clear()
            self._head = position
            if self._source is not None:
                self._source.seek(position)

    async def _pull(self, start: Offset, timeout_ms: int, most: int) -> Chunk[Any]:
        try:
            if self._source is None:
                self._source = source = self._make()
                await source.start()
                source.seek(start)
            chunk = await read_chunk(self._source, start, timeout_ms, most)
        except BaseException:
            if self._pulling is asyncio.current_task():
                await self._close()
            raise
        if chunk.to > start and self._pulling is asyncio.current_task():
            self._chunks.append(chunk)
            self._head = chunk.to
        return chunk

    async def _close(self) -> None:
        pulling, source = self._pulling, self._source
        self._pulling = self._source = self._head = None
        self._chunks.clear()
        if pulling is not None and pulling is not asyncio.current_task():
            pulling.cancel()
            await asyncio.gather(pulling, return_exceptions=True)
        if source is not None:
            await source.stop()


class Reading:
    """How one lane reads its partition: with the feed where that is where the lane is, else by itself.

    ``own`` reads alone; it also answers what the log's bounds are. Without a feed it is all there is.
    """

    def __init__(self, own: PartitionSource, feed: Feed | None = None) -> None:
        self._own = own
        self._feed = feed
        self._shared = False
        self._position = Offset(0)

    async def start(self) -> None:
        """Connect. Raises aiokafka's ``KafkaError`` where no broker answers; `stop` is due in any case."""
        if self._feed is not None:
            self._feed.enter(self)
        await self._own.start()

    async def stop(self) -> None:
        try:
            await self._own.stop()
        finally:
            if self._feed is not None:
                await self._feed.leave(self)

    @property
    def shared(self) -> bool:
        """Whether the last `read` was the feed's."""
        return self._shared

    async def bounds(self) -> tuple[Offset, Offset]:
        """As `PartitionSource.bounds`."""
        await self._alone()
        return await self._own.bounds()

    async def begins_log(self, start: Offset, end: Offset) -> LogId | None:
        """As `PartitionSource.begins_log`; a `seek` is due afterwards."""
        await self._alone()
        return await self._own.begins_log(start, end)

    def seek(self, position: Offset) -> None:
        self._position = position
        if not self._shared:
            self._own.seek(position)

    @property
    def committed_end(self) -> Offset | None:
        """The log's last stable offset as of the last fetch; None before the first."""
        source = self._current
        return None if source is None else source.committed_end

    @property
    def fetched_at(self) -> Millis | None:
        """When the broker last answered a fetch of this partition (wall clock); None before the first answer."""
        source = self._current
        return None if source is None else source.fetched_at

    @property
    def _current(self) -> PartitionSource | None:
        return self._feed.source if self._shared and self._feed is not None else self._own

    async def read(self, timeout_ms: int, most: int) -> Chunk[Any]:
        """What follows the position, which moves with it; nothing after ``timeout_ms``. Raises aiokafka's errors."""
        chunk = None if self._feed is None else await self._feed.read(self, self._position, timeout_ms, most)
        if chunk is not None:
            if not self._shared:
                self._shared = True
                await self._own.stop()
        else:
            if self._shared:
                await self._alone()
                self._own.seek(self._position)
            chunk = await read_chunk(self._own, self._position, timeout_ms, most)
        self._position = chunk.to
        return chunk

    async def _alone(self) -> None:
        """Have a consumer of its own again; where it reads is for a `seek` to say."""
        if self._shared:
            self._shared = False
            await self._own.start()


class Feeds:
    """The feeds of a process: one for each partition of each topic."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[str, Partition], Feed] = {}

    def of(self, topic: str, partition: Partition, make: Callable[[], PartitionSource]) -> Feed:
        """``make`` gives a source of that partition, the same whoever asks."""
        return self._feeds.setdefault((topic, partition), Feed(make))
