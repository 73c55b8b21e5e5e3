"""A rate leaves start-up out, and wants more than one batch."""

import asyncio

import pytest

from eunoe.bench.pace import Pace
from eunoe.runtime.metrics import BATCH_COMMANDS, DECIDED, TRANSACTION_SECONDS


def test_the_clock_starts_with_the_end_of_the_first_batch() -> None:
    pace = Pace(wanted=300)
    for at, records in ((10.0, 100), (12.0, 100), (14.0, 100)):
        pace.finished(records)
        pace.marks[-1] = (at, pace.marks[-1][1])
    assert pace.rate == 50.0
    assert pace.over


def test_one_batch_has_no_rate() -> None:
    pace = Pace(wanted=10)
    pace.finished(10)
    with pytest.raises(ValueError, match="one batch"):
        _ = pace.rate


async def test_a_decider_tells_it_as_a_meter() -> None:
    pace = Pace(wanted=7)
    waiting = asyncio.create_task(pace.wait())
    pace.observe(TRANSACTION_SECONDS, 9.0)
    pace.add(DECIDED, "MemoryAccepted", "", amount=4)
    pace.observe(BATCH_COMMANDS, 4)
    await asyncio.sleep(0)
    assert not waiting.done()
    pace.observe(BATCH_COMMANDS, 3)
    await waiting
    assert pace.done == 7
    assert pace.kinds == {"MemoryAccepted": 4}
