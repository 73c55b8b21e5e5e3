"""Durations as people write them: ISO 8601 without years and months, which have no fixed length.

``P180D``, ``P2W``, ``PT15M``, ``P1DT12H``, ``PT0.5S``. Written out here, because the libraries for it accept years and
months (and then need a calendar to give milliseconds) and much else besides.
"""

import re
from typing import Final

_DURATION: Final = re.compile(
    r"P(?=.)(?:(?P<weeks>\d{1,6})W)?(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,8})H)?(?:(?P<minutes>\d{1,8})M)?(?:(?P<seconds>\d{1,9})(?:\.(?P<millis>\d{1,3}))?S)?)?",
    re.ASCII,
)
_MILLIS: Final = {"weeks": 604_800_000, "days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


class BadDuration(ValueError):
    """Not a duration of this form. Blame: caller."""

    def __init__(self) -> None:
        super().__init__("not a duration such as P180D, P2W, PT15M or P1DT12H (years and months have no fixed length)")


def duration_text(millis: int) -> str:
    """The shortest form of so many whole milliseconds in one unit, such as ``P180D``; `duration_millis` reads it."""
    for unit, sign in (("days", "D"), ("hours", "H"), ("minutes", "M"), ("seconds", "S")):
        if millis % _MILLIS[unit] == 0:
            return f"P{'' if sign == 'D' else 'T'}{millis // _MILLIS[unit]}{sign}"
    return f"PT{millis // 1_000}.{millis % 1_000:03}S"


def duration_millis(text: str) -> int:
    """Milliseconds of an ISO 8601 duration; `BadDuration` for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise BadDuration
    whole = sum(int(found[name] or 0) * unit for name, unit in _MILLIS.items())
    return whole + int((found["millis"] or "0").ljust(3, "0"))
