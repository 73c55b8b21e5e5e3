"""The reading half of `Memory`: every read passes the gate first."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from redis.asyncio import Redis

from eunoe.client.gate import ControlGate
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.history_reader import History, HistoryReader
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.reader import MemoryReader, ReaderSettings
from eunoe.readmodels.recall.result import SearchResult
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.runtime.clock import Clock
from eunoe.runtime.installation import Installation
from eunoe.runtime.metrics import SEARCH_RECORDS, SEARCH_SECONDS, SILENT, Meter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import AgentId, MemoryId, Millis, PrincipalName, TenantId
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust

_WAIT_S: Final = 5.0


@dataclass(slots=True, kw_only=True)
class Reading:
    """Reads as one principal. Made by `Memory.connect`."""

    principal: PrincipalName
    gate: ControlGate
    reader: MemoryReader
    histories: HistoryReader
    meter: Meter = field(default=SILENT)

    async def search(
        self,
        query: str,
        *,
        tenant: str,
        agent: str,
        purpose: str,
        subject: str | None = None,
        surface: str | None = None,
        classes: Collection[MemoryClass] | None = None,
        trust_min: Trust = Trust.UNTRUSTED,
        max_sensitivity: Sensitivity | None = None,
        require_provenance: bool = False,
        limit: int = 10,
        budget: int | None = None,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = _WAIT_S,
    ) -> SearchResult:
        """What this agent may use for this purpose; see `MemoryReader.search` for what it raises."""
        started = time.perf_counter()
        scope = ReadScope(
            tenant=TenantId(tenant),
            agent=AgentId(agent),
            purpose=purpose,
            principal=self.principal,
            subject=subject,
            surface=surface,
            classes=None if classes is None else frozenset(classes),
            trust_min=trust_min,
            max_sensitivity=max_sensitivity,
            require_provenance=require_provenance,
        )
        result = await self.reader.search(
            scope, query, limit=limit, budget=budget, as_of=as_of, after=after, timeout=timeout
        )
        self.meter.observe(SEARCH_SECONDS, time.perf_counter() - started)
        self.meter.observe(SEARCH_RECORDS, len(result.records))
        return result

    async def history(self, tenant: str, memory_id: str, as_of: Millis | None = None) -> History:
        """What happened to the record. Raises `ReadRefused` or `StoreUnavailable`."""
        self.gate.check(TenantId(tenant))
        return await self.histories.history(TenantId(tenant), MemoryId(memory_id), as_of)


def make_reading(
    settings: Settings,
    *,
    principal: PrincipalName,
    gate: ControlGate,
    redis: Redis,
    installation: Installation,
    keyring: Keyring,
    clock: Clock,
    meter: Meter,
) -> Reading:
    analyser = Analyser(language=settings.language)
    reader = MemoryReader(
        redis=redis,
        installation=installation,
        keyring=keyring,
        gate=gate,
        clock=clock.now,
        analyser=lambda _: analyser,
        settings=ReaderSettings(max_lag=settings.max_read_lag),
    )
    return Reading(
        principal=principal,
        gate=gate,
        reader=reader,
        histories=HistoryReader(redis, installation),
        meter=meter,
    )
