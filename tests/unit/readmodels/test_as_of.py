"""A generation as of then takes what was decided before, and of what came later only what takes away."""

from collections.abc import Sequence

from eunoe.readmodels.as_of import AsOf
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Operation
from eunoe.schemas.events import (
    Event,
    Fact,
    ForgettingRequested,
    ForgettingWithdrawn,
    HoldLifted,
    MemoryForgotten,
    MemoryRetracted,
    SubjectForgotten,
    SubjectHeld,
    SubjectReadmitted,
)
from eunoe.schemas.ids import LogId, MemoryId, Millis, Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
)

PREFIX = Prefix(LogId("log"), Partition(0), "echo", 2)
MEMORY = MemoryId(sample_id("a"))


class Echo:
    """Writes the offset of every record it is given."""

    name = "echo"
    source = Topic.LIFECYCLE
    functions = DIGESTED.load()

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        return [(("SET", prefix.key("at"), each.offset),) for each in records]


def records(*facts: Fact) -> list[Positioned[Event]]:
    return [Positioned(Offset(at), Millis(SAMPLE_TIME), sample_event(fact)) for at, fact in enumerate(facts)]


async def test_what_came_later_changes_nothing_but_what_takes_away() -> None:
    taking = (
        SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=1),
        MemoryForgotten(memory_id=MEMORY, version=2),
        ForgettingRequested(subject=SAMPLE_SUBJECT, generation=1, due_at=None, authorized=False),
        ForgettingWithdrawn(subject=SAMPLE_SUBJECT, generation=1, restricted=False),
        SubjectHeld(subject=SAMPLE_SUBJECT, generation=1, review_at=Millis(SAMPLE_TIME)),
        HoldLifted(subject=SAMPLE_SUBJECT, generation=1, restricted=False),
    )
    changing = (
        MemoryRetracted(memory_id=MEMORY, version=2),
        SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2),
        sample_accepted(sample_draft()),
    )
    given = records(sample_accepted(sample_draft(memory_id=MEMORY)), *changing, *taking)
    folded = await AsOf(Echo(), Offset(1)).fold(PREFIX, given)
    assert [at for at, operations in enumerate(folded) if operations] == [0, 4, 5, 6, 7, 8, 9]
    assert folded[5] == [("known", "SET", PREFIX.key("at"), 5)], "of a record that is there, and of no other"
    everything = await AsOf(Echo(), Offset(99)).fold(PREFIX, given)
    assert all(everything)
    assert len(everything) == len(folded) == len(given)
