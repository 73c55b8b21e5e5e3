"""Server-sent events: to each viewer of a page those of its sections that changed."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from eunoe.console.board import Board
from eunoe.console.pages import Pages

VIEWERS: Final = 64
"""At once, over all pages: each holds a connection."""
LONGEST_S: Final = 3_600.0
"""Then the browser comes again by itself, and with it the question whether it still may look."""
_QUIET_S: Final = 10.0


class Viewers:
    """Who looks at the moment."""

    def __init__(self, board: Board, pages: Pages, stopping: Callable[[], bool] = lambda: False) -> None:
        self._board = board
        self._pages = pages
        self._stopping = stopping
        self.count = 0

    @property
    def full(self) -> bool:
        return self.count >= VIEWERS

    async def follow(self, name: str) -> AsyncIterator[str]:
        """Events until the viewer goes, the console stops or `LONGEST_S` is over; all sections first. A slow viewer
        skips snapshots."""
        self.count += 1
        try:
            clock = asyncio.get_running_loop().time
            shown: Mapping[str, str] = {}
            until = clock() + LONGEST_S
            snapshot = self._board.snapshot
            yield "retry: 2000\n\n"
            while not self._stopping() and clock() < until:
                rendering = self._pages.render(name, snapshot)
                changed = {each: html for each, html in rendering.fragments.items() if shown.get(each) != html}
                shown = rendering.fragments
                if changed:
                    yield f"event: sections\nid: {snapshot.version}\ndata: {json.dumps(changed)}\n\n"
                try:
                    async with asyncio.timeout(_QUIET_S):
                        snapshot = await self._board.after(snapshot.version)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self.count -= 1
