"""The schedule of faults is a function of its seed, keeps faults apart, and leaves none out for long."""

from itertools import pairwise

import pytest

from eunoe.testing.chaos.faults import RULES, Kind, Track
from eunoe.testing.chaos.schedule import Fault, schedule

SEEDS = range(40)


def of(track: Track, faults: tuple[Fault, ...]) -> list[Fault]:
    return [each for each in faults if each.track is track]


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert schedule(7, 110.0) == schedule(7, 110.0)


def test_another_seed_gives_another_schedule() -> None:
    assert len({schedule(seed, 110.0) for seed in SEEDS}) == len(SEEDS)


def test_what_is_scheduled_under_a_seed_stays_so_from_release_to_release() -> None:
    """A report names a seed to repeat: a change of this is a change of every seed ever reported."""
    assert [(each.at, each.kind, each.seconds) for each in schedule(1, 40.0)] == [
        (2.1, Kind.OVERSIZED, 0.0),
        (3.2, Kind.WORKER_JOINS, 3.2),
        (3.8, Kind.BROKER_SLOW, 10.7),
        (11.8, Kind.DECIDER_TERMINATED, 2.0),
        (21.9, Kind.REDIS_PAUSED, 7.7),
        (22.0, Kind.DECIDER_KILLED, 4.4),
    ]


@pytest.mark.parametrize("track", Track)
def test_faults_of_one_track_are_one_at_a_time_and_each_has_its_rest(track: Track) -> None:
    for seed in SEEDS:
        for one, following in pairwise(of(track, schedule(seed, 600.0))):
            assert following.at >= one.at + one.seconds + RULES[one.kind].rest - 0.2  # both are rounded


def test_every_fault_lasts_as_long_as_its_rule_says_and_ends_before_the_end() -> None:
    for seed in SEEDS:
        for each in schedule(seed, 110.0):
            rule = RULES[each.kind]
            assert rule.least <= each.seconds <= rule.most
            assert each.at + each.seconds + rule.rest <= 110.1


def test_faults_are_sorted_by_time() -> None:
    for seed in SEEDS:
        found = [each.at for each in schedule(seed, 110.0)]
        assert found == sorted(found)


@pytest.mark.parametrize("track", Track)
def test_no_kind_comes_twice_before_the_others_of_its_track_came_once(track: Track) -> None:
    kinds = {kind for kind, rule in RULES.items() if rule.track is track}
    for seed in SEEDS:
        found = [each.kind for each in of(track, schedule(seed, 3_300.0))]
        assert set(found) == kinds
        for first in range(0, len(found) - len(kinds) + 1, len(kinds)):
            assert set(found[first : first + len(kinds)]) == kinds


def test_every_kind_has_a_rule() -> None:
    assert set(RULES) == set(Kind)


def test_a_run_too_short_for_any_fault_has_none() -> None:
    assert schedule(1, 5.0) == ()
