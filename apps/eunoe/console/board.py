"""Where the gatherer pins what it found, and where every viewer reads it: one snapshot for all of them."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

from msgspec.structs import replace

from eunoe.console.snapshot import Part, Problem, Snapshot
from eunoe.schemas.ids import Millis

PartName = Literal["throughput", "store", "lag", "models", "control", "review", "erasures", "refusals", "letters"]
PARTS: Final[tuple[PartName, ...]] = get_args(PartName)


class Board:
    """Parts change at any time; `publish` makes a snapshot of them, which is what viewers see and wait for."""

    def __init__(self, clock: Callable[[], Millis]) -> None:
        self._clock = clock
        self._changed = asyncio.Condition()
        self._current = Snapshot(at=clock(), started_at=clock())
        self.snapshot = self._current

    def found(self, name: PartName, value: Any) -> None:
        """A part answered."""
        self._pin(name, Part(value=value, taken_at=self._clock()))

    def failed(self, name: PartName, problem: Problem) -> None:
        """A part did not; its last figures stay, with the problem beside them."""
        self._pin(name, replace(self.part(name), problem=problem))

    def part(self, name: PartName) -> Part[Any]:
        """As it is now, published or not."""
        found: Part[Any] = getattr(self._current, name)
        return found

    def answered_at(self, name: PartName) -> Millis:
        """When the part last answered; before the first time, when the console began to ask."""
        part = self.part(name)
        return self._current.started_at if part.taken_at is None else part.taken_at

    def _pin(self, name: PartName, part: Part[Any]) -> None:
        self._current = replace(self._current, **{name: part})

    async def publish(self) -> None:
        """Ages grow even where nothing changed, so each call makes a new version."""
        self._current = replace(self._current, version=self._current.version + 1, at=self._clock())
        async with self._changed:
            self.snapshot = self._current
            self._changed.notify_all()

    async def after(self, version: int) -> Snapshot:
        """The snapshot, once it is newer than ``version``."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.snapshot.version > version)
            return self.snapshot
