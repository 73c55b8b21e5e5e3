"""The detectors of one process, run one after the other over each candidate, each under the policy's time budget."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import entry_points

from eunoe.detectors.foreign import WARMING_NS, DetectorFailed, ForeignDetector, wall_ns
from eunoe.detectors.protocol import FAILED, GROUP, MARK, Detector, Examined, Redacting, alone
from eunoe.detectors.rule_book import warming_texts
from eunoe.detectors.text import TextDetector
from eunoe.schemas.events import Finding
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Verdict

Nanos = Callable[[], int]


class BadDetector(Exception):
    """An entry point gives no detector. Blame: whoever installed it. ``problem`` says what is wrong with it."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name = name
        self.problem = problem

    def __str__(self) -> str:
        return f"detector {self.name!r}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Detectors:
    """``members`` in the order in which they run. ``nanos`` counts this thread's CPU time in nanoseconds: on a
    machine that is busy with something else nobody is to blame. For one that only waits, ``wall`` counts too, to a
    bound that is far above (`wall_ns`)."""

    members: tuple[Detector, ...]
    nanos: Nanos = time.thread_time_ns
    wall: Nanos = time.monotonic_ns

    def examine(self, examined: Examined, policy: Policy) -> tuple[Finding, ...]:
        """What was found, by detector and class, with the verdict of ``policy``. Never raises, never holds text.

        A detector that raises, names a class it does not have, or takes more than the budget adds a finding `FAILED`,
        which always waits for a person; what it found in time counts all the same.
        """
        found: list[Finding] = []
        budget = policy.detection.budget
        for detector in self.members:
            classes, late = self._asked(detector, examined, budget)
            for rule in sorted(classes or ()):
                verdict = policy.detection.verdict(detector.name, rule)
                found.append(Finding(detector=detector.name, rule=rule, verdict=verdict))
            if late or classes is None:
                found.append(Finding(detector=detector.name, rule=FAILED, verdict=Verdict.QUARANTINE))
        return tuple(found)

    def _asked(self, detector: Detector, examined: Examined, budget_us: int) -> tuple[frozenset[str] | None, bool]:
        """What it found, None if it failed, and whether it took too long."""
        most = wall_ns(budget_us)
        if isinstance(detector, ForeignDetector):
            try:
                classes, took = detector.ask(examined, self.nanos, most)
            except DetectorFailed:
                return None, False
            return (classes if classes <= detector.rules else None), took > budget_us * 1_000
        at = self.wall()
        found = _classes(detector, examined)
        took = self.wall() - at
        if not budget_us * 1_000 < took <= most:
            return found, took > most
        # Longer than the budget by the wall: it, or whatever else the machine did? Asking for CPU time is a call into
        # the kernel, which took a tenth of a look, so it is asked for only now, and the detector once more.
        began = self.nanos()
        found = _classes(detector, examined)
        return found, self.nanos() - began > budget_us * 1_000

    def redact(self, text: str, findings: Iterable[Finding]) -> str:
        """``text`` without the places of the findings whose verdict is ``redact``.

        Where a detector cannot say where, crashes, or still finds something afterwards, all of ``text`` goes.
        """
        wanted: dict[str, set[str]] = {}
        for each in findings:
            if each.verdict is Verdict.REDACT:
                wanted.setdefault(each.detector, set()).add(each.rule)
        for detector in self.members:
            rules = frozenset(wanted.get(detector.name, ()))
            if rules and rules & _found_or_all(detector, alone(text)):
                text = _redacted(detector, text, rules)
        return text

    def clean(self, examined: Examined, findings: Iterable[Finding]) -> bool:
        """Whether nothing of what the findings say is to be redacted is found any more."""
        left = {(each.name, rule) for each in self.members for rule in _found_or_all(each, examined)}
        return not any((each.detector, each.rule) in left for each in findings if each.verdict is Verdict.REDACT)


def load_detectors(names: Iterable[str] | None = None, nanos: Nanos = time.thread_time_ns) -> Detectors:
    """The detectors that installed packages offer as entry points of `GROUP`; only ``names``, where given.

    An entry point is a callable without arguments that makes the detector. Sorted by name. Raises `BadDetector`, and
    what the maker raises: a worker does not start without a detector it should have.
    """
    offered = {each.name: each for each in entry_points(group=GROUP)}
    chosen = sorted(offered if names is None else set(names))
    members: list[Detector] = []
    for name in chosen:
        if name not in offered:
            raise BadDetector(name, f"is not installed; known here: {', '.join(sorted(offered)) or 'none'}")
        made = offered[name].load()()
        if not isinstance(made, Detector) or made.name != name:
            raise BadDetector(name, "its entry point does not make a detector of that name")
        members.append(made if isinstance(made, TextDetector) else ForeignDetector(made))
    if not members:
        raise BadDetector("*", "no detector is installed; nothing would look at what is to be remembered")
    for text in warming_texts():
        for each in members:
            _warmed(each, alone(text))
    return Detectors(tuple(members), nanos)


def _warmed(detector: Detector, examined: Examined) -> None:
    if not isinstance(detector, ForeignDetector):
        _classes(detector, examined)
        return
    with suppress(DetectorFailed):
        detector.ask(examined, lambda: 0, WARMING_NS)


def _classes(detector: Detector, examined: Examined) -> frozenset[str] | None:
    """None: it failed. What it raised may quote the text, so it goes no further."""
    try:
        found = frozenset(detector.examine(examined))
        return found if found <= detector.rules else None
    except Exception:  # noqa: BLE001 - foreign code; whatever is wrong with it, the candidate waits for a person
        return None


def _found_or_all(detector: Detector, examined: Examined) -> frozenset[str]:
    """One that failed may have found anything."""
    found = _classes(detector, examined)
    return detector.rules if found is None else found


def _redacted(detector: Detector, text: str, rules: frozenset[str]) -> str:
    if not isinstance(detector, Redacting):
        return MARK
    try:
        kept = detector.redact(text, rules)
    except Exception:  # noqa: BLE001 - see `_classes`
        return MARK
    return MARK if _found_or_all(detector, alone(kept)) & rules else kept
