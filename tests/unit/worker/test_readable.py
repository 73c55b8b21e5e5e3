"""A heartbeat made of positions: a mark in the commands, in the facts, in the read model."""

from eunoe.readmodels.source import Positioned
from eunoe.runtime.clock import ManualClock
from eunoe.runtime.metrics import WRITE_TO_READABLE_SECONDS, Metric, SilentMeter
from eunoe.schemas.ids import Millis, Offset, Partition
from eunoe.worker.freshness import Freshness
from eunoe.worker.readable import Readable

KEY = ("recall", Partition(0))


def looked(*looks: tuple[float, int | None, int | None, int | None, int | None]) -> float:
    found = Readable()
    for now, input_at, written, decided, projected in looks:
        found.look(KEY, now, input_at, written, decided, projected)
    return found.ages[KEY]


def test_nothing_waits_where_everything_has_passed() -> None:
    assert looked((1, 5, 5, 9, 9)) == 0
    assert looked((1, 0, 0, 1, 1), (60, 0, 0, 1, 1)) == 0, "idle is not late"


def test_what_is_not_decided_ages() -> None:
    assert looked((1, 5, 7, 9, 9), (11, 5, 7, 9, 9)) == 10


def test_what_is_decided_and_not_projected_ages_on() -> None:
    assert looked((1, 5, 7, 9, 9), (2, 7, 7, 12, 9), (11, 7, 7, 12, 11)) == 10
    assert looked((1, 5, 7, 9, 9), (2, 7, 7, 12, 9), (11, 7, 7, 15, 12)) == 0


def test_the_second_write_counts_from_its_own_mark() -> None:
    assert looked((1, 5, 7, 9, 9), (4, 5, 8, 9, 9), (10, 7, 8, 12, 12)) == 6


def test_who_does_not_answer_proves_nothing() -> None:
    assert looked((1, 5, 7, 9, 9), (11, None, None, None, None)) == 10
    assert looked((1, 5, 7, 9, 9), (11, 7, None, None, 9), (12, 7, 7, 12, 12)) == 0


class Noted(SilentMeter):
    def __init__(self) -> None:
        self.seen: list[float] = []

    def observe(self, metric: Metric, value: float) -> None:
        assert metric is WRITE_TO_READABLE_SECONDS
        self.seen.append(value)


def records(*timed: tuple[int, int]) -> list[Positioned[None]]:
    return [Positioned(Offset(offset), Millis(at), None) for offset, at in timed]


def test_the_oldest_of_a_batch_is_measured_and_what_is_written_again_is_not() -> None:
    meter, clock = Noted(), ManualClock(Millis(10_000))
    fresh = Freshness(meter, clock)
    fresh.written(records((5, 9_000), (6, 9_900)))
    clock.advance(60_000)
    fresh.written(records((4, 8_000), (5, 9_000), (6, 9_900)))
    assert meter.seen == [1.0]
    fresh.written(records((6, 9_900), (7, 69_750)))
    fresh.written(records((8, 71_000)))
    assert meter.seen == [1.0, 0.25, 0.0], "a broker's clock that runs ahead gives no negative times"
