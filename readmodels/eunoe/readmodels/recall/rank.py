"""Two rankings of the records of one scope, exact and in memory: what the Redis read model must agree with.

`Overlap` is the formula of source A (A46): ten for each distinct matching word, plus confidence, plus recency.

`Bm25` is BM25 in Lucene's form: Robertson & Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009),
eq. 3.15, with idf ``ln(1 + (N - n + 0.5) / (n + 0.5))``, which is never negative, and the constant factor k1 + 1 kept;
compared with other forms in Kamphuis et al., *Which BM25 Do You Mean?* (ECIR 2020). N and n are counted inside the
scope alone, so another tenant's data moves no score. The average length is a setting, not a measurement: the document's
side (`Bm25.impact`) is then fixed when it is indexed, and postings can be kept in impact order.

Both rank only what holds a term of the query; terms added by feedback do not select. Equal totals are ordered by
document id, which for UUIDv7 is arrival.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Final, Protocol

from eunoe.readmodels.recall.analyse import WORD, DocumentTerms, QueryTerms, Term
from eunoe.readmodels.recall.explain import Contribution, Score
from eunoe.schemas.ids import Millis

DAY: Final = 86_400_000
"""Milliseconds in a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What ranking needs of a record. ``confidence`` in [0, 1]."""

    id: str
    terms: DocumentTerms
    confidence: float
    created_at: Millis


class Scope(Protocol):
    """Counts inside one scope."""

    @property
    def records(self) -> int: ...

    def holding(self, term: Term) -> int:
        """How many records of the scope hold ``term``; 0 for a term it does not know."""
        ...


class Ranking(Protocol):
    """``now`` is the reference time of the query: the wall clock, or the instant of an as-of read."""

    def score(self, query: QueryTerms, document: Document, scope: Scope, now: Millis) -> Score | None:
        """None if the document holds no term of the query that this ranking counts."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedScope:
    """A scope counted from its documents."""

    records: int
    frequencies: dict[Term, int]

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "CountedScope":
        """Count each term once per document."""
        frequencies: dict[Term, int] = {}
        records = 0
        for document in documents:
            records += 1
            for term, _ in document.terms.counts:
                frequencies[term] = frequencies.get(term, 0) + 1
        return cls(records=records, frequencies=frequencies)

    def holding(self, term: Term) -> int:
        return self.frequencies.get(term, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recency:
    """1 for a record made now or later, a half after each ``half_life`` (milliseconds), towards 0."""

    half_life: int = 30 * DAY

    def of(self, created_at: Millis, now: Millis) -> float:
        return float(0.5 ** (max(0, now - created_at) / self.half_life))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Distinct matching words × ``per_word`` + confidence + recency. Parts, dates and feedback do not count."""

    per_word: float = 10.0
    recency: Recency = Recency()

    def score(self, query: QueryTerms, document: Document, scope: Scope, now: Millis) -> Score | None:
        held = {term for term, _ in document.terms.counts}
        asked = (term for term, _ in query.weights if term.startswith(WORD) and term not in query.feedback)
        matching = [term for term in asked if term in held]
        if not matching:
            return None
        return Score.of(
            (
                *(Contribution(name=f"term:{term}", amount=self.per_word) for term in matching),
                Contribution(name="confidence", amount=document.confidence),
                Contribution(name="recency", amount=self.recency.of(document.created_at, now)),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bm25:
    """Term weight × idf × impact over the query's terms, plus small shares of confidence and recency.

    ``average_length`` is in words after stop words. ``confidence`` and ``recency_weight`` are what a full 1.0 adds:
    enough to order equal matches, less than a term most records hold (idf 0.1 at 90 %).
    """

    k1: float = 1.2
    b: float = 0.75
    average_length: float = 10.0
    confidence: float = 0.05
    recency_weight: float = 0.05
    recency: Recency = Recency()

    def impact(self, count: int, length: int) -> float:
        """The document's side, in [0, k1 + 1): ``count`` of the term in a document of ``length`` words."""
        norm = self.k1 * (1.0 - self.b + self.b * length / self.average_length)
        return count * (self.k1 + 1.0) / (count + norm)

    @staticmethod
    def idf(records: int, holding: int) -> float:
        """The scope's side: how rare a term is that ``holding`` of ``records`` hold."""
        return log(1.0 + (records - holding + 0.5) / (holding + 0.5))

    def score(self, query: QueryTerms, document: Document, scope: Scope, now: Millis) -> Score | None:
        counts = dict(document.terms.counts)
        matching = [(term, weight) for term, weight in query.weights if term in counts]
        if all(term in query.feedback for term, _ in matching):
            return None
        return Score.of(
            (
                *(
                    Contribution(
                        name=f"feedback:{term}" if term in query.feedback else f"term:{term}",
                        amount=weight
                        * self.idf(scope.records, scope.holding(term))
                        * self.impact(counts[term], document.terms.length),
                    )
                    for term, weight in matching
                ),
                *self.of_record(document.confidence, document.created_at, now),
            )
        )

    def of_record(self, confidence: float, created_at: Millis, now: Millis) -> tuple[Contribution, Contribution]:
        """The part of the score that no term decides."""
        recency = self.recency.of(created_at, now)
        return (
            Contribution(name="confidence", amount=self.confidence * confidence),
            Contribution(name="recency", amount=self.recency_weight * recency),
        )


def rank(
    ranking: Ranking, query: QueryTerms, documents: Sequence[Document], now: Millis, scope: Scope | None = None
) -> list[tuple[str, Score]]:
    """All matching documents, best first. ``scope`` defaults to the documents themselves."""
    counted = CountedScope.of(documents) if scope is None else scope
    scored = (
        (document.id, score)
        for document in documents
        if (score := ranking.score(query, document, counted, now)) is not None
    )
    return sorted(scored, key=lambda pair: (-pair[1].total, pair[0]))
