"""The figures of deciding: ratios to the faster of two copy loops, and to a Faust agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from eunoe.bench.figures import Bar, Figure, Findings, ratio

ONE_BY_ONE: Final = "copy loop, record by record"
BATCHES: Final = "copy loop, create_batch/send_batch"
MINIMAL: Final = "deciding, minimal rules"
ALL_RULES: Final = "deciding, all rules"
AGENT: Final = "plain Faust agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``records`` in a slice; ``repetitions`` of every contender, after one to warm up; ``agent_records`` for Faust."""

    records: int
    repetitions: int
    agent_records: int
    seed: int


def report(sizes: Sizes, rates: Mapping[str, Sequence[float]], bytes_a_record: float, batch: int) -> Findings:
    faster = max((ONE_BY_ONE, BATCHES), key=lambda name: Figure(name=name, unit="", values=tuple(rates[name])).median)
    minimal = ratio(f"{MINIMAL} / {faster}", rates[MINIMAL], rates[faster])
    whole = ratio(f"{ALL_RULES} / {faster}", rates[ALL_RULES], rates[faster])
    usual = ratio(f"{ALL_RULES} / {ONE_BY_ONE}", rates[ALL_RULES], rates[ONE_BY_ONE])
    agent = ratio(f"{ALL_RULES} / {AGENT}", rates[ALL_RULES], rates[AGENT])
    figures = tuple(Figure(name=name, unit="records/s", values=tuple(values)) for name, values in rates.items())
    return Findings(
        bench="decide",
        sizes={
            "records": sizes.records,
            "repetitions": sizes.repetitions,
            "agent_records": sizes.agent_records,
            "batch": batch,
            "bytes_a_record": round(bytes_a_record),
            "partitions": 1,
            "processes": 1,
            "seed": sizes.seed,
        },
        figures=(*figures, *dict.fromkeys((minimal, whole, usual, agent))),
        bars=(
            _at_least(minimal, 0.35),
            _at_least(whole, 0.25),
            _at_least(agent, 10.0),
        ),
        notes=(
            f"Ratios are to the faster of the two copy loops ({faster}); both are shown.",
            "Every contender reads the same bytes from memory-events, in transactions of the same batch size; the "
            "clock runs from the end of the first batch to the end of the last.",
            "One command in twenty asks for a new subject's keys, which are made, wrapped and written to memory-keys.",
            "Minimal rules: decode, command id looked up in the ledger, accepted as it is, one transaction, ledger "
            "written. No MAC, no opening, no policy.",
            "The Faust agent checks the MAC, reads Redis once, opens, judges with all rules and awaits each send; it "
            "writes no state, which favours it. It runs as a process of its own, on the slice's first records.",
        ),
    )


def _at_least(found: Figure, wanted: float) -> Bar:
    return Bar(name=found.name, found=found.median, wanted=wanted, unit="", side="at least")
