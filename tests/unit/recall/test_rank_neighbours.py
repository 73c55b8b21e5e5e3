"""What was remembered just before, on the same occasion, lends a share of its score."""

from eunoe.readmodels.recall.explain import Contribution, Score
from eunoe.readmodels.recall.rank_neighbours import Neighbours, Place


def scored(**totals: float) -> list[tuple[str, Score]]:
    pairs = [(name, Score.of([Contribution(name="term:w:x", amount=total)])) for name, total in totals.items()]
    return sorted(pairs, key=lambda pair: (-pair[1].total, pair[0]))


def test_the_follower_gains_a_share_of_the_first_pass_score_and_says_so() -> None:
    places = {"a": Place(occasion="o", position=1), "b": Place(occasion="o", position=2)}
    ranked = Neighbours(share=0.5).rerank(scored(a=10.0, c=5.0, b=3.0), places)
    assert [(name, score.total) for name, score in ranked] == [("a", 10.0), ("b", 8.0), ("c", 5.0)]
    assert ranked[1][1].contributions[-1] == Contribution(name="neighbour", amount=5.0)


def test_no_chain_and_only_the_nearest_candidate_before() -> None:
    places = {name: Place(occasion="o", position=n) for n, name in enumerate("abc")}
    ranked = dict(Neighbours(share=0.5).rerank(scored(a=10.0, b=2.0, c=1.0), places))
    assert {name: score.total for name, score in ranked.items()} == {"a": 10.0, "b": 7.0, "c": 2.0}


def test_other_occasions_and_records_without_a_place_change_nothing() -> None:
    before = scored(a=10.0, b=3.0, c=2.0)
    places = {"a": Place(occasion="o", position=1), "b": Place(occasion="p", position=2)}
    assert Neighbours().rerank(before, places) == before
    assert Neighbours().rerank(before, {}) == before


def test_what_ranks_below_the_candidates_keeps_its_order_behind_them() -> None:
    places = {name: Place(occasion="o", position=n) for n, name in enumerate("abcd")}
    ranked = Neighbours(share=1.0, candidates=2).rerank(scored(a=4.0, b=3.0, c=2.0, d=1.0), places)
    assert [(name, score.total) for name, score in ranked] == [("b", 7.0), ("a", 4.0), ("c", 2.0), ("d", 1.0)]
