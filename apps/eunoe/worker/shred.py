"""The role `shred`: on each partition, folds what is due for destruction and writes the tombstones."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from eunoe.processors.shredding.cleaning import check_cleaning
from eunoe.processors.shredding.destroyer import Destroyer, Heartbeats
from eunoe.processors.shredding.fold import DueLettersModel, DueModel
from eunoe.processors.shredding.names import LETTERS, MODEL, ShredNames, shred_prefix
from eunoe.processors.shredding.rewrapping import Rewrapping, fencing_producer
from eunoe.processors.shredding.tombstones import Tombstones, kafka_tombstones
from eunoe.readmodels.projector import Pace, ProjectorLane, ReadModel
from eunoe.runtime.clock import Clock
from eunoe.runtime.kafka import topic_admin
from eunoe.runtime.metrics import SHRED_OLDEST_SECONDS, SHRED_PENDING, Meter
from eunoe.schemas.control import RotationStage
from eunoe.schemas.ids import Millis, Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation
from eunoe.worker.health import Failing, Item
from eunoe.worker.lanes import LaneService, Place, group_of, lane_places
from eunoe.worker.prometheus import Reading
from eunoe.worker.together import together

NAME: Final = "shred"
_CHECKED_MS: Final = 10_000
_LOOK_S: Final = {MODEL: 1.0, LETTERS: 60.0}
"""Between looks at what is due. Letters are due by the day."""
_POLL_MS: Final = 1_000
_CHECK_S: Final = 5.0
"""How late an idle fold notes that nothing came; what comes is folded at once."""
_STUCK_MS: Final = 60_000
"""Above the 21 s after which a killed broker was usable again (measured)."""


@dataclass(slots=True, kw_only=True)
class Shredding:
    """Makes the lanes. ``clock`` says which month is over; None: the foundation's."""

    foundation: Foundation
    meter: Meter
    clock: Clock | None = None
    service: LaneService = field(init=False)
    running: dict[Partition, Sequence[Destroyer]] = field(default_factory=dict)
    lanes: dict[Partition, ProjectorLane[Any]] = field(default_factory=dict)
    """The fold of ``memory-lifecycle``, which says how far this service is."""
    _checking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _checked: tuple[Millis, int] | None = None

    def __post_init__(self) -> None:
        base = self.foundation
        self.service = LaneService(
            NAME,
            Topic.LIFECYCLE,
            self._work,
            settings=base.settings,
            installation=base.installation,
            meter=self.meter,
        )

    async def _work(self, partition: Partition) -> None:
        base = self.foundation
        settle = await self._settle()
        timeout = base.settings.request_timeout
        brokers, installation = base.settings.brokers, base.installation
        group = group_of(base.settings, NAME)
        async with (
            # First: nothing is destroyed here while whoever had the partition before could still write a key.
            fencing_producer(brokers, f"{group}-{partition}", timeout) as producer,
            kafka_tombstones(brokers, installation, partition, timeout) as tombstones,
        ):
            models: tuple[ReadModel[Any], ...] = (DueModel(), DueLettersModel())
            lanes = [self._lane(each, partition) for each in models]
            destroyers = [self._destroyer(each.name, partition, tombstones, settle) for each in models]
            beats = Heartbeats(
                redis=base.redis,
                names=[each.names for each in destroyers],
                tombstones=tombstones,
                clock=base.clock,
            )
            rewrapping = Rewrapping(
                bootstrap=brokers,
                installation=installation,
                partition=partition,
                ring=base.kek,
                producer=producer,
                writing=tombstones.writing,
                clock=base.clock,
                due=self._rotating,
                meter=self.meter,
            )
            self.running[partition], self.lanes[partition] = destroyers, lanes[0]
            try:
                runs = [*(each.run() for each in lanes), *(each.run() for each in destroyers)]
                await together(*runs, beats.run(), rewrapping.run())
            finally:
                if self.running.get(partition) is destroyers:
                    del self.running[partition], self.lanes[partition]

    def _rotating(self) -> bool:
        """Whether keys are to be wrapped anew, and this process holds both KEKs and wraps with the new one."""
        rotation, ring = self.foundation.control.state.rotation, self.foundation.kek
        if rotation is None or rotation.stage not in (RotationStage.WRAPPING, RotationStage.FENCED):
            return False
        return ring.kek_id == rotation.wraps and {rotation.wraps, rotation.retires} <= set(ring.held)

    async def _settle(self) -> int:
        """As `Cleaning.settle`. The partitions that start together ask once. Raises `KeysWouldStay`."""
        async with self._checking:
            now = self.foundation.clock.now()
            if self._checked is None or not 0 <= now - self._checked[0] < _CHECKED_MS:
                base = self.foundation
                async with topic_admin(base.settings.brokers) as admin:
                    cleaning = await check_cleaning(admin, base.installation.topic(Topic.KEYS))
                self._checked = (now, cleaning.settle)
            return self._checked[1]

    def _lane(self, model: ReadModel[Any], partition: Partition) -> ProjectorLane[Any]:
        base = self.foundation
        return ProjectorLane(
            model,
            partition,
            installation=base.installation,
            bootstrap=base.settings.brokers,
            redis=base.redis,
            pace=Pace(batch=base.settings.project_batch, poll_ms=_POLL_MS, check_s=_CHECK_S),
        )

    def _destroyer(self, model: str, partition: Partition, tombstones: Tombstones, settle: int) -> Destroyer:
        base = self.foundation
        return Destroyer(
            redis=base.redis,
            names=ShredNames(shred_prefix(base.installation.log_id, partition, model)),
            tombstones=tombstones,
            clock=self.clock or base.clock,
            settle=settle,
            topic=base.installation.topic(Topic.KEYS),
            every=_LOOK_S[model],
            meter=self.meter,
        )

    def failing(self) -> Iterable[Failing]:
        """What is due for so long that somebody should look."""
        for partition, units, age in self._pending():
            if age > _STUCK_MS:
                why = f"{units} due to be destroyed, the oldest for {age // 1_000} s"
                yield Failing(Item.DESTROYING, f"{NAME} partition {partition}", why)

    def places(self) -> Mapping[Partition, Place]:
        """Where the lanes are (`eunoe.worker.watching.Stage`)."""
        return lane_places(self.lanes)

    def readings(self) -> Iterable[Reading]:
        for partition, units, age in self._pending():
            yield SHRED_PENDING, (str(partition),), units
            yield SHRED_OLDEST_SECONDS, (str(partition),), age / 1_000

    def _pending(self) -> Iterable[tuple[Partition, int, int]]:
        now = self.foundation.clock.now()
        for partition, destroyers in sorted(self.running.items()):
            pending = [each.pending for each in destroyers]
            since = min((each.since for each in pending if each.since is not None), default=now)
            yield partition, sum(each.units for each in pending), max(0, now - since)
