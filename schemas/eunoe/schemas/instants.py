"""Instants as people read them."""

from datetime import UTC, datetime, timedelta
from typing import Final

LAST: Final = 253_402_300_799_999
"""The end of the year 9999, in ms since the epoch: a later instant has no date of four digits."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def instant(at: int | None) -> str | None:
    """RFC 3339 in UTC, to the millisecond: ``2026-11-30T09:00:00.000Z``.

    One that no calendar of that form has, which whoever writes past the client may store, is its number.
    """
    if at is None:
        return None
    if not 0 <= at <= LAST:
        return str(at)
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
