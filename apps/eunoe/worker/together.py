"""Two loops of one lane: when one ends, so does the other, and the lane learns why."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from eunoe.runtime.lane import LaneStalled


async def together(*loops: Coroutine[Any, Any, None]) -> None:
    """Run ``loops`` until all have returned, or one raises what is not its own cancellation; then end the others.

    A loop that a library cancelled counts as failed: going on without it, a lane would be half a lane, and nobody told.
    Raises one error, what needs a person first: `Lanes` acts on a single one. Cancelled, it raises that and nothing
    else, whatever the loops raise while they end. `asyncio.TaskGroup` would raise their errors instead, and on Python
    3.11 leaves the task that it ran in looking cancelled once one of them has failed (both measured).
    """
    tasks = [asyncio.ensure_future(each) for each in loops]
    going, stray = set(tasks), False
    try:
        while going and not any(each.done() and _failed(each) for each in tasks):
            _, going = await asyncio.wait(going, return_when=asyncio.FIRST_COMPLETED)
        stray = any(each.cancelled() for each in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await _all_ended(tasks)
    errors = [error for each in tasks if not each.cancelled() and isinstance(error := each.exception(), Exception)]
    if errors:
        raise _foremost(errors)
    if stray:
        raise asyncio.CancelledError


async def _all_ended(tasks: Sequence["asyncio.Future[None]"]) -> None:
    """Cancelled meanwhile, it waits on and raises that at the end: what closes is not to be cut off half-way."""
    cancelled: asyncio.CancelledError | None = None
    while any(not each.done() for each in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as again:
            cancelled = again
    for each in tasks:
        if not each.cancelled():
            each.exception()  # seen, whether it is raised or not
    if cancelled is not None:
        raise cancelled


def _failed(task: "asyncio.Future[None]") -> bool:
    return task.cancelled() or task.exception() is not None


def _foremost(several: Sequence[Exception]) -> Exception:
    errors = [each for error in several for each in _flat(error)]
    return next((error for error in errors if isinstance(error, LaneStalled)), errors[0])


def _flat(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [each for inner in error.exceptions for each in _flat(inner)]
    return [error]
