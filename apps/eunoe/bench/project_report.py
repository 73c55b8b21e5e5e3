"""The figures of projecting: the rate, its ratio to bare pipelines, calls inside Redis, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.figures import Bar, Figure, Findings, ratio
from eunoe.bench.inside import Calls

PROJECTING: Final = "projecting, from memory-lifecycle to the watermark"
WRITING: Final = "writing alone, one Function call a step"
PIPELINE: Final = "writing alone, one command a posting"
_LONGEST_CALL_MS: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``words`` distinct words in a statement; each is filed as a word and as its first letters."""

    records: int
    repetitions: int
    seed: int
    words: int = 10


@dataclass(slots=True)
class Seen:
    """What each counted repetition showed beside its rate."""

    calls: list[Calls] = field(default_factory=list)
    bytes_a_record: list[float] = field(default_factory=list)
    postings: float = 0.0


def report(sizes: Sizes, rates: Mapping[str, Sequence[float]], seen: Seen, batch: int) -> Findings:
    whole = ratio("projecting / pipeline of single commands", rates[PROJECTING], rates[PIPELINE])
    writing = ratio("writing by Function / pipeline of single commands", rates[WRITING], rates[PIPELINE])
    percentiles = [each.percentiles for each in seen.calls if each.percentiles]
    calls = [
        Figure(
            name=f"a call in Redis, {label}",
            unit="ms",
            values=tuple(each.get(name, 0.0) / 1_000 for each in percentiles),
        )
        for name, label in (("50", "p50"), ("99", "p99"), ("100", "longest"))
        if percentiles
    ]
    mean = Figure(name="a call in Redis, mean", unit="ms", values=tuple(each.mean / 1_000 for each in seen.calls))
    return Findings(
        bench="project",
        sizes={
            "records": sizes.records,
            "repetitions": sizes.repetitions,
            "postings_a_record": round(seen.postings, 1),
            "batch": batch,
            "partitions": 1,
            "seed": sizes.seed,
        },
        figures=(
            *(Figure(name=name, unit="records/s", values=tuple(values)) for name, values in rates.items()),
            whole,
            writing,
            mean,
            *calls,
            Figure(name="bytes in Redis, recall alone", unit="bytes/record", values=tuple(seen.bytes_a_record)),
        ),
        bars=(
            Bar(name=whole.name, found=whole.median, wanted=2.0, unit="", side="at least"),
            Bar(name=writing.name, found=writing.median, wanted=2.0, unit="", side="at least", note="like with like"),
            Bar(
                name="a call in Redis, p99",
                found=calls[1].median if calls else None,
                wanted=_LONGEST_CALL_MS,
                unit="ms",
                side="at most",
                note="" if calls else "this Redis is not ours: its statistics are not reset",
            ),
        ),
        notes=(
            "Projecting reads Kafka, decodes, opens, analyses and blinds; the pipeline writes postings that were made "
            "before. The bar holds this against it. The second ratio compares the writing alone.",
            "Both write the same document, id index, subject set, count and postings of a record; the pipeline keeps "
            "no watermark and takes nothing back.",
            "Bytes: growth of used_memory without clients' buffers, over one generation.",
        ),
    )
