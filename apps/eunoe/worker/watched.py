"""What a row of looks at one partition says: does it move, has it caught up, was something lost. Pure.

Nothing here is asked of the lane but its position: a lane that is never given a record believes that there is
none (S4). Where the log ends is asked of the broker, by somebody else.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

_MOST: Final = 1_024
"""Remembered ends of a log that grows while nobody reads it; beyond, every second one is forgotten."""


@dataclass(slots=True)
class Ends:
    """When the log was first seen at which length, for lengths that were not passed yet."""

    _seen: deque[tuple[float, int]] = field(default_factory=deque)
    _last: int = -1

    def see(self, now: float, end: int) -> None:
        if end > self._last:
            self._last = end
            self._seen.append((now, end))
            if len(self._seen) > _MOST:
                self._seen = deque(list(self._seen)[::2])

    def age(self, now: float, position: int) -> float:
        """Seconds since the log was first seen longer than ``position``; 0 where it never was."""
        while self._seen and self._seen[0][1] <= position:
            self._seen.popleft()
        return now - self._seen[0][0] if self._seen else 0.0


@dataclass(slots=True)
class Watched:
    """One partition of one service since ``since``. Times are seconds of a clock that never steps."""

    since: float
    position: int | None = None
    """The last one that was known."""
    known: bool = False
    """Whether the last look knew it."""
    end: int | None = None
    told: bool = False
    """Whether a stand-still was reported already; for whoever reports it once."""
    _target: int | None = None
    _lost: tuple[int, int] | None = None
    _still_since: float | None = field(init=False)
    _age: float = 0.0
    _healed: int = 0
    _reached: bool = False
    _ends: Ends = field(default_factory=Ends)

    def __post_init__(self) -> None:
        self._still_since = self.since

    def look(self, now: float, position: int | None, end: int | None, healed: int = 0) -> None:
        """``position``: the next offset to be worked on; ``end``: the last stable offset; None where it is not known
        now. ``healed``: how often the lane found that Redis is not where it had left it."""
        if end is not None:
            self.end = end
            self._ends.see(now, end)
        self.known = position is not None
        if position is None:
            return
        before, went_back = self.position, healed > self._healed
        if before is not None and self.end is not None and (went_back or position < before):
            self._lost = (max(before, position), self.end)
        if position != before:
            self._still_since, self.told = now, False
        self.position, self._healed = position, healed
        if self.end is None:
            return
        if self._target is None:
            self._target = self.end
        self._reached = self._reached or position >= self._target
        if self._lost is not None and position >= self._lost[1]:
            self._lost = None
        if position >= self.end:
            self._still_since, self.told = None, False
        elif self._still_since is None:
            self._still_since = now
        self._age = self._ends.age(now, position)

    @property
    def caught_up_once(self) -> bool:
        """Whether it has been where the log ended when its position was first known."""
        return self._reached

    @property
    def to_go(self) -> int | None:
        """Offsets to the end of the log; None where one of both is not known."""
        return None if self.position is None or self.end is None else max(0, self.end - self.position)

    @property
    def age(self) -> float:
        """Seconds since the log was first seen longer than the position, as of the last look; 0 when caught up."""
        return self._age

    @property
    def lost_from(self) -> int | None:
        """The position that was reached before Redis lost what it held; None once the log's end of then is reached."""
        return None if self._lost is None else self._lost[0]

    def unmoved(self, now: float) -> float:
        """Seconds for which records wait while the position stands still, or for which it is not known at all."""
        waits = self.position is None or self.to_go
        return now - self._still_since if waits and self._still_since is not None else 0.0
