"""Why was this record (not) selected for this query (M86): the first filter it fails, else its score, terms and rank.

It asks as the search does, with the same gate, filters and ranking, and changes nothing. Of a record outside the
caller's scope it says what it says of one that is not there.
"""

from dataclasses import dataclass
from typing import Final

from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall.candidates import Found, Hit, Request
from eunoe.readmodels.recall.explain import Contribution, Score
from eunoe.readmodels.recall.opening import conflicts_of, record_of, refusal_of
from eunoe.readmodels.recall.result import Freshness, SearchResult
from eunoe.readmodels.recall.searching import Searching
from eunoe.schemas.ids import MemoryId
from eunoe.schemas.values import Sensitivity

SELECTED: Final = "selected"
NOT_FOUND: Final = "not_found"
"""There is no such record in use, or it is none of this caller's scope: nobody outside it learns which."""
NO_MATCH: Final = "no_match"
"""It passes every filter and holds no word that counts."""
OVER_BUDGET: Final = "over_budget"
BELOW_LIMIT: Final = "below_limit"
CAPPED: Final = "capped"
"""It matches, but the posting lists were not read as far as it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """``because``: `SELECTED`, or the first reason against it: a filter (as in `SearchResult.excluded`), the reason why
    the query has no terms, or one of this module's.

    ``rank`` counts from 1 among the ``ranked`` records that pass the filters; None where it was not ranked. ``score``
    is the sum of ``terms``. ``conflicts`` as in `RecalledMemory`.
    """

    memory_id: MemoryId
    selected: bool
    because: str
    rank: int | None
    ranked: int
    score: float
    terms: tuple[Contribution, ...]
    conflicts: tuple[MemoryId, ...]
    freshness: Freshness
    policy_version: int
    policy_hash: str
    control_offset: int
    max_sensitivity: Sensitivity


@dataclass(slots=True, kw_only=True)
class Standing:
    """Where one record stands in one search. ``wanted``: how many records are ranked at most."""

    searching: Searching
    hit: Hit
    memory_id: MemoryId
    wanted: int
    score: Score | None = None
    rank: int | None = None
    ranked: int = 0

    async def because(self, limit: int, budget: int | None) -> str:
        """Fills the other fields in."""
        searching = self.searching
        if searching.terms.unusable is not None:
            return searching.terms.unusable.value
        request, found = await searching.ask(await searching.expanded(), self.wanted, searching.neighbours)
        self._place(request, found)
        if self.score is None:
            return NO_MATCH
        result = await searching.result(limit, budget)
        if any(each.memory_id == self.memory_id for each in result.records):
            return SELECTED
        return self._left_out(result)

    def _left_out(self, result: SearchResult) -> str:
        if any(each.id == self.memory_id for each in result.skipped):
            return OVER_BUDGET
        return CAPPED if self.rank is None and result.capped else BELOW_LIMIT

    def _place(self, request: Request, found: Found) -> None:
        """Scores are worked out again as the result does it: its order is by them, not by Redis' rounded ones."""
        own = next((each for each in found.hits if each.head.member.number == self.hit.head.member.number), None)
        self.score = candidates.score_of(request, own or self.hit, found.counted, self.memory_id)
        places = sorted(place for each in found.hits if (place := self._place_of(request, found, each)) is not None)
        self.ranked = len(places)
        if own is not None and self.score is not None:
            self.rank = places.index((-self.score.total, self.memory_id)) + 1

    def _place_of(self, request: Request, found: Found, hit: Hit) -> tuple[float, MemoryId] | None:
        searching, record = self.searching, record_of(hit.document, hit.head)
        if refusal_of(hit.head, record, searching.scope, searching.filters) is not None:
            return None
        score = candidates.score_of(request, hit, found.counted, record.memory_id)
        return None if score is None else (-score.total, record.memory_id)


def answer(
    searching: Searching, memory_id: MemoryId, freshness: Freshness, because: str, standing: Standing | None = None
) -> Why:
    """``standing`` None: it never came to ranking."""
    score = None if standing is None else standing.score
    return Why(
        memory_id=memory_id,
        selected=because == SELECTED,
        because=because,
        rank=None if standing is None else standing.rank,
        ranked=0 if standing is None else standing.ranked,
        score=0.0 if score is None else score.total,
        terms=() if score is None else score.largest_first(),
        conflicts=() if standing is None else conflicts_of(standing.hit.rivals, searching.scope, searching.filters),
        freshness=freshness,
        policy_version=searching.admission.policy_version,
        policy_hash=searching.admission.policy_hash,
        control_offset=searching.admission.control_offset,
        max_sensitivity=searching.filters.max_sensitivity,
    )
