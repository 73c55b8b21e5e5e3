"""The figures of projecting: the rate, its ratio to bare pipelines, calls inside Redis, and memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.figures import Bar, Figure, Findings, ratio
from eunoe.bench.inside import Calls

PROJECTING: Final = "projecting, from memory-lifecycle to the watermark"
WRITING: Final = "writing alone, one Function call a step"
PIPELINE: Final = "writing alone, one command a posting"
_P99: Final = "a call in Redis, p99"
_LONGEST_CALL_MS: Final = 2.0
_NOTES: Final = (
    "Projecting reads Kafka, decodes, opens, analyses and blinds; the pipeline writes postings that were made before. "
    "The bar holds this against it. The second ratio compares the writing alone.",
    "Both write the same document, id index, subject set, count and postings of a record; the pipeline keeps no "
    "watermark and takes nothing back.",
    "Bytes: growth of used_memory without clients' buffers, over one generation.",
)


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
    calls = _calls(seen)
    longest = next((each.median for each in calls if each.name == _P99), None)
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
            *calls,
            Figure(name="bytes in Redis, recall alone", unit="bytes/record", values=tuple(seen.bytes_a_record)),
        ),
        bars=(
            Bar(name=whole.name, found=whole.median, wanted=2.0, unit="", side="at least"),
            Bar(name=writing.name, found=writing.median, wanted=2.0, unit="", side="at least", note="like with like"),
            Bar(
                name=_P99,
                found=longest,
                wanted=_LONGEST_CALL_MS,
                unit="ms",
                side="at most",
                note="this Redis is not ours: its statistics are not reset" if longest is None else "",
            ),
        ),
        notes=_NOTES,
    )


def _calls(seen: Seen) -> list[Figure]:
    """Time of a call inside Redis; percentiles only where they are known."""
    figures = [Figure(name="a call in Redis, mean", unit="ms", values=tuple(each.mean / 1_000 for each in seen.calls))]
    percentiles = [each.percentiles for each in seen.calls if each.percentiles]
    for name, label in (("50", "a call in Redis, p50"), ("99", _P99), ("100", "a call in Redis, longest")):
        if percentiles:
            values = tuple(each.get(name, 0.0) / 1_000 for each in percentiles)
            figures.append(Figure(name=label, unit="ms", values=values))
    return figures
