"""What the log says has happened: the facts on ``memory-lifecycle``, counted, and the sealed bodies they carry."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from eunoe.operations.byte_places import read_topics
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import CommandRejected, MemoryAccepted, MemoryQuarantined, PartitionOpened
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic


@dataclass(slots=True)
class LogFacts:
    """``counts`` by tenant and fact; a refusal with its reason. ``sealed``: the body of every record ever taken in.

    ``ends``: by partition, the position after the last fact, as a consistency token has it.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: dict[Partition, Offset] = field(default_factory=lambda: defaultdict(lambda: Offset(0)))
    sealed: list[bytes] = field(default_factory=list, repr=False)

    @property
    def rows(self) -> list[tuple[str, str, int]]:
        """Tenant, fact, count; by tenant, the most frequent first."""
        ordered = sorted(self.counts.items(), key=lambda each: (each[0][0], -each[1], each[0][1]))
        return [(tenant, fact, count) for (tenant, fact), count in ordered]


async def read_log(bootstrap: Bootstrap, installation: Installation) -> LogFacts:
    """Everything decided so far."""
    found = LogFacts()
    counts = {installation.topic(Topic.LIFECYCLE): installation.partitions}
    async for record in read_topics(bootstrap, counts, "read_committed"):
        event = EVENTS.decode(record.value or b"")
        fact = event.fact
        found.ends[Partition(record.partition)] = Offset(record.offset + 1)
        if isinstance(fact, PartitionOpened):
            continue
        name = type(fact).__name__
        if isinstance(fact, CommandRejected):
            name = f"{name} ({fact.reason})"
        found.counts[event.header.tenant, name] += 1
        if isinstance(fact, MemoryAccepted | MemoryQuarantined):
            found.sealed.append(fact.draft.body)
    return found
