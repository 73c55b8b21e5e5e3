"""The regular expressions of rules run on RE2: linear in the text. A backtracking engine has no such bound, and nobody
can interrupt one.

What the Python side of RE2 does for one search (offsets, match objects) takes 3 to 5 µs; a set of patterns, asked for
the numbers of those that match, about one. So sets say which patterns are worth a search.
"""

from collections.abc import Sequence
from typing import Any, Final

import re2

_MEMORY: Final = 16 << 20
"""Upper bound of the automaton's cache in bytes; over it RE2 starts the cache anew."""


def quiet() -> re2.Options:
    """What patterns are compiled with: RE2 reports to the caller alone, and does not write to standard error."""
    options = re2.Options()
    options.log_errors = False
    return options


class PatternSet:
    """Compiled once; safe to share. Keep sets small: a state of the automaton is a place in each of the patterns."""

    def __init__(self, patterns: Sequence[str]) -> None:
        options = quiet()
        options.max_mem = _MEMORY
        options.never_capture = True
        self._set: Any = re2.Set.SearchSet(options)
        for each in patterns:
            self._set.Add(each)
        self._set.Compile()
        self._match = self._set._set.Match

    def matching(self, data: bytes) -> list[int]:
        """Which patterns match anywhere in the text, which is UTF-8."""
        found: list[int] = self._match(data)
        return found
