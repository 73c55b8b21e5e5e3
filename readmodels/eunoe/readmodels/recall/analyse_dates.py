"""Dates as terms: what a text names, and when a record was observed.

A question asks "in May 2023" or "on 31 July"; the statement says "last week", and its record knows when it was
observed. So a record is also filed under the day, month and year of its observation and of each date its statement
writes out, and a query that names a date asks for the finest it names, and for its month.

Read are ISO 8601 (``2023-07-31``), ``31.07.2023``, ``2023年7月31日``, and English or Russian month names with a day, a
year or a preposition. ``07/31/2023`` is not: which number is the month depends on the reader.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_ENGLISH: Final = "january february march april may june july august september october november december"
_SHORT: Final = "jan feb mar apr may jun jul aug sep oct nov dec"
_RUSSIAN_OF: Final = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
_RUSSIAN_IN: Final = "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре"
_MONTHS: Final = {
    name: number
    for names in (_ENGLISH, _SHORT, _RUSSIAN_OF, _RUSSIAN_IN)
    for number, name in enumerate(names.split(), start=1)
} | {"sept": 9}

_MONTH: Final = "(?P<name>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY: Final = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_BEFORE: Final = r"(?:in|since|during|until|till|by|from|of|last|next|this|early|mid|late|в|с|до|от|по|за)"
_NAMED: Final = "month"
_FORMS: Final = tuple(
    (sign, re.compile(form))
    for sign, form in (
        ("-", rf"(?<!\d){_YEAR}-(?P<month>[01]?\d)(?:-(?P<day>[0-3]?\d))?(?![\d-])"),
        (".", rf"(?<![\w.])(?P<day>[0-3]?\d)\.(?P<month>[01]?\d)\.{_YEAR}(?!\d|\.\d)"),
        ("年", rf"(?<!\d){_YEAR}\s?年(?:\s?(?P<month>[01]?\d)\s?月(?:\s?(?P<day>[0-3]?\d)\s?日)?)?"),
        (_NAMED, rf"(?<!\d){_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?:of\s+)?{_YEAR}\b)?"),
        (_NAMED, rf"\b{_MONTH}\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?"),
        (_NAMED, rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b"),
        (_NAMED, rf"\b{_BEFORE}\s+{_MONTH}(?!\s*\d)"),
        (" ", rf"\b{_BEFORE}\s+{_YEAR}\b(?![-年.]\d)"),
    )
)
"""Each with the sign it needs, most explicit first. A text without the sign is not searched: that is most of them."""
_SOME_YEAR: Final = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Day:
    """A date as far as it is known. Of ``year`` and ``month`` at least one is there; ``day`` only with a month."""

    year: int | None
    month: int | None
    day: int | None

    @classmethod
    def of(cls, instant: datetime) -> "Day":
        """The day of ``instant`` in UTC."""
        at = instant.astimezone(UTC)
        return cls(at.year, at.month, at.day)

    def filed_under(self) -> Iterator[str]:
        """Every term a record of this date is found by, coarse to fine."""
        if self.year is not None:
            yield f"{self.year}"
        if self.month is not None:
            yield f"--{self.month:02}"
        if self.year is not None and self.month is not None:
            yield f"{self.year}-{self.month:02}"
            if self.day is not None:
                yield f"{self.year}-{self.month:02}-{self.day:02}"

    def asked_for(self) -> Iterator[str]:
        """The terms of a query that names this date: its month or year, and the day if the date is whole."""
        if self.month is None or self.year is None:
            yield f"{self.year}" if self.month is None else f"--{self.month:02}"
            return
        yield f"{self.year}-{self.month:02}"
        if self.day is not None:
            yield f"{self.year}-{self.month:02}-{self.day:02}"


def days_in(folded: str, words: Iterable[str]) -> tuple[Day, ...]:
    """The distinct dates written in ``folded`` text (see `analyse_words`), whose segments are ``words``.

    A stretch of text is read once, by the most explicit form that fits. A month without a number needs a preposition
    before it: *may*, *march* and *June* are words and names too.
    """
    named = not _MONTHS.keys().isdisjoint(words)
    if not named and _SOME_YEAR.search(folded) is None:
        return ()
    found: dict[Day, None] = {}
    for sign, form in _FORMS:
        if named if sign is _NAMED else sign in folded:
            folded = form.sub(lambda match: _note(found, match), folded)
    return tuple(found)


def _note(found: dict[Day, None], match: re.Match[str]) -> str:
    """What stays of a stretch: nothing if it was a date."""
    day = _day(match.groupdict())
    if day is None:
        return match[0]
    found[day] = None
    return "\n"


def _day(groups: dict[str, str | None]) -> Day | None:
    """None if the numbers are no date."""
    name, number, day, year = (groups.get(key) for key in ("name", "month", "day", "year"))
    month = _MONTHS[name] if name else int(number) if number else None
    if (month is not None and not 1 <= month <= 12) or (day and not 1 <= int(day) <= 31):
        return None
    return Day(int(year) if year else None, month, int(day) if day else None)
