"""How a worker ends: within a budget, whatever does not answer (S10, S20).

Nothing durable hangs on an orderly end: what a transaction has not committed is decided again, a fold goes on from its
watermark, a tombstone is written again. What an orderly end gives is speed: groups that are left at once, and not after
the session time. So it is worth waiting for, and not for long.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Awaitable
from typing import Final, NoReturn

from eunoe.worker.stacks import thread_stacks

log = logging.getLogger(__name__)

CLOSE_S: Final = 12.0
"""For everything to close: above the sum of what the parts wait for by themselves."""
END_S: Final = 20.0
"""After which the process ends without more ado: something blocks the event loop, or its end. Below the grace period of
the usual supervisors (30 s)."""
_TOLD_BY: Final = (signal.SIGTERM, signal.SIGINT)
ABANDONED: Final = 1
"""The exit code then."""


async def closed_in_time(closing: Awaitable[object], within: float = CLOSE_S) -> bool:
    """Whether ``closing`` has returned ``within`` seconds; else the log says what was left. Raises what it raises."""
    task = asyncio.ensure_future(closing)
    await asyncio.wait([task], timeout=within)
    if not task.done():
        names = sorted({each.get_name() for each in asyncio.all_tasks()})
        log.error("not everything closed within %g s; left as they are: %s", within, ", ".join(names))
        return False
    task.result()
    return True


def end_in_time(within: float = END_S) -> threading.Timer:
    """From now on the process has so many seconds; then its stacks are logged and it is gone. For whoever hosts one."""
    timer = threading.Timer(within, _abandon, [within])
    timer.daemon = True
    timer.start()
    return timer


def end_well_when_told(within: float = END_S) -> None:
    """From now on, until the event loop has handlers of its own: told to end, the process closes what it has and exits
    0, within so many seconds. It has begun nothing yet that must be finished."""
    for each in _TOLD_BY:
        signal.signal(each, lambda *_: _leave(within))


def end_in_time_when_told(within: float = END_S) -> None:
    """`end_in_time` from SIGTERM or SIGINT on, also where the event loop is blocked by then and hears of no signal.

    To be called after the loop's own handlers are there: they go on hearing of it, for Python tells them by a
    descriptor of its own.
    """
    for each in _TOLD_BY:
        signal.signal(each, lambda *_: _told(within))


def _leave(within: float) -> NoReturn:
    for each in _TOLD_BY:
        signal.signal(each, signal.SIG_IGN)
    end_in_time(within)
    raise SystemExit(0)


def _told(within: float) -> None:
    end_in_time(within)


def _abandon(within: float) -> None:
    log.critical("still there %g s after it was told to end; given up. Nothing is lost:\n%s", within, thread_stacks())
    logging.shutdown()
    os._exit(ABANDONED)
