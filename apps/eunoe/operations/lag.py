"""Consumer lag, measured: where every group is, where the log ends, and what lies between.

Two marks per partition: Kafka's committed offset and the position in Redis. A read model is where its watermark in
Redis says, for data and watermark move together; Kafka's offset is only what tools see. The end is the last stable
offset, for nobody reads past it: on an idle transactional topic it is where the readers are. Transaction markers take
offsets and are no records, so what waits is counted by reading, up to a bound.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    KafkaError,
    NotCoordinatorForGroupError,
)
from redis.asyncio import Redis

from eunoe.operations.lag_rules import LagStatus, Sample, Verdict, judge, worst
from eunoe.readmodels import history, keys, outcomes, review, subjects
from eunoe.runtime.brokers import connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.deadline import within
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.kafka import TopicsUnavailable
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic

T = TypeVar("T")

COUNTED: Final = 2_000
"""Records that are counted by reading, a partition; beyond, a lag is the distance in offsets."""
ANSWER_S: Final = 8.0
"""For each answer of Kafka (the client of Redis waits 5 s by itself): one that hangs is told of in ten seconds or so,
closing included. A killed broker takes longer to be back, but whoever asks for lag wants to know that it is away."""
_READ_S: Final = 3.0
_PAUSE_S: Final = 0.1
_DOING: Final = "measuring lag"
_NO_COORDINATOR: Final = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)
_WINDOW: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A consumer group. ``model``: whose watermark in Redis says where it is; ``mark``: the field of it."""

    name: str
    topic: Topic
    model: str
    mark: str = "position"


GROUPS: Final = (
    Group(name="decide", topic=Topic.EVENTS, model="ledger", mark="input"),
    Group(name=keys.NAME, topic=Topic.KEYS, model=keys.NAME),
    *(
        Group(name=name, topic=Topic.LIFECYCLE, model=name)
        for name in (subjects.NAME, outcomes.NAME, history.NAME, "recall", review.NAME)
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLag:
    """``offsets``: from the position to the last stable offset. ``records``: those that are records, None where more
    than `COUNTED` wait. ``age``: seconds since the next record to be worked on was appended; 0 when none waits, None
    where it is not known. ``committed`` and ``stored``: the offset in Kafka and the position in Redis."""

    group: str
    topic: str
    partition: int
    end: int
    stored: int | None
    committed: int | None
    offsets: int | None
    records: int | None
    age: float | None
    owner: str | None
    verdict: Verdict

    @property
    def lag(self) -> int | None:
        """What waits: records where they were counted, else offsets."""
        return self.offsets if self.records is None else self.records

    @property
    def document(self) -> dict[str, Any]:
        gap = None if self.stored is None or self.committed is None else self.stored - self.committed
        return {
            "partition": self.partition,
            "lag": self.lag,
            "offsets": self.offsets,
            "records": self.records,
            "age_seconds": _rounded(self.age),
            "trend_per_second": _rounded(self.verdict.trend),
            "eta_seconds": _rounded(self.verdict.eta),
            "last_progress_seconds": _rounded(self.verdict.progress_age),
            "owner": self.owner,
            "end": self.end,
            "committed": self.committed,
            "stored": self.stored,
            "gap": gap,
            "status": self.verdict.status.value,
            "reason": self.verdict.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLag:
    name: str
    topic: str
    partitions: tuple[PartitionLag, ...]

    @property
    def total(self) -> int | None:
        """None where one partition's lag is unknown: a sum without it would be a lie."""
        lags = [each.lag for each in self.partitions]
        return None if None in lags else sum(each or 0 for each in lags)

    @property
    def status(self) -> LagStatus:
        return worst([each.verdict.status for each in self.partitions])

    @property
    def document(self) -> dict[str, Any]:
        return {
            "group": self.name,
            "topic": self.topic,
            "total": self.total,
            "status": self.status.value,
            "partitions": [each.document for each in self.partitions],
        }


@dataclass(slots=True, kw_only=True)
class LagMeter:
    """Samples all groups. Keeps a window per group and partition. Opened by `measuring_lag`."""

    settings: Settings
    installation: Installation
    redis: Redis
    admin: AIOKafkaAdminClient
    consumer: AIOKafkaConsumer
    windows: dict[tuple[str, int], deque[Sample]] = field(default_factory=dict)

    async def measure(self, groups: Iterable[Group] = GROUPS) -> tuple[GroupLag, ...]:
        """One sample of every group. Raises `BrokerAway` where Kafka does not answer within `ANSWER_S`,
        `TopicsUnavailable` for what it refuses, and what Redis raises."""
        try:
            return tuple([await self._group(each) for each in groups])
        except KafkaError as error:
            raise TopicsUnavailable(f"Kafka: {type(error).__name__}") from error

    async def _group(self, group: Group) -> GroupLag:
        topic = self.installation.topic(group.topic)
        places = [TopicPartition(topic, number) for number in range(self.installation.partitions)]
        name = f"{self.settings.prefix}{self.settings.group}-{group.name}"
        async with within(ANSWER_S, _DOING):
            committed = await _coordinated(lambda: self._committed(name, places))
            owners = await _coordinated(lambda: owners_of(self.admin, name))
            ends = await self.consumer.end_offsets(places)
        stored = {place: await self._stored(group, place.partition) for place in places}
        now = time.monotonic()
        positions = {place: stored[place] if stored[place] is not None else committed[place] for place in places}
        waiting = {
            place: position for place, position in positions.items() if position is not None and position < ends[place]
        }
        async with within(ANSWER_S, _DOING):
            counted = await self._count(waiting, ends)
        found = []
        for place in places:
            records, age = counted.get(place, (0, 0.0) if positions[place] is not None else (None, None))
            # Markers alone are no lag: nobody has anything to do.
            position = ends[place] if records == 0 else positions[place]
            window = self.windows.setdefault((group.name, place.partition), deque(maxlen=_WINDOW))
            window.append(Sample(now, position, ends[place]))
            owner = owners.get(place.partition) if owners is not None else None
            found.append(
                PartitionLag(
                    group=group.name,
                    topic=topic,
                    partition=place.partition,
                    end=ends[place],
                    stored=stored[place],
                    committed=committed[place],
                    offsets=window[-1].offsets,
                    records=records,
                    age=age,
                    owner=owner,
                    verdict=judge(window, None if owners is None else place.partition in owners),
                )
            )
        return GroupLag(name=group.name, topic=topic, partitions=tuple(found))

    async def _committed(self, group: str, places: list[TopicPartition]) -> dict[TopicPartition, int | None]:
        found = await self.admin.list_consumer_group_offsets(group, partitions=places)
        offsets = {place: found[place].offset if place in found else -1 for place in places}
        return {place: None if offset < 0 else offset for place, offset in offsets.items()}

    async def _stored(self, group: Group, partition: int) -> int | None:
        model = Prefix(self.installation.log_id, Partition(partition), group.model)
        prefix = await GenerationStore(self.redis).serving(model)
        found = (await Watermark(self.redis, prefix).marks()).get(group.mark)
        return None if found is None else int(found)

    async def _count(
        self, waiting: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, tuple[int | None, float | None]]:
        """Records from each position to the end, and how old the first of them is."""
        counts: dict[TopicPartition, int] = dict.fromkeys(waiting, 0)
        first: dict[TopicPartition, float] = {}
        left = set(waiting)
        if left:
            self.consumer.assign(sorted(left))
            for place, position in waiting.items():
                self.consumer.seek(place, position)
        deadline = time.monotonic() + _READ_S
        while left and time.monotonic() < deadline:
            for place, records in (await self.consumer.getmany(*left, timeout_ms=100, max_records=COUNTED)).items():
                seen = [each for each in records if each.offset < ends[place]]
                counts[place] += len(seen)
                if seen:
                    first.setdefault(place, seen[0].timestamp / 1_000)
            left -= {
                each for each in left if counts[each] > COUNTED or await self.consumer.position(each) >= ends[each]
            }
        now = time.time()
        return {
            place: (
                None if place in left or counts[place] > COUNTED else counts[place],
                max(0.0, now - first[place]) if place in first else (None if place in left else 0.0),
            )
            for place in waiting
        }


async def owners_of(admin: AIOKafkaAdminClient, group: str) -> Mapping[int, str] | None:
    """Client by partition, of a group that is settled; None while it rebalances. Raises `KafkaError`."""
    owners: dict[int, str] = {}
    for response in await admin.describe_consumer_groups([group]):
        for _, _, state, _, _, members, *_ in response.groups:
            if state not in ("Stable", "Empty", "Dead"):
                return None
            for member in members:
                client_id, assignment = member[1], member[4]
                if not assignment:
                    continue
                decoded = ConsumerProtocolMemberAssignment.decode(assignment)
                for _, partitions in decoded.assignment:
                    owners |= dict.fromkeys(partitions, client_id)
    return owners


@asynccontextmanager
async def measuring_lag(settings: Settings) -> AsyncIterator[LagMeter]:
    """Raises what `read_installation` (after `ANSWER_S`) and `connect` raise, or `BrokerAway`."""
    async with AsyncExitStack() as closing:
        installation = await read_installation(settings.brokers, settings.topics, ANSWER_S)
        redis = await connect(settings.redis)
        closing.push_async_callback(redis.aclose)
        admin = AIOKafkaAdminClient(**connecting(settings.brokers))
        consumer = AIOKafkaConsumer(
            **connecting(settings.brokers),
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
        )
        closing.push_async_callback(_close, admin, consumer)
        async with within(ANSWER_S, _DOING):
            await admin.start()
            await consumer.start()
        yield LagMeter(settings=settings, installation=installation, redis=redis, admin=admin, consumer=consumer)


async def _coordinated(question: Callable[[], Awaitable[T]]) -> T:
    """The answer, once the group has a coordinator: on a new broker, or where one was lost, it has none at first."""
    while True:
        try:
            return await question()
        except _NO_COORDINATOR:
            await asyncio.sleep(_PAUSE_S)


async def _close(admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer) -> None:
    await close_in_time(admin.close(), consumer.stop())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
