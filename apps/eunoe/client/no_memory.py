"""What an agent gets where memory is off or away: an answer to go on with, and what the policy says to do (B69, B70).

Refusals that are the caller's own (an unknown purpose, a right it does not have) stay errors: going on without memory
would hide them.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from eunoe.client.gate import NO_POLICY, READS_OFF
from eunoe.client.room import Busy
from eunoe.crypto.errors import CryptoWorldError
from eunoe.readmodels.errors import BeingFilled, BeingMoved, NotYet
from eunoe.readmodels.recall.errors import ReadRefused, TooStale
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.runtime.errors import WorldFault

R = TypeVar("R")

AWAY = "store_away"
STALE = "too_stale"
BEHIND = "not_yet"
REBUILDING = "rebuilding"
BUSY = "busy"
_GRACE_S = 0.3
_OFF = frozenset({READS_OFF, NO_POLICY})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMemory:
    """No memory now: *withheld*, which is not the same as nothing found.

    ``reason``: ``reads_off`` or ``no_policy`` (somebody decided so), ``store_away``, ``too_stale``, ``not_yet``,
    ``rebuilding``, ``busy`` (asking again may succeed: ``retryable``). ``fallback``: what the purpose's policy says an
    agent does without memory; None where the policy names none. ``records`` is always empty.
    """

    records: ClassVar[tuple[RecalledMemory, ...]] = ()

    reason: str
    fallback: str | None
    retryable: bool


async def or_no_memory(read: Awaitable[R], fallback: str | None, timeout: float) -> R | NoMemory:
    """``read``, or why there is no memory: after ``timeout`` seconds and a little more. Raises the caller's faults."""
    try:
        # A little more, so that a read which waits for a token can say itself what it waited for.
        async with asyncio.timeout(timeout + _GRACE_S):
            return await read
    except ReadRefused as refused:
        if refused.reason not in _OFF:
            raise
        return NoMemory(reason=refused.reason, fallback=refused.fallback or fallback, retryable=False)
    except (WorldFault, CryptoWorldError, TimeoutError) as away:
        return NoMemory(reason=_reason(away), fallback=fallback, retryable=True)


def _reason(away: Exception) -> str:
    if isinstance(away.__cause__, BeingMoved):  # where its keys are, that is all the same
        return REBUILDING
    match away:
        case BeingFilled() | BeingMoved():
            return REBUILDING
        case TooStale():
            return STALE
        case NotYet():
            return BEHIND
        case Busy():
            return BUSY
        case _:
            return AWAY
