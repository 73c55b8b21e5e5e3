"""The paired bootstrap says who is ahead, the same each time."""

import random

import pytest

from eunoe.bench.statistics import paired_bootstrap


def test_equal_runs_are_not_ahead() -> None:
    figures = [0.0, 1.0, 0.5] * 50
    result = paired_bootstrap(figures, figures)
    assert (result.mean, result.low, result.high, result.p, result.pairs) == (0.0, 0.0, 0.0, 1.0, 150)
    assert not result.ahead


def test_a_steady_gain_is_ahead_and_its_mirror_is_not() -> None:
    chance = random.Random(7)
    theirs = [chance.random() for _ in range(400)]
    ours = [figure + chance.gauss(0.05, 0.2) for figure in theirs]
    result, mirror = paired_bootstrap(ours, theirs), paired_bootstrap(theirs, ours)
    assert result.ahead
    assert result.low < result.mean < result.high
    assert result.p < 0.05
    assert not mirror.ahead
    assert mirror.mean == pytest.approx(-result.mean)


def test_noise_is_not_ahead() -> None:
    chance = random.Random(11)
    theirs = [chance.random() for _ in range(400)]
    result = paired_bootstrap([chance.random() for _ in theirs], theirs)
    assert not result.ahead
    assert result.p > 0.05


def test_the_interval_has_the_width_theory_gives() -> None:
    """Differences of ±1 with equal chance over n pairs: standard error 1/√n."""
    result = paired_bootstrap([1.0, -1.0] * 200, [0.0] * 400)
    assert result.high - result.low == pytest.approx(2 * 1.96 / 20, rel=0.05)


def test_a_seed_gives_the_same_answer() -> None:
    ours, theirs = [0.1, 0.9, 0.4] * 20, [0.2, 0.5, 0.4] * 20
    assert paired_bootstrap(ours, theirs) == paired_bootstrap(ours, theirs)
    assert paired_bootstrap(ours, theirs, seed=1) != paired_bootstrap(ours, theirs, seed=2)


@pytest.mark.parametrize(("ours", "theirs"), [([], []), ([1.0], [1.0, 2.0])])
def test_unequal_or_empty_runs_are_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match="equally long"):
        paired_bootstrap(ours, theirs)
