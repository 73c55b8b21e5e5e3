"""The figures of the way from publishing to retrieving."""

from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid, percentile

_BAR_MS: Final = 250.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``backlog``: commands to measure the capacity with; then ``seconds`` with ``probes`` a second searched for."""

    backlog: int
    seconds: int
    probes: int
    partitions: int
    seed: int
    words: int = 10


@dataclass(slots=True)
class Measured:
    """``stages``: records per second of each. Times in seconds, from when a command was due. ``late``: how far the
    publisher fell behind at most."""

    stages: dict[str, float] = field(default_factory=dict)
    rate: float = 0.0
    outcomes: list[float] = field(default_factory=list)
    by_token: list[float] = field(default_factory=list)
    by_search: list[float] = field(default_factory=list)
    late: float = 0.0


def report(sizes: Sizes, measured: Measured, workers: int) -> Findings:
    """``workers``: processes that the roles were spread over."""
    series = (
        ("published → outcome known", measured.outcomes),
        ("published → searched with the outcome's token", measured.by_token),
        ("published → brought by a plain search", measured.by_search),
    )
    slowest = min(measured.stages, key=lambda stage: measured.stages[stage])
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, len(values), *(percentile(values, share) * 1_000 for share in (0.5, 0.95, 0.99, 1.0)))
        for name, values in series
    )
    return Findings(
        bench="end-to-end",
        sizes={
            "backlog": sizes.backlog,
            "seconds": sizes.seconds,
            "searched_a_second": sizes.probes,
            "partitions": sizes.partitions,
            "workers": workers,
            "seed": sizes.seed,
        },
        figures=(
            *(
                Figure(name=f"capacity, {stage}", unit="records/s", values=(rate,))
                for stage, rate in measured.stages.items()
            ),
            Figure(name="published", unit="records/s", values=(measured.rate,)),
            Figure(name="publisher behind its schedule at most", unit="ms", values=(measured.late * 1_000,)),
        ),
        bars=tuple(
            Bar(name=f"{name}, p99", found=percentile(values, 0.99) * 1_000, wanted=_BAR_MS, unit="ms", side="at most")
            for name, values in series[1:]
        ),
        grids=(Grid(title="Milliseconds", columns=("", "commands", "p50", "p95", "p99", "longest"), rows=rows),),
        notes=(
            f"The slowest stage is {slowest}: a backlog drained by the workers that `eunoe up` starts here "
            f"({'deciding and projecting in a process each' if workers > 1 else 'one process'}), all stages at once. "
            "Published at half that rate, from another process, which awaits every outcome too.",
            "Times count from when a command was due, not sent. A plain search asks again every 20 ms.",
        ),
    )
