"""Clients of a lane that cannot be closed in time hold up nobody, and are closed all the same."""

import asyncio

import pytest

from eunoe.runtime import closing


async def test_a_client_that_closes_late_is_not_cancelled_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_CLOSE_S", 0.01)
    may, closed = asyncio.Event(), asyncio.Event()

    async def stop() -> None:
        await may.wait()
        closed.set()

    await closing.close_in_time(stop())
    assert not closed.is_set(), "it did not come back before the client was closed"
    may.set()
    await asyncio.wait_for(closed.wait(), 5)


async def test_one_that_never_closes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "_CLOSE_S", 0.01)
    monkeypatch.setattr(closing, "_GIVE_UP_S", 0.01)
    given_up = asyncio.Event()

    async def stop() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    await closing.close_in_time(stop())
    await asyncio.wait_for(given_up.wait(), 5)


async def test_what_closing_raises_is_no_error_of_the_lane() -> None:
    async def stop() -> None:
        raise ConnectionError("away")

    await closing.close_in_time(stop())
