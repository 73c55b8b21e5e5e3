"""What the log says there must be: records, generations, keys and receipts, read once from the beginning.

No read model is trusted here; they are what is compared with it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from eunoe.operations.byte_places import read_topics
from eunoe.readmodels.recall.fold import change_of
from eunoe.readmodels.recall.keys import memory_bytes
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import EVENTS, KEY_RECORDS, RECEIPTS
from eunoe.schemas.events import Event, KeyIssued, MemoryAccepted, MemoryQuarantined, SubjectForgotten, TenantForgotten
from eunoe.schemas.ids import KeyId, Millis, Offset, Partition, Pseudonym, TenantId
from eunoe.schemas.keys import HEARTBEAT, KeyRecord
from eunoe.schemas.receipts import Stage
from eunoe.schemas.topics import Topic

Generation = tuple[TenantId, Pseudonym, int]
Number = tuple[Partition, int]
"""A record as `recall` numbers it: the offset of the fact that made it, in its partition."""


@dataclass(slots=True)
class Record:
    """``whom``: every generation it belongs to or is about. ``ended``: the offset of the fact that took it out."""

    key_id: KeyId
    whom: frozenset[Generation]
    ended: Offset | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    partition: Partition
    offset: Offset
    at: Millis


@dataclass(slots=True)
class Facts:
    """``memory-lifecycle``, folded."""

    events: int = 0
    records: dict[Number, Record] = field(default_factory=dict)
    known: set[Generation] = field(default_factory=set)
    closed: dict[Generation, Closing] = field(default_factory=dict)
    tenants: dict[tuple[TenantId, int], Closing] = field(default_factory=dict)
    """Forgotten ones, by incarnation."""
    _numbers: dict[tuple[TenantId, bytes], Number] = field(default_factory=dict)

    def take(self, partition: Partition, offset: Offset, event: Event) -> None:
        tenant, fact = event.header.tenant, event.fact
        self.events += 1
        gone = [each[2] for each in change_of(fact, tenant) if each[0] == "recall.drop"]
        match fact:
            case KeyIssued(subject=str() as subject, generation=generation):
                self.known.add((tenant, subject, generation))
            case MemoryAccepted(draft=draft, about=about) | MemoryQuarantined(draft=draft, about=about):
                if isinstance(fact, MemoryAccepted) and fact.supersedes is not None:
                    gone.append(memory_bytes(fact.supersedes.memory_id))
                whom = {(tenant, each.subject, each.generation) for each in about}
                whom.add((tenant, draft.subject, draft.generation))
                self.records[partition, offset] = Record(draft.key_id, frozenset(whom))
                self._numbers[tenant, memory_bytes(draft.memory_id)] = (partition, offset)
            case SubjectForgotten(subject=subject, generation=generation):
                self.closed[tenant, subject, generation] = Closing(partition, offset, event.header.decided_at)
            case TenantForgotten(incarnation=incarnation):
                self.tenants[tenant, incarnation] = Closing(partition, offset, event.header.decided_at)
                gone += [memory for of, memory in self._numbers if of == tenant]
        for memory in gone:
            number = self._numbers.get((tenant, bytes(memory) if isinstance(memory, bytes) else b""))
            if number is not None and self.records[number].ended is None:
                self.records[number].ended = offset

    def closed_before(self, whom: Iterable[Generation], position: int) -> bool:
        """Whether one of them is forgotten by a fact below ``position``, in the same partition as they are."""
        return any(each in self.closed and self.closed[each].offset < position for each in whom)


@dataclass(slots=True)
class KeyTopic:
    """``memory-keys``: what is under each id now. ``destroyed``: by id, the offset of its tombstone."""

    held: dict[KeyId, KeyRecord] = field(default_factory=dict)
    where: dict[KeyId, Partition] = field(default_factory=dict)
    destroyed: dict[KeyId, Offset] = field(default_factory=dict)


async def read_facts(settings: Settings, installation: Installation) -> Facts:
    facts = Facts()
    async for record in read_topics(settings.brokers, _partitions(installation, Topic.LIFECYCLE), "read_committed"):
        facts.take(Partition(record.partition), Offset(record.offset), EVENTS.decode(record.value))
    return facts


async def read_key_topic(settings: Settings, installation: Installation) -> KeyTopic:
    topic = KeyTopic()
    async for record in read_topics(settings.brokers, _partitions(installation, Topic.KEYS), "read_committed"):
        key_id = KeyId(bytes(record.key or b"").decode("ascii", "replace"))
        if key_id == HEARTBEAT:
            continue
        if record.value is None:
            topic.held.pop(key_id, None)
            topic.destroyed[key_id] = Offset(record.offset)
        else:
            topic.held[key_id] = KEY_RECORDS.decode(record.value)
            topic.where[key_id] = Partition(record.partition)
    return topic


async def read_stages(settings: Settings, installation: Installation) -> dict[Number, dict[Stage, str]]:
    """The claim of each stage that has a receipt, by where the generation was closed."""
    found: dict[Number, dict[Stage, str]] = {}
    async for record in read_topics(settings.brokers, _partitions(installation, Topic.RECEIPTS), "read_committed"):
        body = json.loads(RECEIPTS.decode(record.value).body)
        place = (Partition(record.partition), int(body["closed_at_offset"]))
        found.setdefault(place, {})[Stage(body["stage"])] = str(body["claim"])
    return found


def _partitions(installation: Installation, topic: Topic) -> dict[str, int]:
    return {installation.topic(topic): installation.partitions}
