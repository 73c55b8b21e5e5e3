"""Notices an event loop that does not run: then no task can tell, and no page answers.

A thread looks whether the loop has ticked. It dumps the stacks of all threads once for each standstill.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from eunoe.worker.stacks import thread_stacks

log = logging.getLogger(__name__)

_TICK_S: Final = 1.0


@contextmanager
def watched_loop(patience: float) -> Iterator[None]:
    """Watch the running loop inside the block. ``patience``: seconds without a tick before the stacks are dumped."""
    loop = asyncio.get_running_loop()
    ended = threading.Event()
    ticked = [time.monotonic()]
    timer = [loop.call_soon(lambda: None)]
    every = min(_TICK_S, patience / 4)

    def tick() -> None:
        ticked[0] = time.monotonic()
        timer[0] = loop.call_later(every, tick)

    def look() -> None:
        told_of = 0.0
        while not ended.wait(every):
            last = ticked[0]
            if time.monotonic() - last > patience and told_of != last:
                told_of = last
                log.error("the event loop has not run for %.0f s\n%s", time.monotonic() - last, thread_stacks())

    tick()
    thread = threading.Thread(target=look, name="loop-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        timer[0].cancel()
