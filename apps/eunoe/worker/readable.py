"""How long a write takes to become readable, measured by a heartbeat of positions instead of records (ADR 0015). Pure.

At each look the end of ``memory-events`` is a mark: what lies before it was written by now. It is decided when the
ledger's input has passed the mark; the end of ``memory-lifecycle`` seen after that is where its outcome lies at the
latest; it is readable when the read model has passed that. A mark that does not get there ages, whatever stands still.
"""

from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Final

from eunoe.schemas.ids import Partition

Key = tuple[str, Partition]
"""A read model and a partition."""
_MOST: Final = 1_024
"""Marks of one partition; beyond, every second one is forgotten."""


@dataclass(slots=True)
class _Mark:
    at: float
    written: int
    decided: int | None = None


@dataclass(slots=True)
class Readable:
    """``ages``: seconds since the oldest write that is not known to be readable was
    first seen; 0 when all are."""

    _marks: dict[Key, deque[_Mark]] = field(default_factory=dict)
    _ages: dict[Key, float] = field(default_factory=dict)

    @property
    def ages(self) -> Mapping[Key, float]:
        return self._ages

    def look(
        self,
        key: Key,
        now: float,
        input_at: int | None,
        written: int | None,
        decided: int | None,
        projected: int | None,
    ) -> None:
        """``input_at``: the next command to be decided, as told *before* ``decided`` was; ``written`` and ``decided``:
        the ends of the commands and of the facts; ``projected``: the next fact that the read model folds."""
        marks = self._marks.setdefault(key, deque())
        if written is not None and (not marks or marks[-1].written < written):
            marks.append(_Mark(now, written))
            if len(marks) > _MOST:
                self._marks[key] = marks = deque(list(marks)[::2])
        for mark in marks:
            if mark.decided is None and input_at is not None and input_at >= mark.written:
                mark.decided = decided
        while marks and (until := marks[0].decided) is not None and projected is not None and projected >= until:
            marks.popleft()
        self._ages[key] = now - marks[0].at if marks else 0.0

    def keep(self, keys: Container[Key]) -> None:
        """Forget what is not watched any more."""
        for key in [each for each in self._marks if each not in keys]:
            del self._marks[key], self._ages[key]
