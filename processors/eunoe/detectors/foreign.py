"""A detector that somebody else wrote, asked in a thread of its own: one that blocks may not hold a partition.

A thread cannot be stopped, so a detector that did not answer by its deadline is not asked again by this process; its
thread is left to itself and dies with the process. Until then every candidate waits for a person.
"""

import logging
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Final

from eunoe.detectors.protocol import MARK, Detector, Examined, Redacting

LEAST_WALL_NS: Final = 50_000_000
WALL_FACTOR: Final = 20
"""Wall time that a detector may take, in budgets of CPU time, but never less than `LEAST_WALL_NS`."""
WARMING_NS: Final = 10_000_000_000
_LOG: Final = logging.getLogger(__name__)

Nanos = Callable[[], int]
_Work = Callable[[], object]


class DetectorFailed(Exception):
    """It raised, or did not answer in time now or before. Says nothing of the text."""


def wall_ns(budget_us: int) -> int:
    """The deadline in nanoseconds for a budget in microseconds."""
    return max(LEAST_WALL_NS, budget_us * 1_000 * WALL_FACTOR)


class ForeignDetector:
    """Has the shape of `Redacting`; safe to share between threads, of which one at a time is answered."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self.name = detector.name
        self.rules = frozenset(detector.rules)
        self._lock = Lock()
        self._work: SimpleQueue[_Work] = SimpleQueue()
        self._done: SimpleQueue[object] = SimpleQueue()
        self._started = self._stuck = False

    def examine(self, examined: Examined) -> frozenset[str]:
        """Raises `DetectorFailed`."""
        return self.ask(examined, lambda: 0, LEAST_WALL_NS)[0]

    def ask(self, examined: Examined, nanos: Nanos, wall: int) -> tuple[frozenset[str], int]:
        """Classes, and what ``nanos`` counted in the detector's thread. ``wall``: nanoseconds to wait, at most.

        Raises `DetectorFailed`.
        """

        def asked() -> tuple[frozenset[str], int]:
            began = nanos()
            found: Iterable[str] = self._detector.examine(examined)
            return frozenset(found), nanos() - began

        answer = self._run(asked, wall)
        if not isinstance(answer, tuple):
            raise DetectorFailed
        return answer

    def redact(self, text: str, rules: frozenset[str]) -> str:
        """All of the text goes where the detector cannot say where. Raises `DetectorFailed`."""
        detector = self._detector
        if not isinstance(detector, Redacting):
            return MARK
        kept = self._run(lambda: detector.redact(text, rules), LEAST_WALL_NS)
        if not isinstance(kept, str):
            raise DetectorFailed
        return kept

    def _run(self, work: _Work, wall: int) -> object:
        with self._lock:
            if self._stuck:
                raise DetectorFailed
            if not self._started:
                Thread(target=_serve, args=(self._work, self._done), name="foreign-detector", daemon=True).start()
                self._started = True
            self._work.put(work)
            try:
                return self._done.get(timeout=wall / 1e9)
            except Empty:
                self._stuck = True
                _LOG.error("detector %s did not answer in time and is not asked again until a restart", self.name)
                raise DetectorFailed from None


def _serve(work: SimpleQueue[_Work], done: SimpleQueue[object]) -> None:
    while True:
        try:
            answer = work.get()()
        except BaseException:  # noqa: BLE001 - foreign code; not even its SystemExit ends the worker or this thread
            answer = None
        done.put(answer)
