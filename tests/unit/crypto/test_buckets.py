from datetime import UTC, datetime

import pytest

from eunoe.crypto.buckets import BUCKET_GRACE, bucket_is_over, month_bucket, own_bucket, serves, time_is_over
from eunoe.schemas.ids import Bucket, MemoryId, Millis

MEMORY = MemoryId("01890000-0000-7000-8000-000000000001")


def at(*parts: int) -> Millis:
    return Millis(int(datetime(*parts, tzinfo=UTC).timestamp() * 1000))  # type: ignore[misc, arg-type]  # year, month, …


@pytest.mark.parametrize(
    ("moment", "month"),
    [
        (at(2027, 5, 1), "2027-05"),
        (Millis(at(2027, 6, 1) - 1), "2027-05"),
        (at(2027, 12, 31, 23, 59), "2027-12"),
        (Millis(-1), "1970-01"),
        (Millis(2**63), "9999-12"),
    ],
)
def test_a_bucket_is_the_utc_month_of_expiry(moment: Millis, month: str) -> None:
    assert month_bucket(moment) == month


def test_a_key_serves_its_month_or_its_own_record() -> None:
    assert serves(Bucket("2027-05"), MEMORY, at(2027, 5, 9))
    assert serves(own_bucket(MEMORY), MEMORY, at(2027, 5, 9))
    assert not serves(Bucket("2027-06"), MEMORY, at(2027, 5, 9))
    assert not serves(own_bucket(MemoryId("other")), MEMORY, at(2027, 5, 9))


def test_a_month_is_over_a_day_after_its_end() -> None:
    end = Millis(at(2028, 1, 1) + BUCKET_GRACE)
    assert bucket_is_over(Bucket("2027-12"), end)
    assert not bucket_is_over(Bucket("2027-12"), Millis(end - 1))
    assert time_is_over(at(2027, 12, 3), end)
    assert not time_is_over(at(2027, 12, 3), Millis(end - 1))


def test_a_records_own_bucket_does_not_end_by_its_name() -> None:
    assert not bucket_is_over(own_bucket(MEMORY), at(2999, 1, 1))
