"""How fast a generation is filled: a rate that somebody set, and what it does to everybody else's latency."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.removing import Removal, let_go_of
from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.topics import Topic

_REST_S: Final = 0.05
_LONGEST_REST_S: Final = 1.0
_PINGS: Final = 4
"""As many as partitions are filled side by side."""


@dataclass(slots=True, kw_only=True)
class Throttle:
    """``rate``: records a second over all partitions, None for no limit. ``latency``: where a PING of Redis takes
    longer (in seconds) filling rests, longer each time; None: it is not asked."""

    redis: Redis
    rate: float | None = None
    latency: float | None = None
    rested: float = 0.0
    _due: float = 0.0
    _pause: float = _REST_S
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def before(self, records: int) -> None:
        """Returns when ``records`` more may be folded."""
        async with self._lock:
            if self.rate is not None:
                now = time.monotonic()
                wait = self._due - now
                self._due = max(now, self._due) + records / self.rate
                if wait > 0:
                    await asyncio.sleep(wait)
            if self.latency is not None:
                await self._heed(self.latency)

    async def _heed(self, allowed: float) -> None:
        """Rests where no PING of several is quick: one may have waited for a fold of ours, which blocks this loop.

        Each other lane folds at most once while this one has its turn.
        """
        for _ in range(_PINGS):
            before = time.perf_counter()
            await self.redis.ping()
            if time.perf_counter() - before <= allowed:
                self._pause = _REST_S
                return
        self.rested += self._pause
        await asyncio.sleep(self._pause)
        self._pause = min(_LONGEST_REST_S, self._pause * 2)


class Paced:
    """``model``, folded no faster than ``throttle`` lets it be, and counted in ``folded``."""

    def __init__(self, model: ReadModel[Any], throttle: Throttle) -> None:
        self._model = model
        self._throttle = throttle
        self.folded = 0
        self.name: Final = model.name
        self.source: Final[Topic] = model.source
        self.functions: Final[LoadedFunctions | None] = model.functions

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Any]]) -> Sequence[Sequence[Operation]]:
        await self._throttle.before(len(records))
        operations = await self._model.fold(prefix, records)
        self.folded += len(records)
        return operations

    async def let_go(self, removal: Removal) -> None:
        """As the model does."""
        await let_go_of(self._model, removal)
