"""One process at a time: an advisory lock on a file, which the kernel drops when its holder dies."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eunoe.stack.errors import StackBusy

_POLL_SECONDS = 0.05


@contextmanager
def exclusive(lock: Path, seconds: float) -> Iterator[None]:
    """Hold ``lock`` (made when missing, never removed: removing it would let two holders in).

    Blocks for up to ``seconds``, then raises `StackBusy`. Child processes do not inherit it.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as file:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StackBusy(lock, seconds) from None
                time.sleep(_POLL_SECONDS)
        yield
