"""How fast a loop went, from its own batches: start-up is left out, for every contender alike."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

from eunoe.runtime.metrics import BATCH_COMMANDS, DECIDED, Metric


@dataclass(slots=True)
class Pace:
    """Batches as they were finished. ``wanted`` records are waited for; the first batch only starts the clock.

    ``kinds``: facts by type, where the decider tells.
    """

    wanted: int
    done: int = 0
    marks: list[tuple[float, int]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def finished(self, records: int) -> None:
        """A batch of ``records`` is durable."""
        self.done += records
        self.marks.append((time.perf_counter(), self.done))
        if self.done >= self.wanted:
            self._over.set()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    async def wait(self) -> None:
        """Returns when ``wanted`` records are finished."""
        await self._over.wait()

    @property
    def rate(self) -> float:
        """Records per second between the end of the first batch and the end of the one that made it enough.

        Raises ValueError with fewer than two batches.
        """
        if len(self.marks) < 2:
            raise ValueError("one batch has no rate: ask for more records than fit in one")
        (begun, first), (ended, last) = self.marks[0], self.marks[-1]
        return (last - first) / (ended - begun)

    # A `Meter` for the decider, which tells of each batch once it is committed and folded.

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        if metric is DECIDED:
            self.kinds[labels[0]] += int(amount)

    def observe(self, metric: Metric, value: float) -> None:
        if metric is BATCH_COMMANDS:
            self.finished(int(value))
