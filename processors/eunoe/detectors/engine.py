"""Many patterns, one pass: a set of RE2 patterns. RE2 is linear in the text; a backtracking engine has no such bound.

A DFA state of a set is (position in the patterns, patterns already matched), so one set of all meanings keeps making
states for as long as texts differ. Sets of two do not. Measured with 29 patterns over texts of 20 unseen words: one set
47 to 134 µs a text, sets of two 18 to 24 µs, single ones 29 to 39 µs (medians).
"""

from collections.abc import Sequence
from typing import Any, Final

import re2

_TOGETHER: Final = 2
_MEMORY: Final = 16 << 20
"""Upper bound of the automaton's cache in bytes; over it RE2 starts the cache anew."""


class BadPattern(ValueError):
    """RE2 does not take it."""


class PatternSet:
    """Compiled once; safe to share."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._sets = tuple(
            (at, _compiled(patterns[at : at + _TOGETHER])._set.Match) for at in range(0, len(patterns), _TOGETHER)
        )

    def matching(self, text: str) -> int:
        """The patterns that match anywhere, as bits: bit i is pattern i."""
        mask, data = 0, text.encode("utf-8", "replace")
        for first, match in self._sets:
            for each in match(data):
                mask |= 1 << (first + each)
        return mask


def _compiled(patterns: Sequence[str]) -> Any:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    options.never_capture = True
    found = re2.Set.SearchSet(options)
    for each in patterns:
        try:
            found.Add(each)
        except re2.error as error:
            raise BadPattern(each) from error
    found.Compile()
    return found
