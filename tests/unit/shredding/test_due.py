"""When keys may be destroyed: past the time for which anybody reads with them, and never at once."""

from datetime import UTC, datetime

import pytest

from eunoe.crypto.buckets import bucket_is_over, month_bucket, time_is_over
from eunoe.processors.shredding.due import MARGIN, day_over, month_over, record_over
from eunoe.schemas.ids import Bucket, Millis
from eunoe.schemas.topics import Topic

HOUR = 3_600_000
DAY = 24 * HOUR


def at(text: str) -> Millis:
    return Millis(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000)


@pytest.mark.parametrize(
    ("month", "following"), [("2027-05", "2027-06-01"), ("2027-12", "2028-01-01"), ("2028-02", "2028-03-01")]
)
def test_a_month_is_over_a_day_and_an_hour_after_its_end(month: str, following: str) -> None:
    assert month_over(Bucket(month)) == at(following) + DAY + MARGIN


@pytest.mark.parametrize("month", ["1970-01", "2027-05", "2027-12"])
def test_readers_hold_a_bucket_closed_before_its_key_goes_even_with_a_late_clock(month: str) -> None:
    due = month_over(Bucket(month))
    assert bucket_is_over(Bucket(month), Millis(due - MARGIN + 1))
    assert not bucket_is_over(Bucket(month), Millis(due - MARGIN - 1))


def test_a_records_own_key_goes_with_the_month_in_which_it_expires() -> None:
    expires = at("2027-05-20T12:00:00")
    assert record_over(expires) == month_over(month_bucket(expires))
    assert time_is_over(expires, Millis(record_over(expires) - MARGIN + 1))


def test_a_days_key_outlives_what_is_sealed_under_it() -> None:
    assert day_over(Bucket("2027-05-31"), Topic.ACCESS) == at("2027-06-01") + 31 * DAY + MARGIN
    assert day_over(Bucket("2027-05-31"), Topic.DEAD_LETTERS) == at("2027-06-01") + 15 * DAY + MARGIN


@pytest.mark.parametrize("text", ["2027-13", "2027-5-1", "", "x"])
def test_what_is_no_month_has_no_end(text: str) -> None:
    with pytest.raises(ValueError, match=r"does not match|unconverted"):
        month_over(Bucket(text))
