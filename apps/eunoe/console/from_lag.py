"""Consumer lag as `eunoe.operations.lag` measures it, group by group: one slow backlog does not hold up the others."""

import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from eunoe.console.board import PartName
from eunoe.console.from_log import Look
from eunoe.console.known_log import KnownLog
from eunoe.console.rates import Rate
from eunoe.console.snapshot import GroupLag, Lag, PartitionLag, Service
from eunoe.operations import lag as measured
from eunoe.operations.lag_rules import Sample
from eunoe.runtime.settings import Settings


@dataclass(slots=True)
class LagSource:
    """Windows and rates are kept while the world is away: without them nobody could say what moves."""

    settings: Settings
    known: KnownLog
    name: PartName = "lag"
    asks: tuple[Service, ...] = (Service.KAFKA, Service.REDIS)
    every: float = 1.5
    deadline: float = 30.0
    windows: dict[tuple[str, int], deque[Sample]] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        async with measured.measuring_lag(self.settings) as meter:
            if meter.installation.log_id == installation.log_id:
                meter.windows = self.windows

            async def look() -> Lag:
                self.known.still(meter.installation)
                found = await meter.measure()
                return Lag(groups=tuple(self._group(each) for each in found))

            yield look

    def _group(self, group: measured.GroupLag) -> GroupLag:
        positions = [_position(each) for each in group.partitions]
        rate = None
        if None not in positions:
            taken = self.rates.setdefault(group.name, Rate())
            rate = taken.take(time.monotonic(), sum(each or 0 for each in positions))
        return GroupLag(
            name=group.name,
            topic=group.topic,
            status=group.status.value,
            total=group.total,
            rate=rate,
            partitions=tuple(_partition(each) for each in group.partitions),
        )


def _position(each: measured.PartitionLag) -> int | None:
    return each.committed if each.stored is None else each.stored


def _partition(each: measured.PartitionLag) -> PartitionLag:
    verdict = each.verdict
    return PartitionLag(
        partition=each.partition,
        status=verdict.status.value,
        reason=verdict.reason,
        lag=each.lag,
        age=each.age,
        trend=verdict.trend,
        eta=verdict.eta,
        progress_age=verdict.progress_age,
        end=each.end,
        committed=each.committed,
        stored=each.stored,
        owner=each.owner,
    )
