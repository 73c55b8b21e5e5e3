"""What a window of samples says of one consumer: pure, in the manner of Burrow.

A single number says little: a lag of 10,000 that shrinks is fine, one of 3 that nobody works on is not. So a partition
is judged by how its position and the end of its topic moved over a window, and every verdict has its reason in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

_SETTLED_S: Final = 0.5
"""Two samples closer than this say nothing of movement."""


class LagStatus(StrEnum):
    """From fine to worst, as `worst` orders them."""

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    REWINDING = "rewinding"
    STALLED = "stalled"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Sample:
    """``at``: seconds of a clock that never steps. ``position``: the next offset to be worked on, None where nobody
    ever said; ``end``: the first offset that a reader of committed records cannot see yet."""

    at: float
    position: int | None
    end: int

    @property
    def offsets(self) -> int | None:
        return None if self.position is None else max(0, self.end - self.position)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``trend``: offsets a second by which the lag changes, negative when it shrinks; ``eta``: seconds until it is
    gone at that rate; ``progress_age``: seconds since the position was last seen to move. None: not known."""

    status: LagStatus
    reason: str
    trend: float | None = None
    eta: float | None = None
    progress_age: float | None = None


def judge(window: Sequence[Sample], owned: bool | None) -> Verdict:
    """The verdict on ``window`` (oldest first, at least one sample).

    ``owned``: whether a live member of the group has the partition; None where nobody could be asked.
    """
    last = window[-1]
    if last.position is None or last.offsets is None:
        return Verdict(LagStatus.UNKNOWN, "no position was ever recorded" + ("" if owned else ", and nobody owns it"))
    known = [each for each in window if each.position is not None]
    trend, eta = _trend(known)
    age = _progress_age(known)
    if any(later.position < earlier.position for earlier, later in _pairs(known)):  # type: ignore[operator]
        return Verdict(LagStatus.REWINDING, "the position went back: it reads again what it had read", trend, eta, age)
    if last.offsets == 0:
        if owned is False:
            return Verdict(LagStatus.WARNING, "caught up, but nobody owns it", trend, 0.0, age)
        return Verdict(LagStatus.OK, "caught up", trend, 0.0, age)
    moved = known[-1].position != known[0].position
    if owned is False and known[-1].position == known[-2 if len(known) > 1 else -1].position:
        return Verdict(LagStatus.STOPPED, "records wait and nobody owns it", trend, None, age)
    if any(each.offsets == 0 for each in known):
        return Verdict(LagStatus.OK, "was caught up within the window", trend, eta, age)
    if last.at - known[0].at < _SETTLED_S:
        return Verdict(LagStatus.UNKNOWN, "looked at once: records wait, movement is not known yet", None, None, None)
    if not moved:
        return Verdict(LagStatus.STALLED, "records wait and the position does not move", trend, None, age)
    if all((later.offsets or 0) > (earlier.offsets or 0) for earlier, later in _pairs(known)):
        return Verdict(LagStatus.WARNING, "works, and the lag grows: more comes than is done", trend, None, age)
    return Verdict(LagStatus.OK, "works, and the lag does not grow", trend, eta, age)


def worst(statuses: Sequence[LagStatus]) -> LagStatus:
    order = list(LagStatus)
    return max(statuses, key=order.index, default=LagStatus.UNKNOWN)


def _pairs(window: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    return list(pairwise(window))


def _trend(window: Sequence[Sample]) -> tuple[float | None, float | None]:
    first, last = window[0], window[-1]
    seconds = last.at - first.at
    if seconds < _SETTLED_S or first.offsets is None or last.offsets is None:
        return None, None
    trend = (last.offsets - first.offsets) / seconds
    return trend, (last.offsets / -trend if trend < 0 else None)


def _progress_age(window: Sequence[Sample]) -> float | None:
    last = window[-1]
    for earlier, later in reversed(_pairs(window)):
        if later.position != earlier.position:
            return last.at - later.at
    return None
