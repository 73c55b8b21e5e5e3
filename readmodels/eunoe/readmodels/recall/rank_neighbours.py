"""A second pass: a record gains from what was remembered just before it on the same occasion.

Facts drawn from one conversation are remembered one after another, and the later ones lean on the earlier: the topic a
query names stands in the first, its detail in the second. So each candidate gains ``share`` of the first-pass score of
the candidate that precedes it on its occasion. An *occasion* is any key that the records of one source event share
(its URI and time of observation, say); a record without one neither gives nor gains, so nothing changes for memories
that come one at a time.

Only first-pass candidates take part, and only first-pass scores are handed on: one look-up per candidate, no chain, no
order dependence, and a record that matches nothing is never pulled in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eunoe.readmodels.recall.explain import Contribution, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``occasion`` is compared for equality only (it may be blinded); ``position`` orders arrival within it: the offset
    of the event that activated the record, say. (Ids of one millisecond are in no order.)"""

    occasion: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """``candidates`` bounds the pass: what ranks below keeps its order behind them."""

    share: float = 0.3
    candidates: int = 100

    def rerank(self, ranked: Sequence[tuple[str, Score]], places: Mapping[str, Place]) -> list[tuple[str, Score]]:
        """``ranked`` (best first) with a ``neighbour`` contribution where one is due, best first again.

        A document without a place keeps its score.
        """
        head = ranked[: self.candidates]
        before = self._before(head, places)
        gained = [
            (identity, score.plus(Contribution(name="neighbour", amount=self.share * before[identity])))
            if identity in before
            else (identity, score)
            for identity, score in head
        ]
        gained.sort(key=lambda pair: (-pair[1].total, pair[0]))
        return [*gained, *ranked[self.candidates :]]

    @staticmethod
    def _before(head: Sequence[tuple[str, Score]], places: Mapping[str, Place]) -> dict[str, float]:
        """For each document that follows another: the total of that other."""
        occasions: dict[str, list[tuple[int, str, float]]] = {}
        for identity, score in head:
            if (place := places.get(identity)) is not None:
                occasions.setdefault(place.occasion, []).append((place.position, identity, score.total))
        before: dict[str, float] = {}
        for members in occasions.values():
            members.sort()
            for (_, _, total), (_, follower, _) in pairwise(members):
                before[follower] = total
        return before
