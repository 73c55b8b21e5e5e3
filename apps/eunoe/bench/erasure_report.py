"""The figures of forgetting: from the command to each receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid, percentile
from eunoe.schemas.receipts import BY_ITSELF, Stage

BAR_S: Final = 20.0
_STAGES: Final = BY_ITSELF

Times = Mapping[Stage, Sequence[float]]
"""Seconds from the command to the receipt of each stage: one for each person, where the stage was proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``subjects``: how many are forgotten at once, one size after the other; ``records``: of each."""

    subjects: tuple[int, ...]
    records: int
    repetitions: int
    partitions: int
    seed: int


def report(sizes: Sizes, rounds: Mapping[int, Sequence[Times]], settings: Mapping[str, Cell]) -> Findings:
    """``rounds``: by size, the times of each repetition. ``settings``: what the times follow from, in seconds."""
    return Findings(
        bench="erasure",
        sizes={
            "subjects": ", ".join(map(str, sizes.subjects)),
            "records_each": sizes.records,
            "repetitions": sizes.repetitions,
            "partitions": sizes.partitions,
            "seed": sizes.seed,
            **settings,
        },
        figures=tuple(_figures(rounds)),
        bars=tuple(_bar(number, rounds[number]) for number in sizes.subjects),
        grids=(
            Grid(
                title="Seconds from the command",
                columns=("at once", "stage", "people", "p50", "p95", "longest"),
                rows=tuple(_rows(rounds)),
            ),
        ),
        notes=(
            "All are asked for at the same moment by one client; a person's time ends when a client that looks every "
            "quarter of a second sees the receipt. `logical` waits out the longest lifetime of an opened key in a "
            "reader's memory; what follows waits for Kafka to roll, clean and unlink.",
            "A stage that is not proved (no access to the segment files) counts as not reached.",
        ),
    )


def _figures(rounds: Mapping[int, Sequence[Times]]) -> list[Figure]:
    """The slowest person of each repetition: what has to be promised."""
    found = []
    for number, times in rounds.items():
        for stage in _STAGES:
            slowest = tuple(max(each[stage]) for each in times if len(each[stage]) == number)
            if slowest:
                found.append(Figure(name=f"{number} at once, slowest, {stage.value}", unit="s", values=slowest))
    return found


def _bar(number: int, times: Sequence[Times]) -> Bar:
    reached = [each[Stage.SCANNED] for each in times]
    whole = all(len(each) == number for each in reached)
    return Bar(
        name=f"scanned, {number} at once, slowest of all",
        found=max(map(max, reached)) if whole else None,
        wanted=BAR_S,
        unit="s",
        side="at most",
        note="" if whole else f"proved for {sum(map(len, reached))} of {number * len(reached)}",
    )


def _rows(rounds: Mapping[int, Sequence[Times]]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for number, times in rounds.items():
        for stage in _STAGES:
            values = [each for one in times for each in one[stage]]
            if values:
                rows.append(
                    (number, stage.value, len(values), *(percentile(values, share) for share in (0.5, 0.95, 1.0)))
                )
    return rows
