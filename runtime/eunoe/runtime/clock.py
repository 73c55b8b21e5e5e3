"""Where ``now`` comes from: the wall clock in production, a hand-turned one in tests. Pure code gets an instant."""

import time
from typing import Protocol

from eunoe.schemas.ids import Millis


class Clock(Protocol):
    """Wall-clock time, which may step back. It bounds waiting and ages; what is decided goes by log time."""

    def now(self) -> Millis: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> Millis:
        return Millis(time.time_ns() // 1_000_000)


class ManualClock:
    """Stands still until told otherwise."""

    def __init__(self, now: Millis) -> None:
        self._now = now

    def now(self) -> Millis:
        return self._now

    def advance(self, millis: int) -> None:
        """Go on by ``millis``; negative steps back."""
        self._now = Millis(self._now + millis)

    def set(self, now: Millis) -> None:
        self._now = now
