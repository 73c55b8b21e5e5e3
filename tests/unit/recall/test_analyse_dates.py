"""Dates in a text and the date of an observation meet in the same terms."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.analyse import DATE, Analyser
from eunoe.readmodels.recall.analyse_dates import Day, days_in
from eunoe.readmodels.recall.analyse_words import fold, segment

ANALYSER = Analyser()
OBSERVED = datetime(2023, 7, 31, 12, tzinfo=UTC)


def dates_in(text: str) -> tuple[Day, ...]:
    return days_in(fold(text), segment(fold(text)))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on 2023-07-31 at noon", [Day(2023, 7, 31)]),
        ("am 31.07.2023", [Day(2023, 7, 31)]),
        ("31.7.2023.", [Day(2023, 7, 31)]),
        ("2023年7月31日に", [Day(2023, 7, 31)]),
        ("2023年", [Day(2023, None, None)]),
        ("on 31 July, 2023", [Day(2023, 7, 31)]),
        ("the 31st of July 2023", [Day(2023, 7, 31)]),
        ("July 31, 2023", [Day(2023, 7, 31)]),
        ("Sept. 3rd", [Day(None, 9, 3)]),
        ("31 июля 2023 года", [Day(2023, 7, 31)]),
        ("в мае 2023", [Day(2023, 5, None)]),
        ("July 2023", [Day(2023, 7, None)]),
        ("May of 2023", [Day(2023, 5, None)]),
        ("back in June", [Day(None, 6, None)]),
        ("since 2021", [Day(2021, None, None)]),
        ("between 3 May 2022 and June 2023", [Day(2022, 5, 3), Day(2023, 6, None)]),
        ("2023-07", [Day(2023, 7, None)]),
    ],
)
def test_written_dates_are_read(text: str, days: list[Day]) -> None:
    assert list(dates_in(text)) == days


@pytest.mark.parametrize(
    "text",
    [
        "She may march on",
        "June called",
        "07/31/2023",
        "2023-13-01",
        "32 May",
        "order 20231",
        "room 2023",
        "v1.2.2023.4",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert not [day for day in dates_in(text) if day.day is not None or day.year is not None]


def test_a_record_is_found_by_the_day_month_and_year_it_was_observed() -> None:
    held = {term for term, _ in ANALYSER.document("Started a course last week", OBSERVED).counts}
    for query in ("on 31 July 2023", "in July 2023", "in July", "in 2023", "2023年7月31日"):
        asked = [term for term, _ in ANALYSER.query(f"course {query}").weights if term.startswith(DATE)]
        assert asked, query
        assert held.issuperset(asked), query
    for stranger in ("on 30 July 2023", "in August 2023", "in August", "in 2022"):
        asked = [term for term, _ in ANALYSER.query(f"course {stranger}").weights if term.startswith(DATE)]
        assert asked, stranger
        assert not held.issuperset(asked), stranger


def test_the_day_is_that_of_utc_and_counts_once() -> None:
    late = datetime(2023, 7, 31, 23, tzinfo=timezone(timedelta(hours=-3)))
    assert Day.of(late) == Day(2023, 8, 1)
    terms = ANALYSER.document("Moved on 31 July 2023", OBSERVED)
    assert {count for term, count in terms.counts if term.startswith(DATE)} == {1}
    assert terms.length == ANALYSER.document("Moved on 31 July 2023").length


@given(st.dates())
def test_what_is_asked_for_is_filed(observed: date) -> None:
    day = Day(observed.year, observed.month, observed.day)
    assert set(day.asked_for()) <= set(day.filed_under())
    assert set(Day(day.year, day.month, None).asked_for()) <= set(day.filed_under())
    assert set(Day(None, day.month, None).asked_for()) <= set(day.filed_under())
    assert set(Day(day.year, None, None).asked_for()) <= set(day.filed_under())


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text("0123456789-. mayjun年月日", max_size=9)
)
def test_any_text_yields_only_possible_dates(text: str) -> None:
    for day in dates_in(text):
        assert day.month is None or 1 <= day.month <= 12
        assert day.day is None or 1 <= day.day <= 31
        assert day.year is not None or day.month is not None
