"""Cutting a batch into Function calls that are short enough for everybody else's Redis latency."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.watermark import Operation, Step
from eunoe.schemas.ids import Offset

MAX_RECORDS: Final = 60
MAX_OPERATIONS: Final = 450
"""A call stays at or under 2 ms, for everybody else's sake: at 500 records a call, a bystander's PING p99 was 107 ms.
Sixty records of a few plain commands each take about 0.5 ms. One record is never cut: it becomes visible whole."""
OWN_COST: Final = 56
"""What an operation of a model's own Lua counts for, beside 1 for a plain command: so a call holds eight records with
20 postings each, which each write some 40 keys (ten took 0.8 ms at p50 and 2.2 ms at p99, measured)."""


def steps_of(
    start: Offset, to: Offset, records: Sequence[Positioned[Any]], operations: Sequence[Sequence[Operation]]
) -> list[Step]:
    """Steps from ``start`` to ``to`` that hold ``operations`` (one sequence per record), in order, without gaps.

    The mark ``time`` is the log time of the last record in the step. Offsets without records (markers, aborted and
    compacted records) count with the step before them; none at all, and there is one step that only moves the mark.
    """
    if not records:
        return [Step(start, to)] if to != start else []
    cuts = [*_cuts(operations), len(records)]
    if len(operations) != len(records):
        raise ValueError(f"{len(records)} records were folded into {len(operations)} sequences of operations")
    steps, position = [], start
    for first, last in pairwise(cuts):
        end = to if last == len(records) else records[last - 1].offset + 1
        flat = [operation for one in operations[first:last] for operation in one]
        steps.append(Step(position, end, flat, {"time": records[last - 1].timestamp}))
        position = Offset(end)
    return steps


def _cuts(operations: Sequence[Sequence[Operation]]) -> list[int]:
    """The index of each step's first record."""
    cuts, held = [0], 0
    for index, one in enumerate(operations):
        cost = sum(OWN_COST if "." in str(operation[0]) else 1 for operation in one)
        if index > cuts[-1] and (index - cuts[-1] == MAX_RECORDS or held + cost > MAX_OPERATIONS):
            cuts.append(index)
            held = 0
        held += cost
    return cuts
