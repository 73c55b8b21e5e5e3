"""One search under way: the passes of the ranking, opening, the filters once more, limit and budget."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall.analyse import WORD, DocumentTerms, QueryTerms, Term, Unusable
from eunoe.readmodels.recall.asking import Place
from eunoe.readmodels.recall.budget import Selection, select
from eunoe.readmodels.recall.candidates import AnyRanking, Found, Hit, Refused, Request
from eunoe.readmodels.recall.explain import Score
from eunoe.readmodels.recall.opening import conflicts_of, open_body, recalled, record_of, refusal_of
from eunoe.readmodels.recall.rank import Bm25, CountedScope
from eunoe.readmodels.recall.rank_feedback import Feedback
from eunoe.readmodels.recall.rank_neighbours import Neighbours
from eunoe.readmodels.recall.record import StoredRecord
from eunoe.readmodels.recall.result import Empty, RecalledMemory, SearchResult, Warned
from eunoe.readmodels.recall.scope import Admission, Filters, ReadScope
from eunoe.readmodels.recall.stored import instant
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import Offset
from eunoe.schemas.outcomes import Token

if TYPE_CHECKING:
    from eunoe.readmodels.recall.reader import MemoryReader

A = TypeVar("A")

UNSEEN: Final = "scope"
"""What dropped out because it is, by now, none that this caller may know of: it is in no count."""

_EMPTY: Final = {Unusable.NO_WORDS: Empty.NO_WORDS, Unusable.ONLY_STOP_WORDS: Empty.ONLY_STOP_WORDS}


@dataclass(frozen=True, slots=True)
class Scored:
    """A hit, with its score as the ranking itself has it."""

    hit: Hit
    record: StoredRecord
    score: Score | None

    @property
    def total(self) -> float:
        return 0.0 if self.score is None else self.score.total


@dataclass(slots=True, kw_only=True)
class Searching:
    """``live``: the reference time is now, so the clock is looked at again after opening."""

    reader: "MemoryReader"
    scope: ReadScope
    admission: Admission
    filters: Filters
    terms: QueryTerms
    ranking: AnyRanking
    feedback: Feedback | None
    neighbours: Neighbours | None
    least: Offset
    timeout: float
    live: bool
    _bodies: dict[int, MemoryBody] = field(default_factory=dict)

    async def result(self, limit: int, budget: int | None) -> SearchResult:
        """Asks for more candidates where drops and skips have left fewer than ``limit``."""
        settings = self.reader.settings
        terms = await self.expanded()
        wanted = min(limit + settings.spare, settings.most)
        while True:
            request, found = await self.ask(terms, wanted, self.neighbours)
            opened, dropped = await self._opened(request, found, limit, budget)
            chosen = self._select(opened, limit, budget)
            if len(chosen.taken) == limit or found.ranked < wanted or wanted == settings.most:
                if self._still_admitted():
                    return self._answer(found, chosen, dropped)
                continue
            wanted = min(wanted * 4, settings.most)

    def _still_admitted(self) -> bool:
        """Whether the rules are what they were when it was asked (B36); False: they changed, and it is asked again.

        Raises `ReadRefused` where reading is forbidden or switched off by now.
        """
        again = self.reader.gate.admit(self.scope)
        if again == self.admission:
            return True
        self.admission = again
        self.filters = self.filters.under(self.scope, again)
        return False

    async def expanded(self) -> QueryTerms:
        """The terms to ask by, once feedback has added its own."""
        return self.terms if self.feedback is None else await self._fed(self.feedback)

    async def _fed(self, feedback: Feedback) -> QueryTerms:
        """The query with the words that its best records share."""
        if not self.terms.weights or not isinstance(self.ranking, Bm25):
            return self.terms
        request, found = await self.ask(self.terms, feedback.records, None)
        if found.counted.records > self.reader.settings.passes_up_to:
            return self.terms
        best = []
        for hit in found.hits:
            record = record_of(hit.document, hit.head)
            body = None if self._refusal(hit, record) else await self._body(hit, record)
            score = candidates.score_of(request, hit, found.counted, record.memory_id)
            if body is not None and score is not None:
                best.append((score.total, record.memory_id, self._terms_of(body, record)))
        best.sort(key=lambda each: (-each[0], each[1]))
        asked = {term for term, _ in self.terms.weights}
        words = {term for *_, held in best for term, _ in held.counts if term.startswith(WORD) and term not in asked}
        if not words:
            return self.terms
        counted = await self._count(sorted(words), found.counted.records)
        return feedback.expand(self.terms, [(total, held) for total, _, held in best], counted)

    def _terms_of(self, body: MemoryBody, record: StoredRecord) -> DocumentTerms:
        return self.reader.analyser(self.scope.tenant).document(body.statement, instant(record.observed_at))

    async def _opened(
        self, request: Request, found: Found, limit: int, budget: int | None
    ) -> tuple[list[RecalledMemory], Counter[str]]:
        """The hits opened, best first, no more of them than limit and budget need; and why others fell away."""
        opened: list[RecalledMemory] = []
        dropped: Counter[str] = Counter()
        for scored in self._scored(request, found):
            if len(opened) >= limit and len(self._select(opened, limit, budget).taken) == limit:
                break
            memory = await self._open(scored, dropped)
            if memory is not None:
                opened.append(memory)
        return opened, dropped

    def _scored(self, request: Request, found: Found) -> list[Scored]:
        """Best first by the exact score: Redis' own order is that of rounded impacts, in which near ties are ties."""
        scored = []
        for hit in found.hits:
            record = record_of(hit.document, hit.head)
            scored.append(Scored(hit, record, candidates.score_of(request, hit, found.counted, record.memory_id)))
        return sorted(scored, key=lambda each: (-each.total, each.record.memory_id))

    def _select(self, opened: list[RecalledMemory], limit: int, budget: int | None) -> Selection[RecalledMemory]:
        return select(
            opened,
            limit=limit,
            budget=budget,
            identity=lambda each: each.memory_id,
            text=lambda each: each.statement,
            estimate=self.reader.estimate,
        )

    async def _open(self, scored: Scored, dropped: Counter[str]) -> RecalledMemory | None:
        hit, record = scored.hit, scored.record
        if (refused := self._refusal(hit, record)) is not None:
            dropped[refused] += 1
            return None
        body = await self._body(hit, record)
        if body is None:
            dropped[UNSEEN] += 1
            return None
        return recalled(hit.head, record, body, scored.score, conflicts_of(hit.rivals, self.scope, self.filters))

    def _refusal(self, hit: Hit, record: StoredRecord) -> str | None:
        refused = refusal_of(hit.head, record, self.scope, self.filters)
        if refused is None and self.live and record.expires_at <= self.reader.clock():
            return "expired"
        return refused

    async def _body(self, hit: Hit, record: StoredRecord) -> MemoryBody | None:
        number = hit.head.member.number
        body = self._bodies.get(number) or await open_body(self.reader.keyring, record)
        if body is not None:
            self._bodies[number] = body
        return body

    def _answer(self, found: Found, chosen: Selection[RecalledMemory], dropped: Counter[str]) -> SearchResult:
        freshness = self.reader.freshness(self.scope.tenant, found.marks)
        token = Token(log_id=freshness.log_id, partition=freshness.partition, position=freshness.position)
        return SearchResult(
            records=chosen.taken,
            excluded=self._excluded(found, dropped),
            examined=found.examined - dropped[UNSEEN],
            capped=found.capped,
            skipped=chosen.skipped,
            used_tokens=chosen.used,
            freshness=freshness,
            token=token.text,
            policy_version=self.admission.policy_version,
            policy_hash=self.admission.policy_hash,
            control_offset=self.admission.control_offset,
            max_sensitivity=self.filters.max_sensitivity,
            empty=None if self.terms.unusable is None else _EMPTY[self.terms.unusable],
            passes=self._passes(found),
            warnings=(Warned.QUERY_CLIPPED,) if self.terms.clipped else (),
        )

    def _excluded(self, found: Found, dropped: Counter[str]) -> dict[str, int]:
        counted = Counter(found.excluded) + dropped
        return {reason: count for reason, count in sorted(counted.items()) if reason != UNSEEN}

    def _passes(self, found: Found) -> tuple[str, ...]:
        if found.counted.records > self.reader.settings.passes_up_to:
            return ()
        fed = self.feedback is not None and isinstance(self.ranking, Bm25)
        return ("feedback",) * fed + ("neighbours",) * (self.neighbours is not None)

    def _request(self, place: Place, terms: QueryTerms, neighbours: Neighbours | None) -> Request:
        key = None if place.index is None else place.index.key
        return Request.of(
            self.scope,
            self.filters,
            place.subject,
            key,
            terms,
            self.ranking,
            self.reader.settings.cap,
            place.least,
            neighbours,
            self.reader.settings.passes_up_to,
        )

    async def ask(self, terms: QueryTerms, wanted: int, neighbours: Neighbours | None) -> tuple[Request, Found]:
        """The best ``wanted`` candidates, with the request they answer. Raises as `Asker.ask`, and `TooStale`."""
        reader = self.reader

        async def call(place: Place) -> tuple[Mapping[str, str], tuple[Request, Found]] | Refused:
            request = self._request(place, terms, neighbours)
            found = await candidates.search(reader.redis, reader.functions, place.keys, request, wanted)
            return found if isinstance(found, Refused) else (found.marks, (request, found))

        marks, answer = await reader.asker.ask(self.scope.tenant, self.scope.subject, call, self.least, self.timeout)
        # Too stale is said before anything is opened.
        self.least = reader.freshness(self.scope.tenant, marks).position
        return answer

    async def _count(self, words: list[Term], records: int) -> CountedScope:
        reader = self.reader

        async def call(place: Place) -> tuple[Mapping[str, str], CountedScope] | Refused:
            request = self._request(place, self.terms, None)
            return await candidates.count(reader.redis, reader.functions, place.keys, request, words, records)

        asked = (self.scope.tenant, self.scope.subject, call, self.least, self.timeout)
        return (await reader.asker.ask(*asked))[1]
