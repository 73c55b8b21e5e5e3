"""Statuses of consumer lag: by movement over a window, each with its reason."""

import pytest

from eunoe.operations.lag_rules import LagStatus, Sample, judge, worst


def window(*places: tuple[int | None, int]) -> list[Sample]:
    """Samples a second apart: (position, end)."""
    return [Sample(float(at), position, end) for at, (position, end) in enumerate(places)]


@pytest.mark.parametrize(
    ("places", "owned", "status"),
    [
        ([(5, 5), (5, 5)], True, LagStatus.OK),
        ([(5, 5), (5, 5)], False, LagStatus.WARNING),
        ([(5, 9), (9, 9)], True, LagStatus.OK),
        ([(5, 5), (5, 9)], True, LagStatus.OK),
        ([(5, 5), (5, 9)], False, LagStatus.STOPPED),
        ([(1, 9), (3, 9), (5, 10)], True, LagStatus.OK),
        ([(1, 9), (2, 19), (3, 29)], True, LagStatus.WARNING),
        ([(1, 9), (1, 9), (1, 9)], True, LagStatus.STALLED),
        ([(1, 9), (1, 10)], None, LagStatus.STALLED),
        ([(1, 9), (1, 9)], False, LagStatus.STOPPED),
        ([(7, 9), (3, 9)], True, LagStatus.REWINDING),
        ([(None, 9), (None, 9)], True, LagStatus.UNKNOWN),
        ([(1, 9)], True, LagStatus.UNKNOWN),
        ([(1, 9)], False, LagStatus.STOPPED),
        ([(0, 0)], True, LagStatus.OK),
    ],
    ids=[
        "caught up",
        "caught up and orphaned",
        "just done",
        "just come",
        "just come, orphaned",
        "shrinking",
        "growing",
        "not moving",
        "not moving, owner unknown",
        "orphaned",
        "back",
        "no position",
        "looked at once",
        "looked at once, orphaned",
        "empty topic",
    ],
)
def test_a_window_has_its_status(places: list[tuple[int | None, int]], owned: bool | None, status: LagStatus) -> None:
    verdict = judge(window(*places), owned)
    assert verdict.status is status
    assert verdict.reason


def test_a_shrinking_lag_says_when_it_is_gone() -> None:
    verdict = judge(window((0, 30), (5, 30), (10, 30)), True)
    assert (verdict.trend, verdict.eta, verdict.progress_age) == (-5.0, 4.0, 0.0)


def test_a_growing_or_unknown_one_has_no_such_time_and_is_never_nan() -> None:
    assert judge(window((1, 9), (2, 19)), True).eta is None
    assert judge(window((1, 9), (1, 9)), True).eta is None
    assert judge(window((0, 0)), True).eta == 0.0
    assert judge(window((None, 0)), None).trend is None


def test_a_group_is_as_bad_as_its_worst_partition() -> None:
    assert worst([LagStatus.OK, LagStatus.STALLED, LagStatus.WARNING]) is LagStatus.STALLED
    assert worst([]) is LagStatus.UNKNOWN
