"""A loop that heeds cancellation ends also where ``asyncio.wait_for`` swallowed it."""

import asyncio
import sys

import pytest

from eunoe.runtime.lane import heed_cancellation


async def swallowing(heeds: bool, rounds: list[int]) -> None:
    """As redis-py sends: what is waited for is done in the very moment of the cancellation."""
    for number in range(1_000):
        rounds.append(number)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        await asyncio.wait_for(future, 5)
        if heeds:
            heed_cancellation()


async def cancelled_in_the_moment(heeds: bool) -> tuple[bool, int]:
    """Whether the task ended as cancelled, and how many rounds it went on afterwards."""
    rounds: list[int] = []
    task = asyncio.create_task(swallowing(heeds, rounds))
    await asyncio.sleep(0)
    # The future's result is set in this turn of the loop, after us; the task is woken in the next one.
    asyncio.get_running_loop().call_soon(task.cancel)
    before = len(rounds)
    await asyncio.wait([task], timeout=5)
    return task.cancelled(), len(rounds) - before


async def test_a_loop_ends_though_its_cancellation_was_swallowed() -> None:
    ended, more = await cancelled_in_the_moment(heeds=True)
    assert ended
    assert more <= 1


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="wait_for was rewritten and no longer swallows")
async def test_without_heeding_it_the_same_loop_runs_on() -> None:
    ended, more = await cancelled_in_the_moment(heeds=False)
    assert (ended, more > 900) == (False, True)


async def test_who_was_not_cancelled_goes_on() -> None:
    heed_cancellation()
