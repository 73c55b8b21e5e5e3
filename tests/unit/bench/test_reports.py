"""Which baseline counts, which stage is the slowest, which questions are compared."""

from datetime import UTC, datetime

import pytest

from eunoe.bench import decide_report, end_to_end_report, erasure_report, locomo_report
from eunoe.bench.decide_report import AGENT, ALL_RULES, BATCHES, MINIMAL, ONE_BY_ONE
from eunoe.bench.locomo import BASELINE, DEFAULT, Run
from eunoe.bench.locomo_data import Conversation, Observation, Question
from eunoe.schemas.receipts import Stage

RATES = {
    ONE_BY_ONE: [8.0, 8.0],
    BATCHES: [10.0, 10.0],
    MINIMAL: [4.0, 4.0],
    ALL_RULES: [2.0, 2.0],
    AGENT: [0.1, 0.1],
}


def test_ratios_are_to_the_faster_copy_loop() -> None:
    sizes = decide_report.Sizes(records=10, repetitions=2, agent_records=5, seed=1)
    found = decide_report.report(sizes, RATES, 600.0, 500)
    assert [bar.found for bar in found.bars] == pytest.approx([0.4, 0.2, 20.0])
    assert [bar.met for bar in found.bars] == [True, False, True]
    swapped = RATES | {ONE_BY_ONE: [40.0, 40.0]}
    assert decide_report.report(sizes, swapped, 600.0, 500).bars[0].found == pytest.approx(0.1)
    assert {ONE_BY_ONE, BATCHES} <= {figure.name for figure in found.figures}


def test_the_slowest_stage_is_named_and_both_ways_of_retrieving_have_the_bar() -> None:
    sizes = end_to_end_report.Sizes(backlog=1, seconds=1, probes=1, partitions=1, seed=1)
    measured = end_to_end_report.Measured(
        stages={"decide": 900.0, "recall": 600.0}, rate=300.0, outcomes=[0.1], by_token=[0.2], by_search=[0.3]
    )
    found = end_to_end_report.report(sizes, measured, 2)
    assert "slowest stage is recall" in found.notes[0]
    assert [bar.met for bar in found.bars] == [True, False]


def conversation(name: str) -> Conversation:
    observation = Observation(
        conversation=name,
        number=0,
        session=1,
        speaker="A",
        statement="s",
        evidence=("D1:1",),
        observed_at=datetime(2023, 1, 1, tzinfo=UTC),
    )
    question = Question(conversation=name, number=0, text="q", category=1, evidence=("D1:1",))
    return Conversation(name=name, observations=(observation,), questions=(question,) * 20)


def run(name: str, conversations: list[Conversation], *, found: bool) -> Run:
    answers = [(question, each.observations if found else ()) for each in conversations for question in each.questions]
    return Run(name=name, answers=tuple(answers))


def test_chosen_on_held_out_and_all_are_told_apart() -> None:
    both = [conversation("26"), conversation("42")]
    runs = [run(DEFAULT, both, found=True), run(BASELINE, both, found=False)]
    found = locomo_report.report(both, runs, ())
    titles = {str(row[0]) for row in found.grids[0].rows}
    assert titles == {
        "1, chosen on (20 questions)",
        "1, held out (20 questions)",
        "all 2 (40 questions)",
    }
    assert found.bars[0].met
    assert len(found.bars) == 1, "the published figure is for all five conversations"


def test_no_better_than_the_baseline_is_not_ahead() -> None:
    one = [conversation("26")]
    runs = [run(DEFAULT, one, found=True), run(BASELINE, one, found=True)]
    assert not locomo_report.report(one, runs, ()).bars[0].met


def test_an_erasure_counts_by_its_slowest_person_and_only_where_it_is_proved() -> None:
    sizes = erasure_report.Sizes(subjects=(2,), records=1, repetitions=2, partitions=1, seed=1)
    whole = {Stage.LOGICAL: [1.0, 2.0], Stage.COMPACTED: [3.0, 4.0], Stage.SCANNED: [5.0, 19.0]}
    quick = {Stage.LOGICAL: [1.0, 1.0], Stage.COMPACTED: [1.0, 1.0], Stage.SCANNED: [2.0, 3.0]}
    found = erasure_report.report(sizes, {2: [whole, quick]}, {})
    assert [(each.found, each.met) for each in found.bars] == [(19.0, True)]
    assert {each.name: each.values for each in found.figures}["2 at once, slowest, scanned"] == (19.0, 3.0)

    partial = whole | {Stage.SCANNED: [5.0]}
    (bar,) = erasure_report.report(sizes, {2: [partial, quick]}, {}).bars
    assert (bar.found, bar.met, bar.note) == (None, False, "proved for 3 of 4")
