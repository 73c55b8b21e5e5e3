"""One consumer group of a worker: its lanes, what they are at, and what an operator must know of them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import Lanes, LaneStalled, LaneState, LaneStatus
from eunoe.runtime.membership import GroupTimes
from eunoe.runtime.metrics import JOINS, LANES, RESTARTS, Meter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.prometheus import Reading

Work = Callable[[Partition], Awaitable[None]]


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
            settings.kafka,
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

    @property
    def status(self) -> Mapping[Partition, LaneStatus]:
        return self._lanes.status

    def problems(self) -> Iterable[str]:
        """What keeps this service from being ready, one line each."""
        if not self._lanes.membership.joined:
            yield f"{self.name}: has not joined its group yet"
        for partition, status in sorted(self.status.items()):
            if status.state is not LaneState.RUNNING:
                yield f"{self.name} partition {partition}: {status.state}: {status.problem}"

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
