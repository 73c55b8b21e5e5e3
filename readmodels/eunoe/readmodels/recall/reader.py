"""`MemoryReader`: what may this caller use now, ranked, within a token budget (DESIGN §6).

Order, always: the gate (identity, policy, switches) → hard filters and candidates inside the caller's two scopes, in
one Function call → rank → open → the filters once more → limit and budget → result. What drops out after ranking
(erased meanwhile, expired meanwhile) is replaced by the next best.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels import keys
from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.asking import Asker, Place
from eunoe.readmodels.recall.budget import TokenEstimator, conservative_tokens
from eunoe.readmodels.recall.candidates import AnyRanking, Hit, Refused
from eunoe.readmodels.recall.errors import BadScope, KeyStillUnknown, TooStale
from eunoe.readmodels.recall.fold import one_analyser
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.index_key import rules_of
from eunoe.readmodels.recall.inspecting import Inspecting, Inspection, Look, check_limit
from eunoe.readmodels.recall.opening import conflicts_of, open_body, recalled, record_of, refusal_of
from eunoe.readmodels.recall.rank import Bm25, Overlap
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.readmodels.recall.result import Freshness, RecalledMemory, SearchResult
from eunoe.readmodels.recall.scope import Filters, ReadGate, ReadScope
from eunoe.readmodels.recall.searching import Searching
from eunoe.readmodels.recall.why import NOT_FOUND, Standing, Why, answer
from eunoe.readmodels.serving import Serving, being_filled
from eunoe.readmodels.store import answers
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.schemas.ids import MemoryId, Millis, Offset, TenantId, is_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSettings:
    """``generation``: a certain one; None: the one that serves. ``cap``: see `candidates.Request`. ``query_terms``: a
    longer query is clipped and says so.

    ``spare``: hits asked for beyond the limit, so that a drop or a skip seldom costs a second call; ``most`` of them
    are looked at for one search. ``passes_up_to``: the largest scope (in records) that gets the passes after the first;
    they take three to six times as long, and Redis does nothing else meanwhile.
    ``max_lag`` (ms): reads fail closed where the model may lag more; None: never.
    """

    generation: int | None = None
    cap: int | None = None
    query_terms: int = 64
    spare: int = 2
    most: int = 1_000
    passes_up_to: int = 5_000
    max_limit: int = 100
    max_lag: int | None = None


def _impact(ranking: Bm25) -> tuple[float, float, float]:
    return ranking.k1, ranking.b, ranking.average_length


@dataclass(slots=True, kw_only=True)
class MemoryReader:
    """Reads, on one event loop. ``clock``: wall-clock ms. ``built_with``: the ranking the projector has.

    No error holds a statement, a query or a subject's name.
    """

    redis: Redis
    installation: Installation
    keyring: Keyring
    gate: ReadGate
    clock: Callable[[], Millis]
    analyser: Callable[[TenantId], Analyser] = one_analyser
    ranking: Passes | AnyRanking = field(default_factory=Bm25)
    built_with: Bm25 = field(default_factory=Bm25)
    estimate: TokenEstimator = conservative_tokens
    settings: ReaderSettings = field(default_factory=ReaderSettings)
    functions: LoadedFunctions = field(default_factory=RECALL.load)
    asker: Asker = field(init=False)

    def __post_init__(self) -> None:
        self.asker = Asker(
            redis=self.redis,
            installation=self.installation,
            keyring=self.keyring,
            rules=lambda tenant: rules_of(self.analyser(tenant), self.built_with),
            gate=self.gate,
            generation=self.settings.generation,
        )

    async def of_generation(self, tenant: TenantId, generation: int) -> "MemoryReader":
        """The same reader, answered from a certain generation: the one that serves, is kept, or is as of then.

        Raises `BadScope` where there is none of that number, and what Redis raises.
        """
        with answers("looking for a generation"):
            found = await GenerationStore(self.redis).of(self.asker.prefix(tenant))
        if generation not in found.followed or generation == found.building:
            raise BadScope("generation", f"of that number there is none; {found.serving} serves")
        return replace(self, settings=replace(self.settings, generation=generation))

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
        ranking: Passes | AnyRanking | None = None,
    ) -> SearchResult:
        """The best records for ``query`` that the scope may use: at most ``limit``, of at most ``budget`` tokens.

        ``as_of``: expiry and validity are judged at that instant, and what came later is left out; what has been
        removed since (superseded, retracted, swept, forgotten) does not come back. ``after``: a consistency token;
        waits until the model has it, at most ``timeout`` seconds. Raises `ReadRefused`, `BadScope`, `BadToken`,
        `ForeignToken`, `UnknownPlace`, `NotYet`, `TooStale`, `StoreUnavailable`. ``ranking``: a formula for one
        pass, or `Passes` for feedback and neighbours too: a little better, several times slower (docs/ranking.md).
        """
        self._check_sizes(limit, budget)
        async with self._keys_of(scope.tenant):
            return await self._searching(scope, query, as_of, after, timeout, ranking).result(limit, budget)

    def _searching(  # what, where, as of when and how
        self,
        scope: ReadScope,
        query: str,
        as_of: Millis | None,
        after: str | None,
        timeout: float,
        ranking: Passes | AnyRanking | None,
    ) -> Searching:
        admission = self.gate.admit(scope)
        passes = ranking or self.ranking
        if not isinstance(passes, Passes):
            passes = Passes(ranking=passes, feedback=None, neighbours=None)
        if not isinstance(passes.ranking, Bm25 | Overlap):
            raise BadScope("ranking", "Redis ranks by Bm25 or Overlap")
        if isinstance(passes.ranking, Bm25) and _impact(passes.ranking) != _impact(self.built_with):
            raise BadScope("ranking", "the postings were built with other constants than these")
        return Searching(
            reader=self,
            scope=scope,
            admission=admission,
            filters=Filters.of(scope, admission, self.clock(), as_of),
            terms=candidates.at_most(self.analyser(scope.tenant).query(query), self.settings.query_terms),
            ranking=passes.ranking,
            feedback=passes.feedback,
            neighbours=passes.neighbours,
            least=self.asker.least(scope.tenant, after),
            timeout=timeout,
            live=as_of is None,
        )

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
        filters = Filters.of(scope, self.gate.admit(scope), self.clock(), as_of)
        async with self._keys_of(scope.tenant):
            hit, place, _ = await self._fetch(scope, memory_id, self.asker.least(scope.tenant, after), timeout)
            return None if hit is None else await self._recalled(scope, filters, hit, place)

    async def _recalled(self, scope: ReadScope, filters: Filters, hit: Hit, place: Place) -> RecalledMemory | None:
        record = record_of(hit.document, hit.head)
        if scope.subject is not None and record.subject != place.subject:
            return None
        if refusal_of(hit.head, record, scope, filters) is not None:
            return None
        body = await open_body(self.keyring, record)
        if body is None:
            return None
        return recalled(hit.head, record, body, None, conflicts_of(hit.rivals, scope, filters))

    async def why(
        self,
        scope: ReadScope,
        memory_id: MemoryId,
        query: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = 5.0,
    ) -> Why:
        """Whether the same search would select the record, and why (not). Changes nothing. Raises as `search`."""
        self._check_sizes(limit, budget)
        async with self._keys_of(scope.tenant):
            searching = self._searching(scope, query, as_of, after, timeout, None)
            hit, place, freshness = await self._fetch(scope, memory_id, searching.least, timeout)
            if hit is None:
                return answer(searching, memory_id, freshness, NOT_FOUND)
            record = record_of(hit.document, hit.head)
            refused = refusal_of(hit.head, record, scope, searching.filters)
            if refused == "scope" or await open_body(self.keyring, record) is None:
                return answer(searching, memory_id, freshness, NOT_FOUND)
            if refused is None and scope.subject is not None and record.subject != place.subject:
                refused = "subject"
            if refused is not None:
                return answer(searching, memory_id, freshness, refused)
            standing = Standing(searching=searching, hit=hit, memory_id=memory_id, wanted=self.settings.most)
            because = await standing.because(limit, budget)
            return answer(searching, memory_id, freshness, because, standing)

    async def inspect(
        self, look: Look, *, limit: int = 50, after: str | None = None, timeout: float = 5.0
    ) -> Inspection:
        """What is held, newest first. The gate was passed by whoever made ``look``. Raises as `search`, beyond it."""
        check_limit(limit)
        least = self.asker.least(look.tenant, after)
        async with self._keys_of(look.tenant):
            return await Inspecting(reader=self, look=look, least=least, timeout=timeout).result(limit)

    @asynccontextmanager
    async def _keys_of(self, tenant: TenantId) -> AsyncIterator[None]:
        """A key that is unknown because the model `keys` is being filled is `BeingFilled`, not an unknown key."""
        try:
            yield
        except (KeyUnknown, KeyStillUnknown):
            serving = Serving(self.redis, self.installation, keys.NAME)
            await serving.filled(await serving.look(self.installation.partition_of(tenant)))
            raise

    async def _fetch(
        self, scope: ReadScope, memory_id: MemoryId, least: Offset, timeout: float
    ) -> tuple[Hit | None, Place, Freshness]:
        """The record, whatever its scope: nothing is told of it before that was looked at."""
        if not is_uuid(memory_id):
            raise BadScope("memory_id", "is no canonical UUID")

        async def call(place: Place) -> tuple[Mapping[str, str], tuple[Hit | None, Place]] | Refused:
            found = await candidates.fetch(
                self.redis, self.functions, place.keys, scope.tenant, place.index, memory_id, place.least
            )
            return found if isinstance(found, Refused) else (found[0], (found[1], place))

        marks, (hit, place) = await self.asker.ask(scope.tenant, scope.subject, call, least, timeout)
        return hit, place, self.freshness(scope.tenant, marks)

    def freshness(self, tenant: TenantId, marks: Mapping[str, str]) -> Freshness:
        """How fresh an answer with these marks is. Raises `TooStale` or `BeingFilled` where that is not enough."""
        caught_up, prefix = marks.get("caught_up_at"), self.asker.prefix(tenant)
        lag = None if caught_up is None else max(0, self.clock() - int(caught_up))
        allowed = self.settings.max_lag
        if allowed is not None and caught_up is None:
            raise being_filled(prefix, marks.get("position"), marks.get("log_end"))
        if allowed is not None and (lag is None or lag > allowed):
            raise TooStale(prefix.partition, lag, allowed)
        return Freshness(
            log_id=prefix.log_id,
            partition=prefix.partition,
            position=Offset(int(marks.get("position", 0))),
            log_time=Millis(int(marks["time"])) if "time" in marks else None,
            lag=lag,
        )

    def _check_sizes(self, limit: int, budget: int | None) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= self.settings.max_limit:
            raise BadScope("limit", f"not between 0 and {self.settings.max_limit}")
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 0):
            raise BadScope("budget", "not a number of tokens from 0")
