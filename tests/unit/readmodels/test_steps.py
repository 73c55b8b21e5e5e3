"""How a batch is cut into Function calls."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import MAX_OPERATIONS, MAX_RECORDS, OWN_COST, steps_of
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.ids import Millis, Offset


def records(offsets: Sequence[int]) -> list[Positioned[str]]:
    return [Positioned(Offset(each), Millis(1000 + each), "value") for each in offsets]


def operations(counts: Sequence[int]) -> list[list[Operation]]:
    return [[("SET", f"{index}-{number}", 1) for number in range(count)] for index, count in enumerate(counts)]


@given(
    gaps=st.lists(st.integers(0, 5), min_size=1, max_size=120),
    counts=st.lists(st.integers(0, 2 * MAX_OPERATIONS), min_size=120, max_size=120),
    tail=st.integers(1, 5),
    start=st.integers(0, 100),
)
def test_steps_join_without_gaps_keep_the_order_and_stay_small(
    gaps: list[int], counts: list[int], tail: int, start: int
) -> None:
    offsets, at = [], start
    for gap in gaps:
        offsets.append(at + gap)
        at += gap + 1
    wanted = operations(counts[: len(offsets)])
    to = Offset(at - 1 + tail)
    steps = steps_of(Offset(start), to, records(offsets), wanted)
    assert steps[0].start == start
    assert steps[-1].to == to
    assert all(before.to == after.start for before, after in pairwise(steps))
    assert [each for step in steps for each in step.operations] == [each for one in wanted for each in one]
    for step in steps:
        inside = [each for each in offsets if step.start <= each < step.to]
        assert 1 <= len(inside) <= MAX_RECORDS
        assert len(step.operations) <= MAX_OPERATIONS or len(inside) == 1
        assert step.marks == {"time": 1000 + inside[-1]}


def test_a_call_holds_few_records_whose_operations_are_a_models_own() -> None:
    own = [[("model.put", number, b"document")] for number in range(40)]
    steps = steps_of(Offset(0), Offset(40), records(range(40)), own)
    assert [len(each.operations) for each in steps] == [MAX_OPERATIONS // OWN_COST] * 5
    plain = [[("SET", "key", number)] for number in range(40)]
    assert len(steps_of(Offset(0), Offset(40), records(range(40)), plain)) == 1


def test_progress_without_records_moves_the_mark_alone() -> None:
    (step,) = steps_of(Offset(3), Offset(9), (), ())
    assert (step.start, step.to, step.operations, step.marks) == (3, 9, (), {})


def test_no_progress_is_no_step() -> None:
    assert steps_of(Offset(3), Offset(3), (), ()) == []


def test_a_fold_that_leaves_a_record_out_is_a_bug_and_not_a_shift() -> None:
    with pytest.raises(ValueError, match="2 records were folded into 1"):
        steps_of(Offset(0), Offset(2), records([0, 1]), operations([1]))
