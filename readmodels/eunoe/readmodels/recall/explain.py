"""A score that says what it is made of: named contributions whose sum is the score, to the last bit."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Contribution:
    """What one cause added. ``name`` is ``term:…``, ``feedback:…``, ``confidence``, ``recency`` or ``neighbour``.

    A term's name holds a word of the memory: it goes to the caller who may read that memory, never to a log.
    """

    name: str
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """``total == math.fsum(amounts)`` exactly: fsum is rounded once, so no order of adding changes it."""

    total: float
    contributions: tuple[Contribution, ...]

    @classmethod
    def of(cls, contributions: Iterable[Contribution]) -> "Score":
        """The score made of these; what added nothing is left out."""
        kept = tuple(part for part in contributions if part.amount != 0.0)
        return cls(total=math.fsum(part.amount for part in kept), contributions=kept)

    def plus(self, *more: Contribution) -> "Score":
        """This score with further causes."""
        return Score.of((*self.contributions, *more))

    @property
    def causes(self) -> tuple[str, ...]:
        """Codes of what it is made of, largest first: ``term``, ``feedback``, ``neighbour``, ``confidence``,
        ``recency``. No word of the memory is in them."""
        return tuple(dict.fromkeys(part.name.partition(":")[0] for part in self.largest_first()))

    def largest_first(self) -> tuple[Contribution, ...]:
        """For people: the contributions by falling size, equal ones by name."""
        return tuple(sorted(self.contributions, key=lambda part: (-abs(part.amount), part.name)))
