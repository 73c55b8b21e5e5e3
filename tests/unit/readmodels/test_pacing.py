"""When filling a generation rests for everybody else's sake."""

import itertools
from types import SimpleNamespace

import pytest

from eunoe.readmodels.rebuild import pacing
from eunoe.readmodels.rebuild.pacing import Throttle

ALLOWED = 0.02


class Redis:
    def __init__(self) -> None:
        self.asked = 0

    async def ping(self) -> None:
        self.asked += 1


async def after(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> tuple[float, int]:
    """How long it rested where a PING after the other took ``seconds``, and how many it asked."""
    edges = itertools.accumulate(itertools.chain.from_iterable((0.0, each) for each in seconds))
    monkeypatch.setattr(pacing, "time", SimpleNamespace(perf_counter=lambda: next(edges)))
    redis = Redis()
    throttle = Throttle(redis=redis, latency=ALLOWED)  # type: ignore[arg-type]
    await throttle.before(100)
    return throttle.rested, redis.asked


async def test_one_slow_answer_may_be_our_own_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await after(monkeypatch, 0.001) == (0.0, 1)
    assert await after(monkeypatch, 0.5, 0.6, 0.001) == (0.0, 3)


async def test_slow_answers_only_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await after(monkeypatch, 0.5, 0.6, 0.5, 0.03) == (0.05, 4)
