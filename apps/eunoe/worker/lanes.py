"""One consumer group of a worker: its lanes, what they are at, and what an operator must know of them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol

from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import Lanes, LaneStalled, LaneState, LaneStatus
from eunoe.runtime.membership import GroupTimes
from eunoe.runtime.metrics import JOINS, LANES, RESTARTS, Meter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.health import Failing, Item
from eunoe.worker.prometheus import Reading

Work = Callable[[Partition], Awaitable[None]]
Place = tuple[int | None, int]
"""A lane's position (None: not known yet), and how often it found Redis not where it had left it."""


class PlacedLane(Protocol):
    """A projecting lane, as far as its place goes."""

    @property
    def position(self) -> int: ...
    @property
    def behind(self) -> int | None:
        """None before the first fetch: until then the position says nothing."""
        ...

    @property
    def healed(self) -> int: ...


def lane_places(lanes: Mapping[Partition, PlacedLane]) -> Mapping[Partition, Place]:
    return {at: (None if lane.behind is None else lane.position, lane.healed) for at, lane in lanes.items()}


def group_of(settings: Settings, name: str) -> str:
    """The consumer group of a service. Installations that share a cluster differ by prefix."""
    return f"{settings.prefix}{settings.group}-{name}"


class LaneService:
    """Runs ``work`` for the partitions of ``topic`` that this worker is given. ``name`` is ``decide`` or a read model.

    `stop` leaves the group, so that another worker takes over at once.
    """

    def __init__(
        self, name: str, topic: Topic, work: Work, *, settings: Settings, installation: Installation, meter: Meter
    ) -> None:
        self.name: Final = name
        self._work = work
        self._meter = meter
        self._lanes = Lanes(
            settings.brokers,
            installation.topic(topic),
            group_of(settings, name),
            self._measured,
            times=GroupTimes(session=settings.session_timeout, heartbeat=settings.heartbeat_interval),
        )

    @property
    def confirms(self) -> Callable[[Partition], Awaitable[bool]]:
        """Whether the group says now that a partition is ours."""
        return self._lanes.membership.confirms

    async def start(self) -> None:
        await self._lanes.start()

    async def stop(self) -> None:
        await self._lanes.stop()

    async def ended(self) -> None:
        """Returns never; raises what ended the membership, without which no partition is ever gained or lost."""
        await self._lanes.membership.ended()

    async def commit(self, positions: Mapping[Partition, Offset]) -> bool:
        """As `Membership.commit`: for lag tools."""
        return await self._lanes.membership.commit(positions)

    @property
    def status(self) -> Mapping[Partition, LaneStatus]:
        return self._lanes.status

    def failing(self) -> Iterable[Failing]:
        """What keeps this service from being ready."""
        if not self._lanes.membership.joined:
            yield Failing(Item.ASSIGNED, self.name, "has not joined its group yet")
        for partition, status in sorted(self.status.items()):
            if status.state is not LaneState.RUNNING:
                where = f"{self.name} partition {partition}"
                yield Failing(Item.RUNNING, where, f"{status.state}: {status.problem}")

    def readings(self) -> Iterable[Reading]:
        states = [each.state for each in self.status.values()]
        for state in LaneState:
            yield LANES, (self.name, state.value), states.count(state)
        yield JOINS, (self.name,), self._lanes.membership.joins

    async def _measured(self, partition: Partition) -> None:
        try:
            await self._work(partition)
        except LaneStalled:
            raise
        except Exception as error:
            self._meter.add(RESTARTS, self.name, type(error).__name__)
            raise
