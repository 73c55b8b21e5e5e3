"""LoCoMo's figures: evidence recall and any-hit side by side, and whether we are ahead by more than chance."""

from collections.abc import Sequence
from typing import Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid
from eunoe.bench.locomo import BASELINE, DEFAULT, DEPTHS, Run
from eunoe.bench.locomo_data import CHOSEN_ON, HELD_OUT, Conversation
from eunoe.bench.statistics import Paired, paired_bootstrap

PUBLISHED: Final = 0.579
"""BM25's evidence recall@10 over five conversations, as DESIGN §11 has it."""
_DEPTH: Final = 10


def report(conversations: Sequence[Conversation], runs: Sequence[Run], figures: Sequence[Figure]) -> Findings:
    names = tuple(each.name for each in conversations)
    groups = _groups(names)
    ours, theirs = _named(runs, DEFAULT), _named(runs, BASELINE)
    tests = [(title, paired_bootstrap(ours.recalls(_DEPTH, g), theirs.recalls(_DEPTH, g))) for title, g in groups]
    whole = tests[-1][1]
    recall = _mean(ours.recalls(_DEPTH, names))
    baseline = _mean(theirs.recalls(_DEPTH, names))
    bars = [
        Bar(
            name="evidence recall@10 ahead of bm25s in this run, lower bound of the 95 % interval",
            found=whole.low,
            wanted=0.0,
            unit="",
            side="more than",
            note=f"recall {recall:.3f} against {baseline:.3f}",
        )
    ]
    if set(names) == set(CHOSEN_ON + HELD_OUT):
        bars.append(Bar(name="evidence recall@10", found=recall, wanted=PUBLISHED, unit="(BM25)", side="more than"))
    return Findings(
        bench="locomo",
        sizes={
            "conversations": len(names),
            "observations": sum(len(each.observations) for each in conversations),
            "questions": sum(len(each.questions) for each in conversations),
        },
        figures=tuple(figures),
        bars=tuple(bars),
        grids=(_quality(groups, runs), _paired(tests, runs, groups)),
        notes=(
            "Ranking settings were chosen on conversations 26, 30 and 41; 42 and 43 are held out.",
            "Every record went through memory-events, decider, memory-lifecycle and recall; naive times taken as UTC.",
            "Search times include opening 20 bodies, with the workers' idle lanes in the same process.",
        ),
    )


def _groups(names: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Chosen on, held out, all: those of them that are more than nothing, the whole last."""
    groups = []
    for title, members in (("chosen on", CHOSEN_ON), ("held out", HELD_OUT)):
        present = tuple(each for each in names if each in members)
        if present and len(present) < len(names):
            groups.append((f"{len(present)}, {title}", present))
    return [*groups, (f"all {len(names)}", tuple(names))]


def _quality(groups: Sequence[tuple[str, tuple[str, ...]]], runs: Sequence[Run]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for title, members in groups:
        for depth in DEPTHS:
            cells = []
            for run in runs:
                recalls = run.recalls(depth, members)
                cells.append(f"{_mean(recalls):.3f} / {_mean([float(each > 0) for each in recalls]):.3f}")
            rows.append((f"{title} ({len(recalls)} questions)", depth, *cells))
    columns = ("conversations", "k", *(run.name for run in runs))
    return Grid(title="Evidence recall / any-hit", columns=columns, rows=tuple(rows))


def _paired(
    tests: Sequence[tuple[str, Paired]], runs: Sequence[Run], groups: Sequence[tuple[str, tuple[str, ...]]]
) -> Grid:
    rows: list[tuple[Cell, ...]] = [(DEFAULT, title, *_cells(paired)) for title, paired in tests]
    theirs = _named(runs, BASELINE)
    for run in runs:
        if run.name not in (DEFAULT, BASELINE):
            rows += [
                (run.name, title, *_cells(paired_bootstrap(run.recalls(_DEPTH, g), theirs.recalls(_DEPTH, g))))
                for title, g in groups
            ]
    return Grid(
        title="Ahead of bm25s in evidence recall@10: paired bootstrap over questions, 10,000 resamples, 95 %",
        columns=("ranking", "conversations", "ahead by", "interval", "p", "pairs"),
        rows=tuple(rows),
    )


def _cells(paired: Paired) -> tuple[Cell, ...]:
    return f"{paired.mean:+.3f}", f"{paired.low:+.3f} … {paired.high:+.3f}", f"{paired.p:.4f}", paired.pairs


def _named(runs: Sequence[Run], name: str) -> Run:
    return next(run for run in runs if run.name == name)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
