"""When the time of a key is over, and some time past that: destroying too late costs an hour, too early a record."""

from datetime import UTC, datetime, timedelta
from typing import Final

from eunoe.crypto.buckets import BUCKET_GRACE, month_bucket
from eunoe.schemas.ids import Bucket, Millis
from eunoe.schemas.topics import SPECS, Topic

MARGIN: Final = 3_600_000
"""Past the grace for which readers hold a bucket open: a reader whose clock is late by less calls an expired text
erased before its key is gone, never unknown. Far above the tolerance of ``expires_at`` (five minutes)."""
_LAST_YEAR: Final = 9999


def month_over(bucket: Bucket) -> Millis:
    """When the key of a month (``2027-05``) may be destroyed. Raises ValueError for what is no month."""
    month = datetime.strptime(bucket, "%Y-%m").replace(tzinfo=UTC)
    if (month.year, month.month) == (_LAST_YEAR, 12):
        return Millis(_millis(month) + 31 * 86_400_000 + BUCKET_GRACE + MARGIN)
    following = (month + timedelta(days=31)).replace(day=1)
    return Millis(_millis(following) + BUCKET_GRACE + MARGIN)


def record_over(expires_at: Millis) -> Millis:
    """When the key of a record that expires then may be destroyed, whatever became of it: as its month's."""
    return month_over(month_bucket(expires_at))


def day_over(day: Bucket, topic: Topic) -> Millis:
    """When the key of a day (``2027-05-31``), under which ``topic`` is sealed, outlives what it opens.

    Raises ValueError for what is no day.
    """
    start = _millis(datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC))
    kept = int(SPECS[topic].config["retention.ms"])
    return Millis(start + 86_400_000 + kept + BUCKET_GRACE + MARGIN)


def _millis(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000
