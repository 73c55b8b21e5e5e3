"""What a row of looks says of a partition."""

from eunoe.worker.watched import Watched


def test_records_that_wait_while_nothing_moves_are_counted_from_when_they_were_seen() -> None:
    seen = Watched(0.0)
    seen.look(1, 10, 10)
    seen.look(2, 10, 10)
    assert seen.unmoved(9) == 0
    seen.look(3, 10, 14)
    seen.look(40, 10, 20)
    assert seen.unmoved(40) == 37
    assert seen.to_go == 10
    assert seen.age == 37, "since when the log was seen longer"
    seen.look(41, 11, 20)
    assert seen.unmoved(41) == 0, "slow is not stuck"


def test_what_is_passed_does_not_age_the_rest() -> None:
    seen = Watched(0.0)
    seen.look(0, 5, 10)
    seen.look(5, 5, 20)
    seen.look(8, 10, 20)
    assert seen.age == 3
    seen.look(9, 20, 20)
    assert (seen.age, seen.to_go) == (0, 0)


def test_a_lane_that_never_says_where_it_is_stands_still_too() -> None:
    seen = Watched(0.0)
    seen.look(50, None, None)
    assert seen.unmoved(50) == 50
    assert seen.to_go is None
    assert not seen.known


def test_it_has_caught_up_once_it_was_where_the_log_ended_when_it_began() -> None:
    seen = Watched(0.0)
    seen.look(1, 0, 100)
    seen.look(2, 90, 300)
    assert not seen.caught_up_once
    seen.look(3, 100, 400)
    assert seen.caught_up_once, "under load it is never at the end of now"


def test_a_position_that_went_back_is_a_loss_until_the_end_of_then_is_reached() -> None:
    seen = Watched(0.0)
    seen.look(1, 100, 100)
    seen.look(2, 0, 100, 1)
    assert seen.lost_from == 100
    seen.look(3, 99, 150, 1)
    assert seen.lost_from == 100
    seen.look(4, 100, 150, 1)
    assert seen.lost_from is None
    seen.look(5, 150, 150, 2)
    assert seen.lost_from is None, "filled again between two looks"


def test_a_long_backlog_costs_little_memory_and_keeps_its_age() -> None:
    seen = Watched(0.0)
    for at in range(10_000):
        seen.look(at, 0, at + 1)
    assert seen.age == 9_999
    assert len(seen._ends._seen) < 2_000
