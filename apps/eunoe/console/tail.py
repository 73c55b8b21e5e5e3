"""The last records of every partition of one topic, at a cost that the length of the log has no say in.

A look reads what came since the last one, but never more than ``kept`` offsets a partition: of a log that grows faster,
the middle is passed over.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.runtime.brokers import connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.settings import Settings

T = TypeVar("T")

_FETCH_BYTES: Final = 262_144
_POLL_MS: Final = 100


class Tail(Generic[T]):
    """``parse`` makes of a record what is kept of it, or None."""

    def __init__(
        self, consumer: AIOKafkaConsumer, topic: str, partitions: int, kept: int, parse: Callable[[Any], T | None]
    ) -> None:
        self._consumer = consumer
        self._places = [TopicPartition(topic, number) for number in range(partitions)]
        self._kept = kept
        self._parse = parse
        self._next: dict[TopicPartition, int] = {}
        self._found: dict[TopicPartition, deque[T]] = {each: deque(maxlen=kept) for each in self._places}
        consumer.assign(self._places)

    async def refresh(self) -> None:
        """Read to the end as it is now. Raises aiokafka's errors."""
        ends = await self._consumer.end_offsets(self._places)
        for place, end in ends.items():
            self._begin(place, end)
        left = {place for place in self._places if self._next[place] < ends[place]}
        while left:
            heed_cancellation()
            fetched = await self._consumer.getmany(*left, timeout_ms=_POLL_MS, max_records=500)
            for place, records in fetched.items():
                self._found[place].extend(kept for each in records if (kept := self._parse(each)) is not None)
            for place in tuple(left):
                self._next[place] = await self._consumer.position(place)
                if self._next[place] >= ends[place]:
                    left.discard(place)

    def __iter__(self) -> Iterator[tuple[int, T]]:
        """Partition and what is kept, in the order of each partition."""
        return ((place.partition, each) for place, found in self._found.items() for each in found)

    def _begin(self, place: TopicPartition, end: int) -> None:
        known = self._next.get(place)
        if known is not None and known > end:  # recreated
            self._found[place].clear()
            known = None
        start = max(0, end - self._kept)
        if known is None or known < start:
            self._consumer.seek(place, start)
            self._next[place] = start


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer of committed records without a group. Raises aiokafka's errors."""
    consumer = AIOKafkaConsumer(
        **connecting(settings.brokers),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=_FETCH_BYTES,
        fetch_max_wait_ms=_POLL_MS,
    )
    try:
        await consumer.start()
        yield consumer
    finally:
        await close_in_time(consumer.stop())
