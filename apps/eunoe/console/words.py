"""Figures as people read them. What is not known is called so, never 0 and never NaN."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

UNKNOWN: Final = "unknown"
NONE: Final = "–"
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """A duration with two figures that matter."""
    if value is None:
        return UNKNOWN
    if value < 10:
        return f"{value:.1f} s" if value else "0 s"
    if value < 2 * _MINUTE:
        return f"{value:.0f} s"
    if value < 2 * _HOUR:
        return f"{value / _MINUTE:.0f} min"
    return f"{value / _HOUR:.0f} h" if value < 2 * _DAY else f"{value / _DAY:.0f} days"


def whole_seconds(value: float) -> str:
    """For ages that a page counts up: no tenths that would flicker."""
    return f"{value:.0f} s" if value < 10 else seconds(value)


def ago(now: int, then: int | None) -> str:
    """How long ago the instant ``then`` was (both in ms)."""
    return UNKNOWN if then is None else f"{whole_seconds(max(0, now - then) / 1_000)} ago"


def rate(value: float | None) -> str:
    """So many a second."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0/s"
    return f"{value:,.0f}/s" if value >= 100 else f"{value:.1f}/s" if value >= 0.1 else "under 0.1/s"


def signed(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return "0/s" if abs(value) < 0.05 else f"{value:+,.1f}/s"


def size(value: int) -> str:
    """Bytes."""
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1_024:
            return f"{amount:.0f} {unit}"
        amount /= 1_024
    return f"{amount:.1f} TiB"


def instant(millis: int | None) -> str:
    if millis is None:
        return UNKNOWN
    return datetime.fromtimestamp(millis / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def of_day(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1_000, UTC).strftime("%H:%M:%SZ")


def many(count: int, one: str, more: str | None = None) -> str:
    """``3 letters``, ``1 letter``, ``no letters``."""
    plural = more or f"{one}s"
    return f"{number(count)} {one}" if count == 1 else f"{number(count) if count else 'no'} {plural}"


def named(names: Sequence[str], of: int) -> str:
    """One or two by name, more by their number."""
    return ", ".join(names) if len(names) < 3 else f"{len(names)} of {of}"


def spaced(code: str) -> str:
    """A code of the contract as words: ``untrusted_source``, ``RememberMemory``."""
    parted = "".join(f" {each.lower()}" if each.isupper() else each for each in code).strip()
    return parted.replace("_", " ")
