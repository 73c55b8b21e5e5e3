"""Figures as people read them."""

import pytest

from eunoe.console import words
from eunoe.console.rates import Rate


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "unknown"),
        (0.0, "0 s"),
        (1.25, "1.2 s"),
        (59.6, "60 s"),
        (600, "10 min"),
        (9_000, "2 h"),
        (2e6, "23 days"),
    ],
)
def test_a_duration_has_the_unit_that_fits(value: float | None, said: str) -> None:
    assert words.seconds(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(None, "unknown"), (0.0, "0/s"), (0.04, "under 0.1/s"), (2.34, "2.3/s"), (12_345.6, "12,346/s")],
)
def test_a_rate_is_never_zero_where_something_moves(value: float | None, said: str) -> None:
    assert words.rate(value) == said


def test_what_is_not_known_is_called_so() -> None:
    assert words.number(None) == words.ago(5, None) == words.instant(None) == words.signed(None) == "unknown"


def test_counts_agree_with_their_nouns() -> None:
    assert [words.many(count, "switch", "switches") for count in (0, 1, 2_000)] == [
        "no switches",
        "1 switch",
        "2,000 switches",
    ]


def test_many_names_are_told_by_their_number() -> None:
    assert words.named(["keys", "recall"], 6) == "keys, recall"
    assert words.named(["keys", "recall", "review"], 6) == "3 of 6"


def test_codes_are_told_as_words() -> None:
    assert words.spaced("untrusted_source") == "untrusted source"
    assert words.spaced("RememberMemory") == "remember memory"


def test_a_rate_is_taken_over_a_window_and_not_known_at_once() -> None:
    rate = Rate()
    assert rate.take(0.0, 100) is None
    assert rate.take(2.0, 140) == 20.0
    assert rate.take(30.0, 140) == 0.0
    assert rate.past == (None, 20.0, 0.0)


def test_a_number_that_shrinks_is_another_log() -> None:
    rate = Rate()
    rate.take(0.0, 100)
    rate.take(2.0, 140)
    assert rate.take(3.0, 4) is None
    assert rate.take(5.0, 8) == 2.0
