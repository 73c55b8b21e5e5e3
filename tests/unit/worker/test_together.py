"""Loops of one lane: what ends one ends the others, and a cancellation stays one."""

import asyncio

import pytest

from eunoe.runtime.lane import LaneStalled
from eunoe.worker.together import together


async def for_ever(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("ended")


async def failing(error: Exception) -> None:
    await asyncio.sleep(0)
    raise error


async def failing_when_cancelled() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise ConnectionError("while closing")


async def test_when_one_fails_the_others_end_and_its_error_is_raised() -> None:
    ended: list[str] = []
    with pytest.raises(ConnectionError, match="away"):
        await together(for_ever(ended), failing(ConnectionError("away")))
    assert ended == ["ended"]


async def test_what_needs_a_person_is_raised_first() -> None:
    with pytest.raises(LaneStalled):
        await together(failing(ConnectionError("away")), failing(LaneStalled("a person")))


async def test_a_failure_leaves_the_task_as_if_nobody_had_cancelled_it() -> None:
    with pytest.raises(ConnectionError):
        await together(for_ever([]), failing(ConnectionError("away")))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_cancelled_it_raises_that_whatever_its_loops_raise_while_they_end() -> None:
    ended: list[str] = []
    task = asyncio.create_task(together(for_ever(ended), failing_when_cancelled()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["ended"]


async def test_it_returns_when_all_have() -> None:
    await together(asyncio.sleep(0), asyncio.sleep(0))


async def test_a_loop_that_a_library_cancelled_ends_the_others() -> None:
    async def stray() -> None:
        await asyncio.sleep(0)
        raise asyncio.CancelledError

    ended: list[str] = []
    with pytest.raises(asyncio.CancelledError):
        await together(for_ever(ended), stray())
    assert ended == ["ended"]


async def test_cancelled_twice_it_waits_for_what_closes() -> None:
    closing, may, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closing.set()
            await may.wait()
            closed.set()

    task = asyncio.create_task(together(slowly(), failing(ConnectionError("away"))))
    await asyncio.wait_for(closing.wait(), 5)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    may.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()
