"""Figures, bars and percentiles: what a reader of a benchmark relies on."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.bench.figures import Bar, Cell, Figure, Findings, Grid, percentile, ratio

MACHINE: dict[str, Cell] = {"cores": 2, "kafka": "4.4.0"}


def bar(found: float | None, side: str, wanted: float = 2.0) -> Bar:
    return Bar(name="speed", found=found, wanted=wanted, unit="", side=side)  # type: ignore[arg-type]  # a literal


@pytest.mark.parametrize(
    ("found", "side", "met"),
    [
        (2.0, "at least", True),
        (1.99, "at least", False),
        (2.0, "at most", True),
        (2.01, "at most", False),
        (2.0, "more than", False),
        (2.01, "more than", True),
    ],
)
def test_a_bar_is_met_on_its_own_side(found: float, side: str, met: bool) -> None:
    assert bar(found, side).met is met


def test_what_was_not_measured_is_not_met() -> None:
    assert not bar(None, "at least").met
    assert bar(None, "at least").document()["found"] is None


def test_a_ratio_is_taken_repetition_by_repetition() -> None:
    found = ratio("ours / theirs", [10.0, 30.0, 2.0], [5.0, 10.0, 2.0])
    assert found.values == (2.0, 3.0, 1.0)
    assert found.median == 2.0


def test_repetitions_that_do_not_pair_have_no_ratio() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratio("ours / theirs", [1.0], [1.0, 2.0])


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_percentile_is_the_nearest_rank(share: float, value: int) -> None:
    assert percentile(reversed(range(1, 101)), share) == value


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(1, 10_000))
def test_a_percentile_is_one_of_the_values_and_covers_its_share(values: list[float], share: int) -> None:
    found = percentile(values, share / 10_000)
    assert found in values
    assert sum(each <= found for each in values) * 10_000 >= len(values) * share


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile([], 0.5)


def test_a_document_is_json_and_keeps_the_raw_values() -> None:
    findings = Findings(
        bench="decide",
        sizes={"records": 10},
        figures=(Figure(name="speed", unit="records/s", values=(3.0, 1.0, 2.0)),),
        bars=(bar(2.5, "at least"),),
        grids=(Grid(title="t", columns=("a", "b"), rows=(("x", 1.5),)),),
        notes=("a note",),
    )
    document = json.loads(json.dumps(findings.document(MACHINE)))
    assert document["figures"] == [
        {"name": "speed", "unit": "records/s", "median": 2.0, "low": 1.0, "high": 3.0, "values": [3.0, 1.0, 2.0]}
    ]
    assert document["bars"][0]["met"] is True
    assert document["machine"] == MACHINE
    assert document["grids"][0]["rows"] == [["x", 1.5]]
