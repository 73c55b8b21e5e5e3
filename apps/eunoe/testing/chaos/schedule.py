"""Which fault when: a pure function of a seed and a length. The same seed gives the same schedule, always.

Every track draws its faults from a shuffled deck and shuffles again when it is empty, so no kind is left out for long
and none comes twice before the others of its track have come once, as far as the length allows.
"""

import random
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from eunoe.testing.chaos.faults import RULES, Kind, Track

_FIRST_S: Final = 2.0
_TIES: Final = 1 << 30


class Fault(Struct, frozen=True, kw_only=True):
    """``at``: seconds after the load began; ``seconds``: how long it lasts. ``draw``: for what a fault chooses itself
    (which worker, how slow), so that it is the same with the same seed."""

    at: float
    kind: Kind
    seconds: float
    draw: int

    @property
    def track(self) -> Track:
        return RULES[self.kind].track


def schedule(seed: int, length: float) -> tuple[Fault, ...]:
    """All faults of ``length`` seconds, by time. A fault that would not have had its rest by then is left out."""
    found = [fault for track in Track for fault in _of(track, random.Random(f"{seed}/{track}"), length)]
    return tuple(sorted(found, key=lambda each: (each.at, each.kind)))


def _of(track: Track, dice: random.Random, length: float) -> Iterator[Fault]:
    at = _FIRST_S + 3 * dice.random()
    for kind in _deck(track, dice):
        rule = RULES[kind]
        seconds = round(dice.uniform(rule.least, rule.most), 1)
        draw = dice.randrange(_TIES)
        if at + seconds + rule.rest > length:
            return
        yield Fault(at=round(at, 1), kind=kind, seconds=seconds, draw=draw)
        at += seconds + rule.rest + 2 * dice.random()


def _deck(track: Track, dice: random.Random) -> Iterator[Kind]:
    kinds = [kind for kind, rule in RULES.items() if rule.track is track]
    while True:
        dice.shuffle(kinds)
        yield from kinds
