"""How many searches one process has going at a time: one more is told so at once, and waits in no queue (M72).

A search that queues holds its caller and its memory, and when its turn comes nobody may be waiting for it any more.
What is bounded here is one client's share; Redis answers others meanwhile.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from eunoe.runtime.errors import WorldFault

RETRY_AFTER_MS: Final = 1_000


@dataclass(eq=False)
class Busy(WorldFault):
    """As many searches are going as ``searches_at_once`` lets; nothing was looked for. Try again after
    ``retry_after`` ms, or less often: an agent that asks in a loop, or a Redis that answers slowly, is why."""

    at_once: int
    retry_after: int = RETRY_AFTER_MS

    def __str__(self) -> str:
        return (
            f"busy: {self.at_once} searches are going already (EUNOE_SEARCHES_AT_ONCE); "
            f"try again in {self.retry_after / 1_000:g} s"
        )


class Room:
    """Belongs to one event loop."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._going = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Room for one search, given back however it ends. Raises `Busy`."""
        if self._going >= self._at_once:
            raise Busy(self._at_once)
        self._going += 1
        try:
            yield
        finally:
            self._going -= 1
