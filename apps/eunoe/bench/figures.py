"""What a benchmark found: raw figures, the bars of DESIGN §11 beside them, and the machine they were taken on."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One thing measured several times. ``values`` in the order they were taken, in ``unit``; never empty."""

    name: str
    unit: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "unit": self.unit,
            "median": self.median,
            "low": min(self.values),
            "high": max(self.values),
            "values": list(self.values),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What must be reached. ``found`` None: not measured, which counts as not met; ``note`` says why."""

    name: str
    found: float | None
    wanted: float
    unit: str
    side: Literal["at least", "at most", "more than"]
    note: str = ""

    @property
    def met(self) -> bool:
        if self.found is None:
            return False
        match self.side:
            case "at least":
                return self.found >= self.wanted
            case "at most":
                return self.found <= self.wanted
            case "more than":
                return self.found > self.wanted

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "found": self.found,
            "side": self.side,
            "wanted": self.wanted,
            "unit": self.unit,
            "met": self.met,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of its own, where figures have more than one dimension."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def document(self) -> dict[str, Any]:
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The whole of one benchmark. ``sizes``: what was asked for; ``notes``: what a reader must know to believe it."""

    bench: str
    sizes: Mapping[str, Cell]
    figures: tuple[Figure, ...] = ()
    bars: tuple[Bar, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()

    def document(self, machine: Mapping[str, Cell]) -> dict[str, Any]:
        return {
            "bench": self.bench,
            "machine": dict(machine),
            "sizes": dict(self.sizes),
            "figures": [each.document() for each in self.figures],
            "bars": [each.document() for each in self.bars],
            "grids": [each.document() for each in self.grids],
            "notes": list(self.notes),
        }


def ratio(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Figure:
    """Ours by theirs, repetition by repetition: each pair ran one after the other, under much the same load."""
    return Figure(name=name, unit="ratio", values=tuple(a / b for a, b in zip(ours, theirs, strict=True)))


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least ``share`` (0, 1] of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered or not 0 < share <= 1:
        raise ValueError(f"no percentile {share} of {len(ordered)} values")
    rank = -(-len(ordered) * round(share * 10_000) // 10_000)
    return ordered[max(0, rank - 1)]
