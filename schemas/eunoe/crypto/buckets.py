"""Buckets: which data key serves which record, and when its time is over.

A data key serves the records of one subject that expire in one month (UTC, ``2027-05``), and is destroyed when that
month is over. A record about several people, or of a kind that policy marks, has a bucket of its own: its memory id.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from eunoe.schemas.ids import Bucket, MemoryId, Millis

BUCKET_GRACE: Final = 86_400_000
"""Milliseconds after its month for which a bucket still counts as open: a clock an hour ahead closes nothing early."""

_MONTH: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z


def month_bucket(expires_at: Millis) -> Bucket:
    """The month in which ``expires_at`` lies, in UTC; what is before 1970 or after 9999 counts as the nearest month."""
    return _month_of_day(min(max(expires_at, 0), _LAST) // 86_400_000)


@lru_cache(maxsize=4096)
def _month_of_day(days: int) -> Bucket:
    moment = _EPOCH + timedelta(days=days)
    return Bucket(f"{moment.year}-{moment.month:02d}")


def own_bucket(memory_id: MemoryId) -> Bucket:
    """The bucket of one record alone."""
    return Bucket(memory_id)


def serves(bucket: Bucket, memory_id: MemoryId, expires_at: Millis) -> bool:
    """Whether a data key of ``bucket`` may seal this record."""
    return bucket in (month_bucket(expires_at), memory_id)


def bucket_is_over(bucket: Bucket, now: Millis) -> bool:
    """Whether a month ended more than :data:`BUCKET_GRACE` ago; a record's own bucket does not end by its name."""
    return _MONTH.fullmatch(bucket) is not None and bucket < month_bucket(Millis(now - BUCKET_GRACE))


def time_is_over(expires_at: Millis, now: Millis) -> bool:
    """Whether what expires at ``expires_at`` counts as erased: its month is over. True of own buckets too."""
    return expires_at < now and month_bucket(expires_at) < month_bucket(Millis(now - BUCKET_GRACE))
