"""Partitions of which the same is to be said share a row."""

from eunoe.cli.rebuild_tables import gathered, ranges


def test_neighbours_are_a_range() -> None:
    assert ranges([7]) == "7"
    assert ranges([0, 1, 2, 4, 6, 7]) == "0–2, 4, 6–7"


def test_what_is_said_of_several_is_said_once() -> None:
    rows = [(0, ("2", "serves")), (1, ("2", "214 items")), (2, ("2", "serves")), (3, ("2", "serves"))]
    assert gathered(rows) == [("0, 2–3", ("2", "serves")), ("1", ("2", "214 items"))]
