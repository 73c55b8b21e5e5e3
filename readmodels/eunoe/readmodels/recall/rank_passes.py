"""The whole ranking, pass by pass, exact and in memory: the oracle for the read model in Redis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eunoe.readmodels.recall.analyse import QueryTerms
from eunoe.readmodels.recall.explain import Score
from eunoe.readmodels.recall.rank import Bm25, CountedScope, Document, Ranking, rank
from eunoe.readmodels.recall.rank_feedback import Feedback
from eunoe.readmodels.recall.rank_neighbours import Neighbours, Place
from eunoe.schemas.ids import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """``ranking``, then a second query by ``feedback``, then ``neighbours``; None leaves a pass out."""

    ranking: Ranking = field(default_factory=Bm25)
    feedback: Feedback | None = field(default_factory=Feedback)
    neighbours: Neighbours | None = field(default_factory=Neighbours)

    def rank(
        self, query: QueryTerms, documents: Sequence[Document], places: Mapping[str, Place], now: Millis
    ) -> list[tuple[str, Score]]:
        """All documents of one scope that match, best first."""
        scope = CountedScope.of(documents)
        ranked = rank(self.ranking, query, documents, now, scope)
        if self.feedback is not None and ranked:
            terms = {document.id: document.terms for document in documents}
            best = [(score.total, terms[identity]) for identity, score in ranked[: self.feedback.records]]
            ranked = rank(self.ranking, self.feedback.expand(query, best, scope), documents, now, scope)
        return ranked if self.neighbours is None else self.neighbours.rerank(ranked, places)
