"""Feedback reorders what the query found; the passes together stay explained and deterministic."""

import math

from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.analyse import Analyser, Term
from eunoe.readmodels.recall.rank import Bm25, CountedScope, Document, Overlap, rank
from eunoe.readmodels.recall.rank_feedback import Feedback
from eunoe.readmodels.recall.rank_neighbours import Neighbours, Place
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.schemas.ids import Millis

ANALYSER = Analyser()
NOW = Millis(1_800_000_000_000)
STATEMENTS = (
    "The bicycle needs a new chain",
    "Bicycle chain ordered from the Leeds workshop",
    "A bicycle basket hangs in the hall",
    "The workshop in Leeds sells chain oil",
    "Tea is served at five",
)


def documents(statements: tuple[str, ...] | list[str]) -> list[Document]:
    return [
        Document(id=f"{n:03}", terms=ANALYSER.document(text), confidence=0.5, created_at=NOW)
        for n, text in enumerate(statements)
    ]


def test_feedback_adds_words_of_the_best_records_below_the_query() -> None:
    held = documents(STATEMENTS)
    scope = CountedScope.of(held)
    query = ANALYSER.query("bicycle")
    best = [(score.total, held[int(name)].terms) for name, score in rank(Bm25(), query, held, NOW)]
    expanded = Feedback(terms=3).expand(query, best, scope)
    assert expanded.weights[: len(query.weights)] == query.weights
    added = expanded.weights[len(query.weights) :]
    assert len(added) == 3
    assert {term for term, _ in added} == expanded.feedback
    assert max(weight for _, weight in added) == Feedback().share
    assert Term("w:bicycl") not in expanded.feedback


def test_feedback_reorders_but_never_finds_what_the_query_did_not() -> None:
    held = documents(STATEMENTS)
    plain = Passes(feedback=None, neighbours=None).rank(ANALYSER.query("bicycle"), held, {}, NOW)
    passes = Passes(feedback=Feedback(share=0.9), neighbours=None)
    fed = passes.rank(ANALYSER.query("bicycle"), held, {}, NOW)
    assert {name for name, _ in fed} == {name for name, _ in plain} == {"000", "001", "002"}
    assert [name for name, _ in fed] != [name for name, _ in plain]
    assert any(part.name.startswith("feedback:w:") for _, score in fed for part in score.contributions)
    assert any(part.name == "term:w:bicycl" for part in fed[0][1].contributions)


def test_feedback_without_anything_to_add_is_the_query_itself() -> None:
    held = documents(("bicycle",))
    query = ANALYSER.query("bicycle")
    assert Feedback().expand(query, [(1.0, held[0].terms)], CountedScope.of(held)) is query
    assert Feedback().expand(query, [], CountedScope.of(held)) is query


def test_the_formula_of_source_a_runs_through_the_passes_too() -> None:
    ranked = Passes(ranking=Overlap(), feedback=None).rank(ANALYSER.query("chain"), documents(STATEMENTS), {}, NOW)
    assert [name for name, _ in ranked] == ["000", "001", "003"]


def test_feedback_counts_for_nothing_in_the_formula_of_source_a() -> None:
    plain = Passes(ranking=Overlap(), feedback=None, neighbours=None)
    fed = Passes(ranking=Overlap(), feedback=Feedback(share=0.9), neighbours=None)
    query, held = ANALYSER.query("bicycle"), documents(STATEMENTS)
    assert fed.rank(query, held, {}, NOW) == plain.rank(query, held, {}, NOW)


@given(
    st.lists(
        st.lists(st.sampled_from(["tea", "cup", "milk", "jam", "oat", "rye"]), max_size=6).map(" ".join), max_size=12
    ),
    st.lists(st.sampled_from(["tea", "cup", "milk"]), min_size=1, max_size=3).map(" ".join),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_every_pass_adds_up_exactly_and_is_deterministic(
    statements: list[str], query: str, occasions: list[int]
) -> None:
    held = documents(statements)
    places = {d.id: Place(occasion=str(o), position=n) for n, (d, o) in enumerate(zip(held, occasions, strict=False))}
    passes = Passes(feedback=Feedback(records=3, terms=4), neighbours=Neighbours(candidates=6))
    ranked = passes.rank(ANALYSER.query(query), held, places, NOW)
    assert ranked == passes.rank(ANALYSER.query(query), list(reversed(held)), places, NOW)
    assert {name for name, _ in ranked} == {name for name, _ in rank(Bm25(), ANALYSER.query(query), held, NOW)}
    for _, score in ranked:
        assert math.fsum(part.amount for part in score.contributions) == score.total
