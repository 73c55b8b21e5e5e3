"""`MemoryReader`: what may this caller use now, ranked, within a token budget (DESIGN §6).

Order, always: the gate (identity, policy, switches) → hard filters and candidates inside the caller's two scopes, in
one Function call → rank → open → the filters once more → limit and budget → result. What drops out after ranking
(erased meanwhile, expired meanwhile) is replaced by the next best.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from redis.asyncio import Redis

from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import Analyser, QueryTerms, Unusable
from eunoe.readmodels.recall.asking import Asker, Place
from eunoe.readmodels.recall.budget import TokenEstimator, conservative_tokens, select
from eunoe.readmodels.recall.candidates import AnyRanking, Found, Hit, Refused, Request
from eunoe.readmodels.recall.errors import BadScope, TooStale
from eunoe.readmodels.recall.fold import one_analyser
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.opening import open_body, recalled, record_of, refusal_of
from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.result import Empty, Freshness, RecalledMemory, SearchResult, Warned
from eunoe.readmodels.recall.scope import Filters, ReadGate, ReadScope
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.schemas.ids import MemoryId, Millis, Offset, TenantId, is_uuid
from eunoe.schemas.outcomes import Token

_EMPTY: Final = {Unusable.NO_WORDS: Empty.NO_WORDS, Unusable.ONLY_STOP_WORDS: Empty.ONLY_STOP_WORDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """``cap``: see `candidates.Request`. ``query_terms``: a longer query is clipped and says so.

    ``spare``: hits asked for beyond the limit, so that a drop or a skip seldom costs a second call; ``most`` of them
    are looked at for one search. ``max_lag`` (ms): reads fail closed where the model may lag more; None: never.
    """

    generation: int = 1
    cap: int | None = None
    query_terms: int = 64
    spare: int = 2
    most: int = 1_000
    max_limit: int = 100
    max_lag: int | None = None


@dataclass(slots=True, kw_only=True)
class MemoryReader:
    """Reads, on one event loop. ``clock``: wall-clock ms. No error holds a statement, a query or a subject's name."""

    redis: Redis
    installation: Installation
    keyring: Keyring
    gate: ReadGate
    clock: Callable[[], Millis]
    analyser: Callable[[TenantId], Analyser] = one_analyser
    ranking: AnyRanking = field(default_factory=Bm25)
    estimate: TokenEstimator = conservative_tokens
    settings: ReaderSettings = field(default_factory=ReaderSettings)
    functions: LoadedFunctions = field(default_factory=RECALL.load)
    _asker: Asker = field(init=False)

    def __post_init__(self) -> None:
        self._asker = Asker(
            redis=self.redis,
            installation=self.installation,
            keyring=self.keyring,
            analyser=self.analyser,
            generation=self.settings.generation,
        )

    async def search(
        self,
        scope: ReadScope,
        query: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = 5.0,
        ranking: AnyRanking | None = None,
    ) -> SearchResult:
        """The best records for ``query`` that the scope may use: at most ``limit``, of at most ``budget`` tokens.

        ``as_of``: expiry and validity are judged at that instant, and what came later is left out; what has been
        removed since (superseded, retracted, swept, forgotten) does not come back. ``after``: a consistency token;
        waits until the model has it, at most ``timeout`` seconds. Raises `ReadRefused`, `BadScope`, `BadToken`,
        `ForeignToken`, `UnknownPlace`, `NotYet`, `TooStale`, `StoreUnavailable`.
        """
        self._check_sizes(limit, budget)
        filters = self._filters(scope, as_of)
        terms = candidates.at_most(self.analyser(scope.tenant).query(query), self.settings.query_terms)
        reading = _Reading(
            reader=self,
            scope=scope,
            filters=filters,
            terms=terms,
            ranking=ranking or self.ranking,
            least=self._asker.least(scope.tenant, after),
            timeout=timeout,
            live=as_of is None,
        )
        return await reading.result(limit, budget)

    async def get(
        self,
        scope: ReadScope,
        memory_id: MemoryId,
        *,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = 5.0,
    ) -> RecalledMemory | None:
        """The record, if this scope may use it: the same gate and filters as a search. None says no more than that."""
        filters = self._filters(scope, as_of)
        if not is_uuid(memory_id):
            raise BadScope("memory_id", "is no canonical UUID")
        least = self._asker.least(scope.tenant, after)

        async def call(place: Place) -> tuple[Mapping[str, str], bytes | None, Place] | Refused:
            found = await candidates.fetch(
                self.redis, self.functions, place.prefix, scope.tenant, place.index, memory_id, least
            )
            return found if isinstance(found, Refused) else (*found, place)

        marks, document, place = await self._asker.ask(scope.tenant, scope.subject, call, least, timeout)
        self.freshness(scope.tenant, marks)
        if document is None:
            return None
        head = names.Head.unpack(document)
        record = record_of(document, head)
        if scope.subject is not None and record.subject != place.subject:
            return None
        if refusal_of(head, record, scope, filters) is not None:
            return None
        body = await open_body(self.keyring, record)
        return None if body is None else recalled(head, record, body, None)

    def freshness(self, tenant: TenantId, marks: Mapping[str, str]) -> Freshness:
        """How fresh an answer with these marks is. Raises `TooStale` where that is not fresh enough."""
        caught_up, prefix = marks.get("caught_up_at"), self._asker.prefix(tenant)
        lag = None if caught_up is None else max(0, self.clock() - int(caught_up))
        allowed = self.settings.max_lag
        if allowed is not None and (lag is None or lag > allowed):
            raise TooStale(prefix.partition, lag, allowed)
        return Freshness(
            log_id=prefix.log_id,
            partition=prefix.partition,
            position=Offset(int(marks.get("position", 0))),
            log_time=Millis(int(marks["time"])) if "time" in marks else None,
            lag=lag,
        )

    def _filters(self, scope: ReadScope, as_of: Millis | None) -> Filters:
        return Filters.of(scope, self.gate.admit(scope), self.clock(), as_of)

    def _check_sizes(self, limit: int, budget: int | None) -> None:
        if isinstance(limit, bool) or not 0 <= limit <= self.settings.max_limit:
            raise BadScope("limit", f"not between 0 and {self.settings.max_limit}")
        if budget is not None and (isinstance(budget, bool) or budget < 0):
            raise BadScope("budget", "is negative")


@dataclass(slots=True, kw_only=True)
class _Reading:
    """One search under way."""

    reader: MemoryReader
    scope: ReadScope
    filters: Filters
    terms: QueryTerms
    ranking: AnyRanking
    least: Offset
    timeout: float
    live: bool

    async def result(self, limit: int, budget: int | None) -> SearchResult:
        reader, settings = self.reader, self.reader.settings
        wanted = min(limit + settings.spare, settings.most)
        while True:
            request, found = await self._ask(wanted)
            freshness = reader.freshness(self.scope.tenant, found.marks)
            dropped: Counter[str] = Counter()
            opened: list[RecalledMemory] = []
            for upto in (limit, wanted):
                for hit in found.hits[len(opened) + dropped.total() : upto]:
                    memory = await self._open(request, found, hit, dropped)
                    if memory is not None:
                        opened.append(memory)
                chosen = select(
                    sorted(opened, key=lambda each: (-each.score, each.memory_id)),
                    limit=limit,
                    budget=budget,
                    identity=lambda each: each.memory_id,
                    text=lambda each: each.statement,
                    estimate=reader.estimate,
                )
                if len(chosen.taken) == limit:
                    break
            if len(chosen.taken) == limit or len(found.hits) < wanted or wanted == settings.most:
                break
            wanted = min(wanted * 4, settings.most)
        token = Token(log_id=freshness.log_id, partition=freshness.partition, position=freshness.position)
        return SearchResult(
            records=chosen.taken,
            excluded=dict(sorted((Counter(found.excluded) + dropped).items())),
            examined=found.examined,
            capped=found.capped,
            skipped=chosen.skipped,
            used_tokens=chosen.used,
            freshness=freshness,
            token=token.text,
            empty=None if self.terms.unusable is None else _EMPTY[self.terms.unusable],
            warnings=(Warned.QUERY_CLIPPED,) if self.terms.clipped else (),
        )

    async def _ask(self, wanted: int) -> tuple[Request, Found]:
        reader = self.reader

        async def call(place: Place) -> tuple[Request, Found] | Refused:
            request = Request.of(
                self.scope,
                self.filters,
                place.subject,
                None if place.index is None else place.index.key,
                self.terms,
                self.ranking,
                reader.settings.cap,
                self.least,
            )
            found = await candidates.search(reader.redis, reader.functions, place.prefix, request, wanted)
            return found if isinstance(found, Refused) else (request, found)

        return await reader._asker.ask(self.scope.tenant, self.scope.subject, call, self.least, self.timeout)

    async def _open(self, request: Request, found: Found, hit: Hit, dropped: Counter[str]) -> RecalledMemory | None:
        record = record_of(hit.document, hit.head)
        refused = refusal_of(hit.head, record, self.scope, self.filters)
        if refused is None and self.live and record.expires_at <= self.reader.clock():
            refused = "expired"
        if refused is not None:
            dropped[refused] += 1
            return None
        body = await open_body(self.reader.keyring, record)
        if body is None:
            dropped["erased"] += 1
            return None
        score = candidates.score_of(request, hit, found.counted, record.memory_id)
        return recalled(hit.head, record, body, score)
