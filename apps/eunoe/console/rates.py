"""How fast a number grows, over the last seconds."""

from collections import deque
from typing import Final

WINDOW_S: Final = 10.0
_SETTLED_S: Final = 0.5
PAST: Final = 60
"""Rates that are remembered, for a line."""


class Rate:
    """Takes a number that grows now and then; says by how much a second. Forgets all when it shrinks: a new log."""

    def __init__(self) -> None:
        self._window: deque[tuple[float, int]] = deque()
        self._past: deque[float | None] = deque(maxlen=PAST)

    def take(self, at: float, value: int) -> float | None:
        """``at``: seconds of a clock that never steps. None until two looks lie far enough apart."""
        if self._window and value < self._window[-1][1]:
            self._window.clear()
        self._window.append((at, value))
        while len(self._window) > 2 and at - self._window[0][0] > WINDOW_S:
            self._window.popleft()
        first_at, first = self._window[0]
        rate = None if at - first_at < _SETTLED_S else (value - first) / (at - first_at)
        self._past.append(rate)
        return rate

    @property
    def past(self) -> tuple[float | None, ...]:
        return tuple(self._past)
