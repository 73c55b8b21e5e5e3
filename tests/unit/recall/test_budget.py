"""A budget skips what does not fit, goes on, and never cuts a record (A48, A49, M70)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.budget import Selection, Skipped, conservative_tokens, select

Record = tuple[str, str]


def length(text: str, /) -> int:
    return len(text)


def take(records: list[Record], limit: int, budget: int | None, per_record: int = 0) -> Selection[Record]:
    return select(
        records,
        limit=limit,
        budget=budget,
        identity=lambda record: record[0],
        text=lambda record: record[1],
        estimate=length,
        per_record=per_record,
    )


def test_a_record_too_long_is_skipped_and_the_next_is_tried() -> None:
    records = [("a", "x" * 40), ("b", "x" * 100), ("c", "x" * 50), ("d", "x" * 20)]
    selection = take(records, limit=5, budget=100)
    assert [identity for identity, _ in selection.taken] == ["a", "c"]
    assert selection.skipped == (Skipped(id="b", tokens=100), Skipped(id="d", tokens=20))
    assert selection.used == 90


def test_a_first_record_too_long_does_not_empty_the_result() -> None:
    selection = take([("long", "x" * 500), ("short", "x" * 5)], limit=5, budget=10)
    assert [identity for identity, _ in selection.taken] == ["short"]
    assert selection.skipped == (Skipped(id="long", tokens=500),)


def test_records_are_taken_whole() -> None:
    records = [("a", "one two three"), ("b", "four")]
    assert all(record in records for record in take(records, limit=2, budget=8).taken)


def test_the_limit_holds_without_a_budget_and_each_record_bears_its_overhead() -> None:
    records = [(str(n), "x") for n in range(9)]
    assert len(take(records, limit=3, budget=None).taken) == 3
    assert len(take(records, limit=9, budget=10, per_record=4).taken) == 2
    assert take(records, limit=0, budget=10).taken == ()


@pytest.mark.parametrize(("limit", "budget", "per_record"), [(-1, 1, 0), (1, -1, 0), (1, 1, -1)])
def test_negative_bounds_are_refused(limit: int, budget: int, per_record: int) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        take([], limit=limit, budget=budget, per_record=per_record)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 200), st.integers(0, 10))
def test_used_is_the_sum_of_what_was_taken_and_never_above_the_budget(
    sizes: list[int], budget: int, limit: int
) -> None:
    records = [(str(n), "x" * size) for n, size in enumerate(sizes)]
    selection = take(records, limit=limit, budget=budget)
    assert selection.used == sum(len(text) for _, text in selection.taken) <= budget
    assert len(selection.taken) <= limit
    assert all(item.tokens <= 50 for item in selection.skipped)
    if len(selection.taken) < limit:
        assert len(selection.taken) + len(selection.skipped) == len(sizes)


def test_the_estimate_costs_other_scripts_more_than_english() -> None:
    assert conservative_tokens("") == 0
    assert conservative_tokens("plain english words") == 7
    assert conservative_tokens("2023-05-07") == 10
    assert conservative_tokens("東京都") == 6
    assert conservative_tokens("доставка") == 8
    assert conservative_tokens("😀") == 4


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200))
def test_the_estimate_is_positive_and_at_most_a_token_a_byte(text: str) -> None:
    assert 1 <= conservative_tokens(text) <= len(text.encode())
