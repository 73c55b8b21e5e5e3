"""The figures of rebuilding: rates and their ratios, memory, and what a search notices."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid, percentile, ratio
from eunoe.bench.lifecycle_events import LifecycleEvents

_MIB: Final = 1 << 20
_FLAT: Final = 1.1
_LINEAR: Final = 0.8
_NOTES: Final = (
    "All contenders read the same log from its start, each in a process of its own with all partitions side by side: "
    "live projecting fills the generation that serves, in a worker's batches; the rebuild fills another one beside it, "
    "in its own; the bare read is a consumer that looks at nothing. Each rate counts from the first fetch to the last "
    "watermark; proving and switching are timed apart.",
    "Ten searches a second, of tenants by their size, are asked from another process before the rebuild of recall "
    "and all through its filling, timed from when each was due. So the rebuild is measured with them, live projecting "
    "without.",
    "Rested: seconds of filling that the rebuild gave away because Redis answered slowly, as `eunoe rebuild` does "
    "without options; they count in its rate. On a busy machine that is much of it.",
    "Keys are derived in each process and never asked of Redis: the same for live and rebuild.",
    "Flat: the resident memory of the rebuilding process with everything folded is at most 1.1 times that with half of "
    "it. Linear: the rate at the largest size is at least 0.8 of that at the smallest; a record more makes a posting "
    "list longer, which costs a little.",
    "Bytes in Redis: growth of used_memory without clients' buffers over filling, by what counts in the digest, which "
    "is a record for recall and an entry for history.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``events``: in memory-lifecycle, rising. ``searches``: before the rebuild."""

    events: tuple[int, ...]
    repetitions: int
    searches: int
    partitions: int
    seed: int

    @property
    def tenants(self) -> int:
        """A thousand, or one for every hundred facts of the smallest size."""
        return max(2, min(1_000, self.events[0] // 100))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """One model. Rates in facts a second; ``rested_s`` of the filling were spent
    resting. ``resident`` in bytes, see `rebuild_process.Memory`; ``before`` and
    ``during`` in seconds a search, empty where none was asked."""

    live: float
    rebuilt: float
    rested_s: float
    prove_s: float
    switch_s: float
    items: int
    found: int
    redis_bytes: int
    resident: Mapping[str, int]
    before: Sequence[float] = ()
    during: Sequence[float] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """``read``: the bare consumer, facts a second."""

    events: int
    read: float
    models: Mapping[str, Filled] = field(default_factory=dict)


def report(sizes: Sizes, rounds: Sequence[Round], made: LifecycleEvents, bytes_written: int, batch: int) -> Findings:
    by_size = {size: [each for each in rounds if each.events == size] for size in sizes.events}
    names = tuple(rounds[0].models)
    return Findings(
        bench="rebuild",
        sizes={
            "events": " and ".join(f"{each:,}" for each in sizes.events),
            "repetitions": sizes.repetitions,
            "tenants": sizes.tenants,
            "superseded": made.superseded,
            "expired": made.expired,
            "people_forgotten": made.forgotten,
            "bytes_a_fact": round(bytes_written / made.made),
            "live_batch": batch,
            "partitions": sizes.partitions,
            "seed": sizes.seed,
        },
        figures=tuple(figure for size, some in by_size.items() for figure in _figures(size, some, names)),
        bars=tuple(bar for name in names for bar in _bars(name, by_size)),
        grids=(_memory(by_size, names),),
        notes=_NOTES,
    )


def _figures(size: int, rounds: Sequence[Round], names: Sequence[str]) -> Iterable[Figure]:
    yield Figure(name=f"{size:,}, bare read", unit="facts/s", values=tuple(each.read for each in rounds))
    for name in names:
        some, at = _of(rounds, name), f"{size:,}, {name}"
        live, rebuilt = [each.live for each in some], [each.rebuilt for each in some]
        yield Figure(name=f"{at}, live projecting", unit="facts/s", values=tuple(live))
        yield Figure(name=f"{at}, rebuild, filling", unit="facts/s", values=tuple(rebuilt))
        yield ratio(f"{at}, rebuild / live", rebuilt, live)
        yield ratio(f"{at}, rebuild / bare read", rebuilt, [each.read for each in rounds])
        yield Figure(name=f"{at}, proving", unit="s", values=tuple(each.prove_s for each in some))
        yield Figure(name=f"{at}, switching", unit="s", values=tuple(each.switch_s for each in some))
        for label, share in (("p50", 0.5), ("p99", 0.99)):
            for when, values in (("before", [each.before for each in some]), ("while", [each.during for each in some])):
                if all(values):
                    seconds = tuple(percentile(each, share) * 1_000 for each in values)
                    yield Figure(name=f"{at}, search {label} {when} it is rebuilt", unit="ms", values=seconds)


def _bars(name: str, by_size: Mapping[int, Sequence[Round]]) -> Iterable[Bar]:
    for size, rounds in by_size.items():
        some = _of(rounds, name)
        yield Bar(
            name=f"{size:,}, {name}, rebuild / live",
            found=statistics.median(each.rebuilt / each.live for each in some),
            wanted=1.0,
            unit="",
            side="at least",
        )
        yield Bar(
            name=f"{size:,}, {name}, memory with all / with half of it folded",
            found=statistics.median(each.resident["end"] / each.resident["middle"] for each in some),
            wanted=_FLAT,
            unit="",
            side="at most",
        )
    first, *_, last = by_size.values() if len(by_size) > 1 else (*by_size.values(), ())
    yield Bar(
        name=f"{name}, rate at the largest size / at the smallest",
        found=_rate(last, name) / _rate(first, name) if last else None,
        wanted=_LINEAR,
        unit="",
        side="at least",
        note="" if last else "only one size was asked for",
    )


def _rate(rounds: Sequence[Round], name: str) -> float:
    return statistics.median(each.rebuilt for each in _of(rounds, name))


def _of(rounds: Sequence[Round], name: str) -> list[Filled]:
    return [each.models[name] for each in rounds]


def _memory(by_size: Mapping[int, Sequence[Round]], names: Sequence[str]) -> Grid:
    rows: list[tuple[Cell, ...]] = []
    for size, rounds in by_size.items():
        for name in names:
            some = _of(rounds, name)
            held = (statistics.median(each.resident[at] for each in some) for at in ("start", "quarter", "middle"))
            ends = (statistics.median(each.resident[at] for each in some) for at in ("end", "most"))
            sizes = [round(each / _MIB) for each in (*held, *ends)]
            a_record = round(statistics.median(each.redis_bytes / each.items for each in some))
            rows.append((f"{size:,}, {name}", some[0].items, a_record, some[0].rested_s, *sizes, some[0].found))
    columns = (
        "facts",
        "items",
        "bytes in Redis an item",
        "rested (s)",
        "start",
        "quarter",
        "half",
        "end",
        "most",
        "found by words",
    )
    return Grid(
        title="What a generation takes, and the rebuilding process (MiB resident)", columns=columns, rows=tuple(rows)
    )
