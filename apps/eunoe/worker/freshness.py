"""From the append of a command to its fact in a read model, as seen where it is written (ADR 0015)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from eunoe.readmodels.source import Positioned
from eunoe.runtime.clock import Clock
from eunoe.runtime.metrics import WRITE_TO_READABLE_SECONDS, Meter


@dataclass(slots=True)
class Freshness:
    """One partition of one model. A fact's time is its command's append time, as the broker's clock had it."""

    meter: Meter
    clock: Clock
    _next: int = 0  # an int by another name

    def written(self, records: Sequence[Positioned[Any]]) -> None:
        """Measures the oldest of ``records``; what a refilled Redis is given again was readable before."""
        fresh = [each for each in records if each.offset >= self._next]
        if fresh:
            self._next = fresh[-1].offset + 1
            seconds = (self.clock.now() - fresh[0].timestamp) / 1_000
            self.meter.observe(WRITE_TO_READABLE_SECONDS, max(0.0, seconds))
