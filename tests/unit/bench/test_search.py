"""Recall does not blame a search for which of several equal records it brought."""

from types import SimpleNamespace
from typing import Any

import pytest

from eunoe.bench.search import as_good


def scored(*scores: float) -> Any:
    return [SimpleNamespace(score=score) for score in scores]


@pytest.mark.parametrize(
    ("quick", "exact", "share"),
    [
        ((3.0, 2.0), (3.0, 2.0), 1.0),
        ((3.0, 2.00001), (3.0, 2.0), 1.0),
        ((3.0, 1.9), (3.0, 2.0), 0.5),
        ((), (3.0, 2.0), 0.0),
        ((3.0,), (3.0, 2.0), 0.5),
    ],
)
def test_what_scores_as_high_as_the_exact_last_counts(
    quick: tuple[float, ...], exact: tuple[float, ...], share: float
) -> None:
    assert as_good(scored(*quick), scored(*exact)) == share
