"""Two loops of one lane: when one ends, so does the other, and the lane learns why."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from eunoe.runtime.lane import LaneStalled


async def together(*loops: Coroutine[Any, Any, None]) -> None:
    """Run ``loops`` until one of them returns or raises what is not its own cancellation; then end the others.

    Returns when all have returned. Raises one error, what needs a person first: `Lanes` acts on a single one.
    """
    try:
        async with asyncio.TaskGroup() as group:
            for loop in loops:
                group.create_task(loop)
    except BaseExceptionGroup as several:
        raise _foremost(several) from None


def _foremost(several: "BaseExceptionGroup[BaseException]") -> BaseException:
    errors = _flat(several)
    return next((error for error in errors if isinstance(error, LaneStalled)), errors[0])


def _flat(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [each for inner in error.exceptions for each in _flat(inner)]
    return [error]
