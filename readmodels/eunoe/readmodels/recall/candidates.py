"""The one call that finds candidates: hard filters first, then scores, inside Redis and inside the caller's scopes.

Redis ranks; `score_of` then works a hit's score out once more with the ranking itself, from the counts that come with
it, so the numbers a caller sees are those of `eunoe.readmodels.recall.rank`, term by term.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.crypto.keys import IndexKey
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import WORD, DocumentTerms, QueryTerms, Term
from eunoe.readmodels.recall.explain import Contribution, Score
from eunoe.readmodels.recall.index_key import TenantIndex
from eunoe.readmodels.recall.rank import Bm25, CountedScope, Document, Overlap
from eunoe.readmodels.recall.rank_neighbours import Neighbours
from eunoe.readmodels.recall.record import Postings
from eunoe.readmodels.recall.scope import Filters, ReadScope
from eunoe.readmodels.store import text, texts
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.schemas.ids import MemoryId, Offset, Pseudonym, TenantId

AnyRanking = Bm25 | Overlap

_LEAST_CAP: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One search of one caller. ``cap``: how many postings of a term are read at most, in the order of
    impact; None: the square root of the records in scope, at least 64 and as many as are wanted. ``passes_up_to``: see
    `ReaderSettings`."""

    scope: ReadScope
    filters: Filters
    subject: Pseudonym | None
    key: IndexKey | None
    query: QueryTerms
    ranking: AnyRanking
    cap: int | None
    least: Offset
    terms: Sequence[tuple[Term, float]]
    own_tokens: Sequence[bytes]
    shared_tokens: Sequence[bytes]
    neighbours: Neighbours | None = None
    passes_up_to: int = 0

    @staticmethod
    def of(  # what, where and how much
        scope: ReadScope,
        filters: Filters,
        subject: Pseudonym | None,
        key: IndexKey | None,
        query: QueryTerms,
        ranking: AnyRanking,
        cap: int | None,
        least: Offset,
        neighbours: Neighbours | None,
        passes_up_to: int,
    ) -> "Request":
        """Without a key the tenant has no index here, and there is no term to ask for."""
        terms = () if key is None else _counting(query, ranking)
        words = [term for term, _ in terms]
        own, shared = names.scope_name(scope.agent, scope.purpose), names.scope_name(None, scope.purpose)
        return Request(
            scope=scope,
            filters=filters,
            subject=subject,
            key=key,
            query=query,
            ranking=ranking,
            cap=cap,
            least=least,
            neighbours=neighbours,
            passes_up_to=passes_up_to,
            terms=terms,
            own_tokens=() if key is None else key.tokens(own, words),
            shared_tokens=() if key is None else key.tokens(shared, words),
        )

    def tokens(self, shared: bool) -> Sequence[bytes]:
        return self.shared_tokens if shared else self.own_tokens


def _counting(query: QueryTerms, ranking: AnyRanking) -> Sequence[tuple[Term, float]]:
    """The terms that count in this ranking."""
    if isinstance(ranking, Overlap):
        return [
            (term, ranking.per_word)
            for term, _ in query.weights
            if term.startswith(WORD) and term not in query.feedback
        ]
    return query.weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A stored record, and the one that it gains from in the neighbour pass."""

    document: bytes
    head: names.Head
    before: "Hit | None" = None
    rivals: Sequence[bytes] = ()

    @staticmethod
    def of(document: bytes, before: bytes | None = None, rivals: Sequence[bytes] | None = None) -> "Hit":
        earlier = None if before is None else Hit.of(before)
        return Hit(document=document, head=names.Head.unpack(document), before=earlier, rivals=rivals or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """``excluded``: how many of the ``examined`` records failed each filter first. ``capped``: a list was not read to
    its end, and a record below could be among the best. ``counted``: the scope's counts, of the terms asked.
    ``ranked``: how many came back; a hit whose document is gone counts here and is none of ``hits``."""

    marks: Mapping[str, str]
    counted: CountedScope
    hits: Sequence[Hit]
    ranked: int
    excluded: Mapping[str, int]
    examined: int
    capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """``why``: ``behind`` (the position asked for is not reached), ``key`` (the index key is another one now) or
    ``generation`` (another generation serves now)."""

    why: str
    position: Offset


async def search(
    redis: Redis, functions: LoadedFunctions, keys: Sequence[str], request: Request, wanted: int
) -> Found | Refused:
    """The best ``wanted`` records, best first, or why there is no answer. One round trip, one view of the data."""
    answer = await functions.call(redis, "search", keys, _arguments(request, wanted))
    if answer[0] != 1:
        return Refused(why=text(answer[1]), position=Offset(int(answer[2])))
    _, marks, records, holding, documents, excluded, examined, capped = answer
    return Found(
        marks=texts(marks),
        counted=CountedScope(
            records=int(records),
            frequencies={term: int(count) for (term, _), count in zip(request.terms, holding, strict=True)},
        ),
        hits=[Hit.of(*each) for each in documents if each[0] is not None],
        ranked=len(documents),
        excluded={reason: int(count) for reason, count in _pairs(excluded)},
        examined=int(examined),
        capped=capped == 1,
    )


async def count(  # where, whose, and which
    redis: Redis,
    functions: LoadedFunctions,
    keys: Sequence[str],
    request: Request,
    terms: Sequence[Term],
    records: int,
) -> tuple[Mapping[str, str], CountedScope] | Refused:
    """The marks, and how many records of the request's scopes that its caller may know of hold each of ``terms``;
    ``records`` is how many there are."""
    key = request.key
    asked = () if key is None else terms
    scope = request.scope
    own, shared = names.scope_name(scope.agent, scope.purpose), names.scope_name(None, scope.purpose)
    cap = request.cap or max(_LEAST_CAP, math.isqrt(records))
    key_id = "" if key is None else key.key_id
    arguments: list[Any] = [scope.tenant, key_id, request.least, own, shared, request.filters.mask, cap]
    if key is not None:
        for pair in zip(key.tokens(own, asked), key.tokens(shared, asked), strict=True):
            arguments += pair
    answer = await functions.call(redis, "count", keys, arguments)
    if answer[0] != 1:
        return Refused(why=text(answer[1]), position=Offset(int(answer[2])))
    counted = CountedScope(records=records, frequencies=dict(zip(asked, map(int, answer[2]), strict=True)))
    return texts(answer[1]), counted


async def fetch(  # where, whose, and which
    redis: Redis,
    functions: LoadedFunctions,
    keys: Sequence[str],
    tenant: TenantId,
    index: TenantIndex | None,
    memory_id: MemoryId,
    least: Offset,
    state: int = names.ACTIVE,
) -> tuple[Mapping[str, str], Hit | None] | Refused:
    """The marks and a record of the tenant in ``state``, whatever its scope; None where there is none."""
    arguments = (tenant, "" if index is None else index.key_id, least, names.memory_bytes(memory_id), state)
    answer = await functions.call(redis, "fetch", keys, arguments)
    if answer[0] != 1:
        return Refused(why=text(answer[1]), position=Offset(int(answer[2])))
    return texts(answer[1]), None if answer[2] is None else Hit.of(answer[2], None, answer[3])


async def look(  # where, whose, and which
    redis: Redis,
    functions: LoadedFunctions,
    keys: Sequence[str],
    tenant: TenantId,
    index: TenantIndex | None,
    numbers: Sequence[bytes],
    least: Offset,
) -> tuple[Mapping[str, str], Sequence[Hit]] | Refused:
    """The marks, and the records of these numbers that are there, waiting ones too, in the order asked."""
    arguments = (tenant, "" if index is None else index.key_id, least, *numbers)
    answer = await functions.call(redis, "look", keys, arguments)
    if answer[0] != 1:
        return Refused(why=text(answer[1]), position=Offset(int(answer[2])))
    return texts(answer[1]), [Hit.of(each[0], None, each[1]) for each in answer[2] if each is not None]


def score_of(request: Request, hit: Hit, counted: CountedScope, identity: str) -> Score | None:
    """The hit's score as the ranking itself has it, with what the record before it adds."""
    score = _first_pass(request, hit, counted, identity)
    if score is None or hit.before is None or request.neighbours is None:
        return score
    earlier = _first_pass(request, hit.before, counted, identity)
    if earlier is None:
        return score
    return score.plus(Contribution(name="neighbour", amount=request.neighbours.share * earlier.total))


def _first_pass(request: Request, hit: Hit, counted: CountedScope, identity: str) -> Score | None:
    member, head = hit.head.member, hit.head
    agent = None if member.flags & names.SHARED else request.scope.agent
    counts = Postings.counts(
        hit.document[names.HEAD_BYTES + head.guards : head.record_at],
        names.scope_name(agent, request.scope.purpose),
        request.tokens(agent is None),
    )
    held = tuple((term, number) for (term, _), number in zip(request.terms, counts, strict=True) if number)
    document = Document(
        id=identity,
        terms=DocumentTerms(counts=held, length=member.length, clipped=False),
        confidence=member.confidence / 100,
        created_at=member.created_at,
    )
    return request.ranking.score(request.query, document, counted, request.filters.at)


def _arguments(request: Request, wanted: int) -> list[Any]:
    scope, filters = request.scope, request.filters
    arguments: list[Any] = [
        scope.tenant,
        "" if request.key is None else request.key.key_id,
        request.least,
        names.scope_name(scope.agent, scope.purpose),
        names.scope_name(None, scope.purpose),
        filters.at,
        filters.known_until,
        filters.known_since,
        int(filters.require_provenance),
        filters.mask,
        filters.surface or "",
        request.subject or "",
        "" if request.cap is None else request.cap,
        wanted,
        *_weights(request.ranking),
        0 if request.neighbours is None else request.neighbours.candidates,
        0 if request.neighbours is None else request.neighbours.share,
        request.passes_up_to,
    ]
    for (term, weight), mine, ours in zip(request.terms, request.own_tokens, request.shared_tokens, strict=True):
        arguments += (mine, ours, weight, int(term not in request.query.feedback))
    return arguments


def _weights(ranking: AnyRanking) -> tuple[float, ...]:
    """Confidence, recency, half-life, and whether a term counts the same in every record that holds it."""
    if isinstance(ranking, Overlap):
        return (1.0, 1.0, ranking.recency.half_life, 1)
    return (ranking.confidence, ranking.recency_weight, ranking.recency.half_life, 0)


def _pairs(flat: Sequence[Any]) -> Sequence[tuple[str, Any]]:
    return [(text(name), value) for name, value in zip(flat[::2], flat[1::2], strict=True)]


def at_most(query: QueryTerms, terms: int) -> QueryTerms:
    """``query`` with its first ``terms`` terms, marked as clipped where it had more."""
    if len(query.weights) <= terms:
        return query
    return QueryTerms(weights=query.weights[:terms], unusable=query.unusable, clipped=True)
