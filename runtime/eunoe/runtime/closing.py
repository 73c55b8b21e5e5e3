"""Closing clients of Kafka without waiting for a broker that is away."""

import asyncio
import logging
from collections.abc import Collection, Coroutine
from typing import Any, Final

log = logging.getLogger(__name__)

_CLOSE_S: Final = 2.0
_GIVE_UP_S: Final = 60.0
"""Above the request timeout, after which a consumer whose broker is away has closed by itself. A producer with records
that it could not send waits for the broker for ever; cancelled then, it leaves its sender behind."""


async def close_in_time(*closing: Coroutine[Any, Any, None]) -> None:
    """Close what can be closed in time; a client whose broker is away, or whose sender died, must not hold up the lane.

    What takes longer goes on closing beside it: cancelled half-way, aiokafka leaves connections and tasks for as long
    as the process lives (seen: seven clients after two minutes of a broker that came and went). What it raises is no
    error of the lane.
    Not `asyncio.wait_for`: that waits until a cancelled task has ended, and aiokafka's may not.
    """
    tasks = [asyncio.ensure_future(each) for each in closing]
    for task in tasks:
        task.add_done_callback(_noted)
    try:
        await asyncio.wait(tasks, timeout=_CLOSE_S)
    finally:
        if late := [each for each in tasks if not each.done()]:
            asyncio.get_running_loop().call_later(_GIVE_UP_S, _give_up, late)


def _give_up(tasks: "Collection[asyncio.Future[None]]") -> None:
    for task in tasks:
        task.cancel()


def _noted(task: "asyncio.Future[None]") -> None:
    if not task.cancelled() and task.exception() is not None:
        log.debug("closing a client failed", exc_info=task.exception())
