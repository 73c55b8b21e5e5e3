"""Reading a stretch of a topic again, in order and to a known end: no group, no commits, nothing written."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.processors.errors import UnreadableEvent
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Millis, Offset

_WAIT_MS: Final = 500


class Stretch:
    """One partition of one topic."""

    def __init__(self, consumer: AIOKafkaConsumer, tp: TopicPartition) -> None:
        self._consumer = consumer
        self._tp = tp
        consumer.assign([tp])

    async def end(self) -> Offset:
        return Offset((await self._consumer.end_offsets([self._tp]))[self._tp])

    async def first(self, since: Millis | None) -> Offset:
        """The first record at or after ``since`` (append time), or that is kept at all."""
        if since is None:
            return Offset((await self._consumer.beginning_offsets([self._tp]))[self._tp])
        found = (await self._consumer.offsets_for_times({self._tp: since}))[self._tp]
        return await self.end() if found is None else Offset(found.offset)

    async def records(self, start: Offset, end: Offset) -> AsyncIterator[Any]:
        """Kafka's records from ``start`` up to ``end``, exclusive."""
        self._consumer.seek(self._tp, start)
        while await self._consumer.position(self._tp) < end:
            fetched = await self._consumer.getmany(self._tp, timeout_ms=_WAIT_MS)
            for record in fetched.get(self._tp, ()):
                if record.offset >= end:
                    return
                yield record
            heed_cancellation()

    async def facts(self, start: Offset, end: Offset) -> AsyncIterator[tuple[Offset, Event]]:
        """`records` of ``memory-lifecycle``, decoded. Raises `UnreadableEvent`."""
        async for record in self.records(start, end):
            try:
                yield Offset(record.offset), EVENTS.decode(record.value)
            except SchemaError as error:
                raise UnreadableEvent(self._tp.topic, self._tp.partition, record.offset, str(error)) from error


class Answers:
    """The facts of a stretch by the command they answer; asked in the order of the commands."""

    def __init__(self, facts: AsyncIterator[tuple[Offset, Event]]) -> None:
        self._facts = facts
        self._next: Event | None = None

    async def to(self, input_offset: Offset) -> Event | None:
        """The fact about the command at ``input_offset``; None where the log has none."""
        while self._next is None or self._next.header.input_offset < input_offset:
            found = await anext(self._facts, None)
            if found is None:
                return None
            self._next = found[1]
        return self._next if self._next.header.input_offset == input_offset else None


@asynccontextmanager
async def stretch(bootstrap: Bootstrap, tp: TopicPartition) -> AsyncIterator[Stretch]:
    """Of committed records. Raises what aiokafka raises where the broker does not answer."""
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="none",
    )
    try:
        await consumer.start()
        yield Stretch(consumer, tp)
    finally:
        await close_in_time(consumer.stop())
