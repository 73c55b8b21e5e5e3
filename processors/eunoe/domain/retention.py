"""How long a record may live, and which data key may serve it: a key is destroyed when the month it serves is over."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from eunoe.domain.known import Refusal
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import Bucket, Millis, is_uuid
from eunoe.schemas.instants import LAST
from eunoe.schemas.policy import KindRule, Policy

_DAY_MS: Final = 86_400_000
_MONTH: Final = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def month_of(at: Millis) -> Bucket:
    """The month of ``at`` in UTC, ``YYYY-MM``. Months of this form sort as text. ``at``: 1970 to 9999."""
    return _month_of_day(at // _DAY_MS)


@lru_cache(maxsize=8_192)
def _month_of_day(day: int) -> Bucket:
    return Bucket((_EPOCH + timedelta(days=day)).strftime("%Y-%m"))


def expiry(draft: Draft, rule: KindRule, now: Millis, tolerance: int) -> Refusal | None:
    """Every record ends, within its kind's maximum (A34, A37).

    A stated TTL must give the instant the client computed from it, as far as the two clocks agree (``tolerance``): an
    instant named outright is measured against the maximum itself.
    """
    at, ttl = draft.expires_at, draft.ttl
    if at <= 0:
        return Refusal(reason=Reason.EXPIRY_MISSING, field="expires_at")
    if ttl is not None and ttl <= 0:
        return Refusal(reason=Reason.INVALID_FIELD, field="ttl")
    if at <= now:
        return Refusal(reason=Reason.EXPIRY_PASSED, field="expires_at")
    if (at - now if ttl is None else ttl) > rule.ttl_max or at > LAST:
        return Refusal(reason=Reason.EXPIRY_TOO_FAR, field="expires_at" if ttl is None else "ttl")
    if ttl is not None and abs(at - now - ttl) > tolerance:
        return Refusal(reason=Reason.EXPIRY_SKEWED, field="expires_at")
    return None


def fitting_bucket(draft: Draft, rule: KindRule, bucket: Bucket) -> Refusal | None:
    """The key serves the record alone, or, where that is not required, the month in which the record ends.

    A record about several people needs a key of its own: any one of them may have it destroyed. So does one that was
    built on others, which is destroyed with them.
    """
    if str(bucket) == draft.memory_id:
        return None
    if draft.about or draft.derived_from or rule.own_bucket or bucket != month_of(draft.expires_at):
        return Refusal(reason=Reason.WRONG_KEY, field="key_id")
    return None


def issuable(bucket: Bucket, now: Millis, policy: Policy) -> Refusal | None:
    """A key may be made for one record (its id), or for a month that is not over and that some kind may reach."""
    if is_uuid(bucket):
        return None
    if _MONTH.fullmatch(bucket) is None:
        return Refusal(reason=Reason.INVALID_FIELD, field="bucket")
    if bucket < month_of(now):
        return Refusal(reason=Reason.EXPIRY_PASSED, field="bucket")
    longest = max((rule.ttl_max for rule in policy.kinds.values()), default=0)
    if bucket > month_of(Millis(min(LAST, now + longest + policy.expiry_tolerance))):
        return Refusal(reason=Reason.EXPIRY_TOO_FAR, field="bucket")
    return None


def day_of(at: Millis) -> Bucket:
    """The day of ``at`` in UTC, ``YYYY-MM-DD``."""
    return Bucket((_EPOCH + timedelta(days=at // _DAY_MS)).strftime("%Y-%m-%d"))


def is_day(bucket: Bucket) -> bool:
    return _DAY.fullmatch(bucket) is not None


def day_at_hand(day: Bucket, now: Millis) -> bool:
    """Whether ``day`` is this one or a neighbour: an asker's clock may be on the other side of midnight."""
    return day in {day_of(Millis(now + each * _DAY_MS)) for each in (-1, 0, 1)}


def still_running(record: MemoryState, now: Millis) -> Refusal | None:
    """A record past its expiry is over, whether or not the sweeper has said so."""
    if now >= record.expires_at:
        return Refusal(reason=Reason.EXPIRY_PASSED, memory_id=record.memory_id)
    return None
