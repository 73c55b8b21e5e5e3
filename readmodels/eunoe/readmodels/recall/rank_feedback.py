"""A second query, made of what the best records of the first have in common (pseudo-relevance feedback).

RM3 in its plain form (Abdul-Jaleel et al., *UMass at TREC 2004*; Lavrenko & Croft, SIGIR 2001): the words of the top
records, each weighted by the record's share of their scores, by its share of the record's words and by its rarity in
the scope; the heaviest join the query at a fraction of a query word's weight. It is deterministic, and each added word
shows up as a contribution of its own. A record that holds none of the query's own terms is still not found.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eunoe.readmodels.recall.analyse import WORD, DocumentTerms, QueryTerms, Term
from eunoe.readmodels.recall.rank import Bm25, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """``records``: how many of the best are read. ``terms``: at most so many words join. ``share``: the weight of the
    heaviest, where a word of the query weighs 1; the others are in proportion."""

    records: int = 10
    terms: int = 20
    share: float = 0.2

    def expand(self, query: QueryTerms, best: Sequence[tuple[float, DocumentTerms]], scope: Scope) -> QueryTerms:
        """``query`` with the words of ``best`` (score and terms, best first; only the first ``records`` count).

        Returns ``query`` itself if they add nothing. ``scope`` is asked once for each distinct word.
        """
        relevance = self._relevance(query, best[: self.records], scope)
        heaviest = sorted(relevance.items(), key=lambda pair: (-pair[1], pair[0]))[: self.terms]
        if not heaviest or heaviest[0][1] <= 0.0:
            return query
        unit = self.share / heaviest[0][1]
        return QueryTerms(
            weights=(*query.weights, *((term, unit * weight) for term, weight in heaviest)),
            unusable=None,
            clipped=query.clipped,
            feedback=frozenset(term for term, _ in heaviest),
        )

    @staticmethod
    def _relevance(query: QueryTerms, best: Sequence[tuple[float, DocumentTerms]], scope: Scope) -> dict[Term, float]:
        asked = {term for term, _ in query.weights}
        whole = sum(score for score, _ in best)
        relevance: dict[Term, float] = {}
        for score, terms in best:
            for term, _ in terms.counts:
                if term.startswith(WORD) and term not in asked:
                    relevance[term] = relevance.get(term, 0.0) + score / whole / terms.length
        return {term: weight * Bm25.idf(scope.records, scope.holding(term)) for term, weight in relevance.items()}
