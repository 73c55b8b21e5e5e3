"""Keeps every generation of a read model up to date that somebody may be answered from, in one partition."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.redis.generations import Generations, GenerationStore
from eunoe.runtime.redis.prefix import Prefix

log = logging.getLogger(__name__)

LOOK_EVERY_S: Final = 0.5
_PAUSE_S: Final = 5.0
"""How long a generation rests that does not serve and could not be projected."""


@dataclass(slots=True, kw_only=True)
class FollowedGenerations:
    """``project`` projects one generation until it is cancelled. What it raises for the serving one ends this too; the
    others are tried again, for nobody is answered from them."""

    store: GenerationStore
    prefix: Prefix
    project: Callable[[Prefix, Generations], Awaitable[None]]
    serving: Prefix = field(init=False)
    _running: dict[int, "asyncio.Task[None]"] = field(default_factory=dict)
    _resting: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.serving = self.prefix

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                heed_cancellation()
                await self._look(await self.store.of(self.prefix))
                if self._running:
                    await asyncio.wait(
                        self._running.values(), timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                    )
        finally:
            await self._end(list(self._running))

    async def _look(self, generations: Generations) -> None:
        wanted, self.serving = set(generations.followed), self.prefix.of(generations.serving)
        await self._end([each for each in self._running if each not in wanted])
        now = asyncio.get_running_loop().time()
        for number, task in list(self._running.items()):
            if task.done():
                del self._running[number]
                if number == generations.serving:
                    task.result()
                log.warning("%s generation %d: %s", self.prefix.model, number, task.exception() or "ended")
                self._resting[number] = now + _PAUSE_S
        for number in wanted - self._running.keys():
            if number == generations.serving or self._resting.get(number, 0.0) <= now:
                work = self.project(self.prefix.of(number), generations)
                self._running[number] = asyncio.ensure_future(work)

    async def _end(self, numbers: list[int]) -> None:
        tasks = [self._running.pop(each) for each in numbers]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
