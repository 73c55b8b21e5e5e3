"""Where everything stands, without a word of what it works on."""

import asyncio
import logging
import threading
import time

import pytest

from eunoe.worker.blocked import watched_loop
from eunoe.worker.stacks import task_stacks, thread_stacks

SECRET = "Prefers delivery after 18:00."


async def waits_inside(gate: asyncio.Event, statement: str) -> None:
    await gate.wait()
    assert statement


async def outer(gate: asyncio.Event) -> None:
    await waits_inside(gate, SECRET)


async def test_a_suspended_task_shows_where_it_waits_and_not_what_it_holds() -> None:
    gate = asyncio.Event()
    tasks = [asyncio.create_task(outer(gate), name=f"lane-{number}") for number in range(2)]
    await asyncio.sleep(0)
    found = task_stacks() + thread_stacks()
    assert "2 task(s): lane-0, lane-1" in found
    for name in ("outer", "waits_inside", "wait"):
        assert name in found
    assert threading.current_thread().name in found
    assert SECRET not in found
    assert "gate.wait()" not in found, "a source line may hold a literal"
    gate.set()
    await asyncio.gather(*tasks)


async def test_a_loop_that_does_not_run_is_told_by_a_thread_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    with watched_loop(0.1):
        await asyncio.sleep(0.3)
        assert not caplog.records, "a running loop is no news"
        time.sleep(0.6)  # noqa: ASYNC251 - the fault
        await asyncio.sleep(0)
    told = [each.getMessage() for each in caplog.records if "has not run" in each.getMessage()]
    assert len(told) == 1
    assert "test_a_loop_that_does_not_run" in told[0]
