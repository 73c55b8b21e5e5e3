"""Whether a log still holds the erasures that the erasure ledger knows: asked before anything is served from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.processors.attesting.erasure_ledger import Closing, ErasureLedger
from eunoe.runtime.brokers import connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.errors import LogFault
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation

_HOW = "have what is missing forgotten again with `eunoe restore --forget-again`, or restore a later log"


@dataclass(eq=False)
class OlderLog(LogFault):
    """The log lacks a closing event that the erasure ledger knows: it was restored from before it."""

    topic: str
    partition: Partition
    offset: Offset

    def __str__(self) -> str:
        return (
            f"{self.topic}[{self.partition}]: offset {self.offset} is not the closing event that the erasure ledger "
            "knows. This log was restored from before somebody was forgotten, and nothing may be served from it: "
            f"{_HOW}"
        )


@dataclass(eq=False)
class RestoreUnfinished(LogFault):
    """A restore began to forget again, and did not come to its end."""

    def __str__(self) -> str:
        return f"a restore of this log began to forget people again and was not finished: {_HOW}"


async def check_erasure_ledger(settings: Settings, foundation: Foundation) -> None:
    """Whether the log holds the last closing event of each partition that the ledger knows.

    Asked by every worker that has a ledger, before it serves anything (DESIGN §5). Raises `OlderLog` or
    `RestoreUnfinished`.
    """
    if settings.erasure_ledger is None:
        return
    standing = ErasureLedger(settings.erasure_ledger).standing(foundation.installation.log_id)
    if standing.restoring:
        raise RestoreUnfinished
    missing = await missing_of(settings, foundation, standing.highest.values())
    if missing:
        topic = foundation.installation.topic(Topic.LIFECYCLE)
        raise OlderLog(topic, missing[0].partition, missing[0].offset)


async def missing_of(settings: Settings, foundation: Foundation, closings: Iterable[Closing]) -> Sequence[Closing]:
    """Those of ``closings`` that the log does not hold, in the order of its partitions and offsets."""
    wanted = sorted(closings, key=lambda each: (each.partition, each.offset))
    if not wanted:
        return ()
    topic = foundation.installation.topic(Topic.LIFECYCLE)
    consumer = AIOKafkaConsumer(
        **connecting(settings.brokers),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="none",
    )
    missing = []
    try:
        await consumer.start()
        ends = await consumer.end_offsets(sorted({TopicPartition(topic, each.partition) for each in wanted}))
        for each in wanted:
            place = TopicPartition(topic, each.partition)
            event = None
            if each.offset < ends[place]:
                consumer.assign([place])
                consumer.seek(place, each.offset)
                event = _decoded((await consumer.getone(place)).value)
            if event is None or event.header.event_id != each.event_id:
                missing.append(each)
    finally:
        await close_in_time(consumer.stop())
    return missing


def _decoded(value: bytes | None) -> Event | None:
    try:
        return EVENTS.decode(value or b"")
    except SchemaError:
        return None
