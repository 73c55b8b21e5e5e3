"""Both rankings explain themselves, and BM25 equals the formula written out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.readmodels.recall.analyse import Analyser, Term
from eunoe.readmodels.recall.explain import Contribution, Score
from eunoe.readmodels.recall.rank import DAY, Bm25, CountedScope, Document, Overlap, Ranking, Recency, rank
from eunoe.schemas.ids import Millis

ANALYSER = Analyser()
NOW = Millis(1_800_000_000_000)


def document(number: int, statement: str, confidence: float = 0.5, age_days: float = 0.0) -> Document:
    return Document(
        id=f"{number:04}",
        terms=ANALYSER.document(statement),
        confidence=confidence,
        created_at=Millis(int(NOW - age_days * DAY)),
    )


def amounts(score: Score) -> dict[str, float]:
    return {part.name: part.amount for part in score.contributions}


def test_overlap_is_ten_for_each_distinct_word_plus_confidence_plus_recency() -> None:
    documents = [document(1, "Blue bicycle, blue helmet", confidence=0.9, age_days=30)]
    ((identity, score),) = rank(Overlap(), ANALYSER.query("a blue bicycle in blue"), documents, NOW)
    assert identity == "0001"
    assert amounts(score) == {"term:w:blue": 10.0, "term:w:bicycl": 10.0, "confidence": 0.9, "recency": 0.5}
    assert score.total == 21.4


def test_overlap_does_not_count_parts_of_words() -> None:
    assert rank(Overlap(), ANALYSER.query("adoptee"), [document(1, "adopted")], NOW) == []
    assert len(rank(Bm25(), ANALYSER.query("adoptee"), [document(1, "adopted")], NOW)) == 1


def test_bm25_is_the_formula_written_out() -> None:
    documents = [
        document(1, "parcel parcel courier", confidence=0.0, age_days=30),
        document(2, "courier van", confidence=0.0, age_days=30),
        document(3, "garden", confidence=0.0, age_days=30),
    ]
    ranked = dict(rank(Bm25(), ANALYSER.query("parcel"), documents, NOW))
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    impact = 2 * 2.2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 10))
    assert list(ranked) == ["0001"]
    assert amounts(ranked["0001"]) == {
        "term:w:parcel": pytest.approx(idf * impact),
        "term:p:parce": pytest.approx(0.4 * idf * impact),
        "recency": 0.025,
    }


def test_a_rarer_term_and_a_shorter_text_weigh_more() -> None:
    documents = [
        document(1, "red car"),
        document(2, "red kite"),
        document(3, "red car and a long tale of many other matters that nobody asked about at all"),
    ]
    assert rank(Bm25(), ANALYSER.query("red kite"), documents, NOW)[0][0] == "0002"
    assert [identity for identity, _ in rank(Bm25(), ANALYSER.query("car"), documents, NOW)] == ["0001", "0003"]


@pytest.mark.parametrize("ranking", [Overlap(), Bm25()])
def test_equal_matches_are_ordered_by_confidence_then_recency_then_id(ranking: Ranking) -> None:
    documents = [
        document(4, "blue bicycle", confidence=0.5),
        document(3, "blue bicycle", confidence=0.5),
        document(2, "blue bicycle", confidence=0.5, age_days=90),
        document(1, "blue bicycle", confidence=0.1),
    ]
    order = [identity for identity, _ in rank(ranking, ANALYSER.query("bicycle"), documents, NOW)]
    assert order[:2] == ["0003", "0004"]
    assert set(order) == {"0001", "0002", "0003", "0004"}


@pytest.mark.parametrize("ranking", [Overlap(), Bm25()])
def test_a_query_without_terms_finds_nothing(ranking: Ranking) -> None:
    documents = [document(1, "who are you")]
    assert rank(ranking, ANALYSER.query("who are you"), documents, NOW) == []
    assert len(rank(ranking, ANALYSER.query("bicycle"), [document(1, "bicycle")], NOW)) == 1


def test_recency_halves_and_is_never_above_one() -> None:
    recency = Recency(half_life=10 * DAY)
    assert recency.of(NOW, NOW) == 1.0
    assert recency.of(Millis(NOW + DAY), NOW) == 1.0
    assert recency.of(Millis(NOW - 20 * DAY), NOW) == 0.25


def test_a_scope_counts_a_term_once_per_record() -> None:
    scope = CountedScope.of([document(1, "tea tea"), document(2, "tea"), document(3, "milk")])
    assert (scope.records, scope.holding(Term("w:tea")), scope.holding(Term("w:none"))) == (3, 2, 0)


WORDS = st.lists(st.sampled_from(["tea", "milk", "the", "of", "went", "go", "18", "Москва", "東京"]), max_size=12).map(
    " ".join
)


@pytest.mark.parametrize("ranking", [Overlap(), Bm25()])
@given(
    statements=st.lists(WORDS, max_size=8),
    query=WORDS,
    confidence=st.floats(0, 1),
    age=st.integers(-5, 5_000),
)
def test_contributions_add_up_to_the_score_exactly(
    ranking: Ranking, statements: list[str], query: str, confidence: float, age: int
) -> None:
    documents = [document(n, text, confidence, age) for n, text in enumerate(statements)]
    ranked = rank(ranking, ANALYSER.query(query), documents, NOW)
    for _, score in ranked:
        assert math.fsum(part.amount for part in score.contributions) == score.total
        assert len({part.name for part in score.contributions}) == len(score.contributions)
    assert [score.total for _, score in ranked] == sorted((score.total for _, score in ranked), reverse=True)


@given(st.lists(st.floats(-1e6, 1e6), max_size=20))
def test_a_score_does_not_depend_on_the_order_of_adding(values: list[float]) -> None:
    parts = [Contribution(name=str(n), amount=value) for n, value in enumerate(values)]
    score = Score.of(parts)
    assert score.total == Score.of(reversed(parts)).total
    assert [abs(p.amount) for p in score.largest_first()] == sorted((abs(v) for v in values if v), reverse=True)
