"""What does not answer costs its own part, and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from redis.exceptions import ConnectionError as RedisAway

from eunoe.console import gatherer
from eunoe.console.board import Board, PartName
from eunoe.console.gatherer import gathering
from eunoe.console.snapshot import Part, Service, Snapshot
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.errors import ForeignLog, LogCutOff, NotInstalled

Look = Callable[[], Awaitable[Any]]


@dataclass(slots=True)
class Fake:
    """A source whose looks a test decides."""

    name: PartName
    look: Look
    asks: tuple[Service, ...] = (Service.REDIS,)
    every: float = 0.02
    deadline: float = 0.2
    opened: int = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        self.opened += 1
        yield self.look


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("_PUBLISH_S", 0.02),
        ("_CHECK_S", 0.02),
        ("_PAUSES_S", (0.02,)),
        ("_LEAVE_S", 0.05),
        ("_STOP_S", 0.1),
    ):
        monkeypatch.setattr(gatherer, name, value)


async def until(board: Board, wanted: Callable[[Snapshot], bool]) -> Snapshot:
    async with asyncio.timeout(5):
        while not wanted(board.snapshot):
            await board.after(board.snapshot.version)
    return board.snapshot


async def answers() -> int:
    return 1


async def hangs() -> int:
    await asyncio.Event().wait()
    return 0


async def swallows() -> int:
    """Hangs, and heeds no cancellation but the third: aiokafka does the like."""
    for _ in range(3):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
    raise asyncio.CancelledError


def raising(error: Exception) -> Look:
    async def look() -> int:
        raise error

    return look


@pytest.mark.parametrize("silent", [hangs, swallows, raising(RedisAway()), raising(OSError())])
async def test_a_part_that_is_away_says_so_while_the_others_go_on(silent: Look) -> None:
    board = Board(SystemClock().now)
    bad = Fake("review", silent)
    async with gathering(board, (bad, Fake("letters", answers))):
        found = await until(board, lambda now: now.review.problem is not None and now.letters.value is not None)
        before = found.letters.taken_at
        assert before is not None
        await until(board, lambda now: (now.letters.taken_at or 0) > before and bad.opened > 1)
    assert found.review.problem is not None
    assert (found.review.problem.who, found.review.problem.what) == ("Redis", "does not answer")
    assert found.letters.problem is None


async def test_figures_stay_with_the_problem_beside_them_and_it_goes_when_it_is_over() -> None:
    board, away = Board(SystemClock().now), False

    async def sometimes() -> int:
        if away:
            raise RedisAway
        return 42

    async with gathering(board, (Fake("review", sometimes),)):
        await until(board, lambda now: now.review.value is not None)
        away = True
        found = await until(board, lambda now: now.review.problem is not None)
        assert found.review.value == 42  # type: ignore[comparison-overlap]  # a fake's figure
        assert found.review.problem is not None
        assert found.review.problem.since == found.review.taken_at
        away = False
        await until(board, lambda now: now.review.problem is None)


@pytest.mark.parametrize(
    ("error", "who", "what"),
    [
        (KafkaConnectionError(), "Kafka", "does not answer"),
        (NotInstalled("memory-lifecycle", "x"), "Kafka", "has no log of this installation; run `eunoe topics apply`"),
        (
            LogCutOff("memory-lifecycle", 1, 7),
            "Kafka",
            "has lost the beginning of the log: restore it from a copy",
        ),
        (ForeignLog("", "a", "b"), "Redis", "holds the read models of another log"),
        (ZeroDivisionError("secret"), "the console", "has a bug here (ZeroDivisionError)"),
    ],
)
async def test_what_went_wrong_is_told_in_words_of_ours(error: Exception, who: str, what: str) -> None:
    board = Board(SystemClock().now)
    async with gathering(board, (Fake("review", raising(error)),)):
        found = await until(board, lambda now: now.review.problem is not None)
    assert found.review.problem is not None
    assert (found.review.problem.who, found.review.problem.what) == (who, what)


async def test_of_two_services_the_silent_one_is_named_and_nothing_else_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gatherer, "_PATIENCE_S", 0.1)
    board = Board(SystemClock().now)
    both = Fake("lag", hangs, asks=(Service.KAFKA, Service.REDIS), deadline=60.0)
    async with gathering(board, (Fake("store", hangs), Fake("throughput", answers), both)):
        found = await until(board, lambda now: now.lag.problem is not None)
    assert found.lag.problem is not None
    assert found.lag.problem.who == "Redis"


async def test_a_part_that_never_ends_leaves_few_behind_and_stopping_does_not_wait_for_it() -> None:
    board = Board(SystemClock().now)

    async def deaf() -> int:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                continue
        return 0

    source = Fake("review", deaf, deadline=0.05)
    async with gathering(board, (source, Fake("letters", answers))):
        await until(board, lambda now: source.opened >= 3)
        await until(board, lambda now: now.version > 40)
        assert source.opened == 3
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 2


def test_a_part_starts_empty() -> None:
    assert Snapshot().lag == Part()
