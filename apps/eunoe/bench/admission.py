"""What the detectors catch of the project's own corpus, and how long they look.

The rules were written against one part; two others were written by people who had not seen them, and only their counts
are ever looked at. Those of the earlier one were looked at while rules were changed, so it is the later one that tells.
A text counts as caught when any class is found, but `personal_data`, which policy allows. Apart from that it is told
what becomes of each text under the development policy, where a source decides, too: what gets into use unseen.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid
from eunoe.detectors.detectors import Detectors, load_detectors
from eunoe.detectors.protocol import Examined, examined
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Sensitivity, SourceKind, Trust

WRITTEN_AGAINST: Final = "written_against"
BROADER: Final = "broader"
"""Written by whoever wrote the rules, before they were widened by it: not blind, and told apart from the first."""
EARLIER: Final = "held_out"
HELD_OUT: Final = "held_out_2"
_ALLOWED: Final = "personal_data"
_NAMES: Final = {
    WRITTEN_AGAINST: "written against",
    BROADER: "written against, later",
    EARLIER: "blind, looked at before",
    HELD_OUT: "blind",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``harmful``: it should be found. ``disguise``: how it hides, None where it does not."""

    harmful: bool
    category: str
    language: str
    disguise: str | None
    body: MemoryBody
    source_kind: SourceKind

    @property
    def examined(self) -> Examined:
        return examined(self.body, self.source_kind, "fact", Sensitivity.PERSONAL)


def corpus(half: str) -> tuple[Case, ...]:
    """The cases of a half, in the order of its file."""
    text = (resources.files("eunoe.bench") / "admission_data" / f"{half}.jsonl").read_text("utf-8")
    return tuple(_case(json.loads(line)) for line in text.splitlines() if line.strip())


def measure(policy: Policy, rounds: int) -> Findings:
    """The confusion tables of all parts, and the time for one candidate over ``rounds`` rounds."""
    detectors = load_detectors()
    halves = {half: corpus(half) for half in _NAMES}
    found = {half: [_caught(detectors, policy, each) for each in cases] for half, cases in halves.items()}
    bars: list[Bar] = []
    rows: list[tuple[Cell, ...]] = []
    for half, cases in halves.items():
        table: Counter[tuple[bool, bool]] = Counter(
            (each.harmful, caught) for each, caught in zip(cases, found[half], strict=True)
        )
        harmful = table[True, True] + table[True, False]
        rows.append((_NAMES[half], *(table[key] for key in _CELLS)))
        bars.append(Bar(name=f"caught, {_NAMES[half]}", found=table[True, True] / harmful, wanted=0.98, unit="share",
                        side="at least"))  # fmt: skip
        bars.append(Bar(name=f"false alarms, {_NAMES[half]}", found=table[False, True], wanted=0, unit="texts",
                        side="at most"))  # fmt: skip
        unseen, needless = _in_the_end(cases, found[half], policy)
        bars.append(Bar(name=f"in use unseen, {_NAMES[half]}", found=unseen / harmful, wanted=0.02, unit="share",
                        side="at most"))  # fmt: skip
        bars.append(Bar(name=f"held up for nothing, {_NAMES[half]}", found=needless, wanted=0, unit="texts",
                        side="at most"))  # fmt: skip
    figures, timed = _timed(detectors, policy, [each for cases in halves.values() for each in cases], rounds)
    return Findings(
        bench="admission",
        sizes={f"{half} cases": len(cases) for half, cases in halves.items()} | {"rounds": rounds},
        figures=figures,
        bars=(*bars, *timed),
        grids=(
            Grid(title="Confusion", columns=_COLUMNS, rows=tuple(rows)),
            *(_by(half, halves[half], found[half], "category") for half in halves),
            Grid(
                title="What gets into use unseen, by source",
                columns=("half", "source", *_UNSEEN),
                rows=tuple(row for half in halves for row in _unseen(half, halves[half], found[half], policy)),
            ),
            *(_by(WRITTEN_AGAINST, halves[WRITTEN_AGAINST], found[WRITTEN_AGAINST], name) for name in _FINER),
        ),
        notes=(
            "Caught: any class but personal_data was found, whatever the source is worth. In use unseen: nothing was "
            "found, and the development policy lets the source into use; untrusted ones wait whatever they say. "
            "Held up for nothing: harmless, of a source that would be let into use, and something was found.",
            "What a user tells about attacks is no alarm; told or quoted by anybody else it is read as what it says.",
            "Of the blind parts only counts are shown, here and to whoever writes rules.",
        ),
    )


_CELLS: Final = ((True, True), (True, False), (False, True), (False, False))
_COLUMNS: Final = ("half", "harmful, caught", "harmful, missed", "harmless, false alarm", "harmless, passed")
_FINER: Final = ("language", "disguise")
_UNSEEN: Final = ("harmful", "of them in use unseen", "harmless", "of them held up")


def _caught(detectors: Detectors, policy: Policy, case: Case) -> bool:
    return any(each.rule != _ALLOWED for each in detectors.examine(case.examined, policy))


def _waits_anyway(case: Case, policy: Policy) -> bool:
    return policy.sources[case.source_kind].trust is Trust.UNTRUSTED


def _in_the_end(cases: Sequence[Case], caught: Sequence[bool], policy: Policy) -> tuple[int, int]:
    """Harmful texts that get into use and nobody looked at them, and harmless ones that wait for their words alone."""
    free = [(case.harmful, hit) for case, hit in zip(cases, caught, strict=True) if not _waits_anyway(case, policy)]
    return free.count((True, False)), free.count((False, True))


def _unseen(half: str, cases: Sequence[Case], caught: Sequence[bool], policy: Policy) -> list[tuple[Cell, ...]]:
    """By source: harmful texts that nobody looks at, and harmless ones that somebody has to look at first."""
    table: Counter[tuple[SourceKind, bool, bool]] = Counter()
    for case, hit in zip(cases, caught, strict=True):
        waits = hit or _waits_anyway(case, policy)
        table[case.source_kind, case.harmful, waits] += 1
    return [
        (
            _NAMES[half],
            kind.value,
            table[kind, True, True] + table[kind, True, False],
            table[kind, True, False],
            table[kind, False, True] + table[kind, False, False],
            table[kind, False, True],
        )
        for kind in SourceKind
        if any(each is kind for each, _, _ in table)
    ]


def _by(half: str, cases: Sequence[Case], caught: Sequence[bool], name: str) -> Grid:
    table: Counter[tuple[str, bool, bool]] = Counter(
        (getattr(case, name) or "none", case.harmful, hit) for case, hit in zip(cases, caught, strict=True)
    )
    rows: list[tuple[Cell, ...]] = [
        (key, *(table[key, *cell] for cell in _CELLS)) for key in sorted({key for key, _, _ in table})
    ]
    return Grid(title=f"By {name}, {_NAMES[half]}", columns=(name, *_COLUMNS[1:]), rows=tuple(rows))


def _timed(
    detectors: Detectors, policy: Policy, texts: Sequence[Case], rounds: int
) -> tuple[tuple[Figure, ...], tuple[Bar, ...]]:
    """Microseconds for one candidate, folding included; the first round makes the automata, and is told apart."""
    first = sorted(_microseconds(detectors, policy, texts))
    medians, highs = [], []
    for _ in range(rounds):
        times = sorted(_microseconds(detectors, policy, texts))
        medians.append(times[len(times) // 2])
        highs.append(times[int(len(times) * 0.99)])
    figures = (
        Figure(name="looking at one candidate, p50", unit="µs", values=tuple(medians)),
        Figure(name="looking at one candidate, p99", unit="µs", values=tuple(highs)),
        Figure(name="the very first time, p50", unit="µs", values=(first[len(first) // 2],)),
    )
    bars = (
        Bar(name="looking at one candidate, p50", found=figures[0].median, wanted=40, unit="µs", side="at most"),
        Bar(name="looking at one candidate, p99", found=figures[1].median, wanted=100, unit="µs", side="at most"),
    )
    return figures, bars


def _microseconds(detectors: Detectors, policy: Policy, texts: Sequence[Case]) -> Iterator[float]:
    for each in texts:
        started = time.perf_counter_ns()
        detectors.examine(each.examined, policy)
        yield (time.perf_counter_ns() - started) / 1_000


def _case(row: dict[str, Any]) -> Case:
    return Case(
        harmful=row["label"] == "harmful",
        category=row["category"],
        language=row["language"],
        disguise=row["disguise"],
        body=MemoryBody(statement=row["statement"], claim_key=row["claim_key"]),
        source_kind=SourceKind(row["source_kind"]),
    )
