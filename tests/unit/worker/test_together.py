"""Decider and sweeper of one partition live and die together."""

import asyncio

import pytest

from eunoe.runtime.lane import LaneStalled
from eunoe.worker.together import together


class Fails(Exception):
    pass


async def test_when_one_fails_the_other_is_ended_and_the_failure_comes_out_alone() -> None:
    ended = asyncio.Event()

    async def lives() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fails() -> None:
        raise Fails

    with pytest.raises(Fails):
        await together(lives(), fails())
    assert ended.is_set()


async def test_what_needs_a_person_comes_before_what_the_world_did() -> None:
    async def stalls() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LaneStalled("stop") from None

    async def fails() -> None:
        await asyncio.sleep(0)
        raise Fails

    with pytest.raises(LaneStalled):
        await together(fails(), stalls())


async def test_cancelling_ends_both() -> None:
    ended = []

    async def lives(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    task = asyncio.create_task(together(lives("a"), lives("b")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == ["a", "b"]
