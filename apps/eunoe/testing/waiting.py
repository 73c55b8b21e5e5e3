"""Waiting for a condition with a deadline, instead of sleeping and hoping."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

DEADLINE_S: Final = 30.0
_PAUSE_S: Final = 0.05


async def until(question: Callable[[], Awaitable[bool]], deadline: float = DEADLINE_S) -> None:
    """Ask until the answer is yes. Raises TimeoutError after ``deadline`` seconds."""
    async with asyncio.timeout(deadline):
        while not await question():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(_PAUSE_S)
