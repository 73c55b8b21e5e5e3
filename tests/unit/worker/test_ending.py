"""A worker's end is bounded from outside: what does not close is left and named, what blocks ends the process."""

import asyncio
import logging
import re
import subprocess
import sys
import time

import pytest

from eunoe.worker.ending import ABANDONED, closed_in_time


async def test_what_closes_in_time_is_waited_for() -> None:
    closed = []

    async def close() -> None:
        await asyncio.sleep(0)
        closed.append(True)

    assert await closed_in_time(close(), within=5.0)
    assert closed


async def test_what_closing_raises_is_raised() -> None:
    async def close() -> None:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await closed_in_time(close(), within=5.0)


async def test_what_does_not_close_is_left_and_named(caplog: pytest.LogCaptureFixture) -> None:
    hangs = asyncio.create_task(asyncio.Event().wait(), name="the-one-that-hangs")
    began = time.monotonic()
    with caplog.at_level(logging.ERROR):
        assert not await closed_in_time(hangs, within=0.05)
    assert time.monotonic() - began < 5
    assert "the-one-that-hangs" in caplog.text
    hangs.cancel()


_BLOCKED = """
import asyncio, time
from eunoe.worker.ending import end_in_time

async def main():
    end_in_time(0.3)
    time.sleep(60)  # no await: nothing on the event loop can end this

asyncio.run(main())
"""


_BLOCKED_BEFORE = """
import asyncio, os, signal, threading, time
from eunoe.worker.ending import end_in_time_when_told

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)
    end_in_time_when_told(0.3)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
    time.sleep(60)  # when it is told, it hears of nothing

asyncio.run(main())
"""

_HEARD = """
import asyncio, os, signal
from eunoe.worker.ending import end_in_time_when_told

async def main():
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    end_in_time_when_told(60)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(told.wait(), 10)

asyncio.run(main())
"""


def test_a_loop_that_is_not_blocked_hears_of_its_signal_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", _HEARD], capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("program", [_BLOCKED, _BLOCKED_BEFORE])
def test_a_blocked_event_loop_does_not_keep_a_process(program: str) -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == ABANDONED
    assert time.monotonic() - began < 20
    assert "Nothing is lost" in done.stderr
    assert re.search(r"<string>:\d+ main", done.stderr), "where it stands"
