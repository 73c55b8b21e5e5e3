"""Searching scopes of growing size through `MemoryReader`, opened bodies included; exact beside capped.

Records are folded and written as a projector does it, without Kafka in between. All tenants live in one partition, so
the largest scope is also what the smaller ones must not notice.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from eunoe.bench.figures import percentile
from eunoe.bench.ground import Ground
from eunoe.bench.inside import Calls, calls_of, used_memory
from eunoe.bench.sealed import AGENT, PRINCIPAL, PURPOSE, NothingToWaitFor, Sealer
from eunoe.bench.text import ZipfText
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.readmodels.recall.reader import MemoryReader, ReaderSettings
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import steps_of
from eunoe.readmodels.tenants import TenantStanding
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.schemas.ids import Offset, TenantId
from eunoe.schemas.values import Sensitivity

LIMIT: Final = 10
QUERY_WORDS: Final = 5
_BATCH: Final = 500
_EXACT: Final = 1 << 40
_EXACT_S: Final = 20.0
_EXACT_LEAST: Final = 10
"""An exact search of the largest scope takes seconds: as many queries as fit in this time, but never fewer."""
_EQUAL: Final = 1e-4
"""Scores closer than this are equal: Redis ranks by impacts rounded to 1e-6, and totals to 1e-5."""
_BUSY_MS: Final = 60_000
_SHARED_MOST: Final = 20_000
"""Records up to which a Redis that is not ours is asked for an exact search, which blocks it."""
_WARM_UP: Final = 30
DEFAULT: Final = "default ranking"
RANKINGS: Final[Mapping[str, Passes | None]] = MappingProxyType({DEFAULT: None, "all passes": Passes()})
"""None: whatever a reader does that is not told otherwise."""
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """``scopes``: records in each tenant's scope, rising. ``queries`` a round, ``rounds`` a scope; ``exact``: how many
    of the queries are asked again without a cap."""

    scopes: tuple[int, ...]
    queries: int
    rounds: int
    exact: int
    seed: int
    words: int = 10


class OpenGate:
    """Everybody may read: what the gate costs is not what is measured."""

    def admit(self, scope: ReadScope) -> Admission:
        return Admission(max_sensitivity=Sensitivity.RESTRICTED, control_offset=0)

    def enter(self, tenant: TenantId, standing: TenantStanding) -> None:
        return None


@dataclass(slots=True)
class Round:
    """Seconds of each search, and what Redis says of its part."""

    seconds: list[float]
    calls: Calls

    def at(self, share: float) -> float:
        """A percentile in milliseconds."""
        return percentile(self.seconds, share) * 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Capped against exact, over the same ``queries``. ``same``: share of the exact ten that the capped ten hold;
    ``recall``: hold, or equal in score. ``exact_ms``: the exact search's median.."""

    queries: int
    recall: float
    same: float
    capped: float
    exact_ms: float


@dataclass(slots=True, kw_only=True)
class Scope:
    """What was measured in one scope, by ranking; ``crowded``: again, beside the largest tenant."""

    records: int
    bytes_a_record: float
    loaded_a_second: float
    rounds: dict[str, list[Round]] = field(default_factory=lambda: {name: [] for name in RANKINGS})
    crowded: dict[str, list[Round]] = field(default_factory=lambda: {name: [] for name in RANKINGS})
    compared: dict[str, Compared] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class SearchBench:
    ground: Ground
    sizes: Sizes
    progress: Progress
    sealer: Sealer = field(init=False)
    text: ZipfText = field(init=False)
    position: Offset = field(default=Offset(0))

    def __post_init__(self) -> None:
        self.sealer = Sealer(self.ground.installation.log_id)
        self.text = ZipfText(self.sizes.seed)

    async def run(self) -> list[Scope]:
        scopes = []
        for records in self.sizes.scopes:
            self.progress(f"loading {records:,} records")
            scope = await self._load(records)
            self.progress(f"searching {records:,} records")
            await self._rounds(scope, scope.rounds)
            if records <= _SHARED_MOST or self.ground.ours:
                self.progress(f"searching {records:,} records exactly")
                scope.compared = {name: await self._compare(scope, name) for name in RANKINGS}
            scopes.append(scope)
        for scope in scopes[:-1]:
            self.progress(f"searching {scope.records:,} records again, beside {scopes[-1].records:,} of another tenant")
            await self._rounds(scope, scope.crowded)
        return scopes

    async def _load(self, records: int) -> Scope:
        tenant, redis = _tenant(records), self.ground.redis
        await self.sealer.open(tenant)
        model = RecallModel(redis=redis, keyring=self.sealer.keyring, passed=NothingToWaitFor())
        before, seconds = await used_memory(redis), 0.0
        for first in range(0, records, _BATCH):
            batch = [await self._positioned(tenant, number) for number in range(first, min(first + _BATCH, records))]
            started = time.perf_counter()
            await self._write(model, tenant, batch)
            seconds += time.perf_counter() - started
        grown = await used_memory(redis) - before
        return Scope(records=records, bytes_a_record=grown / records, loaded_a_second=records / seconds)

    async def _positioned(self, tenant: TenantId, number: int) -> Positioned:  # type: ignore[type-arg]
        half = self.sizes.words // 2
        event = await self.sealer.event(tenant, number, self.text.varied(half, self.sizes.words + half))
        return Positioned(Offset(self.position + number % _BATCH), event.header.decided_at, event)

    async def _write(self, model: RecallModel, tenant: TenantId, batch: Sequence[Positioned]) -> None:  # type: ignore[type-arg]
        installation = self.ground.installation
        prefix = Prefix(installation.log_id, installation.partition_of(tenant), model.name)
        operations = await model.fold(prefix, batch)
        to = Offset(self.position + len(batch))
        await Watermark(self.ground.redis, prefix, model.functions).move(steps_of(self.position, to, batch, operations))
        self.position = to

    def _reader(self, cap: int | None = None) -> MemoryReader:
        return MemoryReader(
            redis=self.ground.redis,
            installation=self.ground.installation,
            keyring=self.sealer.keyring,
            gate=OpenGate(),
            clock=SystemClock().now,
            settings=ReaderSettings(cap=cap),
        )

    async def _rounds(self, scope: Scope, into: dict[str, list[Round]]) -> None:
        for number in range(self.sizes.rounds):
            for name in RANKINGS:
                into[name].append(await self._round(scope, name, number))

    async def _round(self, scope: Scope, ranking: str, number: int) -> Round:
        """The same queries in every scope, ranking and, crowded or not, in every round of the same number."""
        reader, asked, passes = self._reader(), _scope(scope.records), RANKINGS[ranking]
        queries = self._queries(number)
        for query in self._queries(-1)[:_WARM_UP]:
            await reader.search(asked, query, limit=LIMIT, ranking=passes)
        seconds = []
        async with calls_of(self.ground.redis, "fcall_ro", ours=self.ground.ours) as calls:
            for query in queries:
                started = time.perf_counter()
                await reader.search(asked, query, limit=LIMIT, ranking=passes)
                seconds.append(time.perf_counter() - started)
        return Round(seconds, calls)

    def _queries(self, number: int) -> list[str]:
        text = ZipfText(self.sizes.seed + 1_000_003 * (number + 2))
        return [" ".join(text.distinct(QUERY_WORDS)) for _ in range(self.sizes.queries)]

    async def _compare(self, scope: Scope, ranking: str) -> Compared:
        """The capped search's ten best against those of a search that reads every list to its end."""
        capped, exact, asked = self._reader(), self._reader(_EXACT), _scope(scope.records)
        passes = RANKINGS[ranking]
        same: list[float] = []
        shares: list[float] = []
        times: list[float] = []
        caps = 0
        if self.ground.ours:
            await self.ground.redis.config_set("busy-reply-threshold", _BUSY_MS)
        for query in self._queries(0)[: self.sizes.exact]:
            if sum(times) > _EXACT_S and len(times) >= _EXACT_LEAST:
                break
            quick = await capped.search(asked, query, limit=LIMIT, ranking=passes)
            started = time.perf_counter()
            whole = await exact.search(asked, query, limit=LIMIT, ranking=passes)
            times.append(time.perf_counter() - started)
            wanted = {each.memory_id for each in whole.records}
            if wanted:
                same.append(len(wanted & {each.memory_id for each in quick.records}) / len(wanted))
                shares.append(as_good(quick.records, whole.records))
            caps += quick.capped
        return Compared(
            queries=len(times),
            recall=sum(shares) / len(shares),
            same=sum(same) / len(same),
            capped=caps / len(times),
            exact_ms=percentile(times, 0.5) * 1_000,
        )


def as_good(quick: Sequence[RecalledMemory], exact: Sequence[RecalledMemory]) -> float:
    """The share of places that hold a record as good as the exact search's last. Which of several records with one
    score come out on top is chance, and loses nobody anything."""
    least = min(each.score for each in exact) - _EQUAL
    return min(1.0, sum(each.score >= least for each in quick) / len(exact))


def _tenant(records: int) -> TenantId:
    return TenantId(f"bench-{records}")


def _scope(records: int) -> ReadScope:
    return ReadScope(tenant=_tenant(records), agent=AGENT, purpose=PURPOSE, principal=PRINCIPAL)
