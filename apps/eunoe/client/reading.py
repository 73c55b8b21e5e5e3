"""The reading half of `Memory`: every read passes the gate first and leaves a trace behind."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Required, TypedDict, TypeVar, Unpack

from redis.asyncio import Redis

from eunoe.client.asking import check_kinds, well_asked
from eunoe.client.gate import ControlGate, entered
from eunoe.client.history_scope import end_of, is_readable, named_scope, sees_all, until
from eunoe.client.room import Room
from eunoe.client.tracing import Rules, Tracer, named
from eunoe.crypto.keyring import Keyring
from eunoe.producers.traces import TraceWriter
from eunoe.readmodels.history_reader import History, HistoryReader
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.reader import MemoryReader, ReaderSettings
from eunoe.readmodels.recall.result import SearchResult
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.readmodels.recall.why import NOT_FOUND, Why
from eunoe.readmodels.subjects import SubjectsReader
from eunoe.readmodels.tenants import TenantsReader
from eunoe.runtime.clock import Clock
from eunoe.runtime.installation import Installation
from eunoe.runtime.metrics import SEARCH_RECORDS, SEARCH_SECONDS, SILENT, Meter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import AgentId, MemoryId, Millis, PrincipalName, TenantId, is_uuid, new_id
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust

_WAIT_S: Final = 5.0


class ScopeFields(TypedDict, total=False):
    """The hard limits of a read: the fields of `ReadScope`, the caller aside. ``max_age`` in ms."""

    tenant: Required[str]
    agent: Required[str]
    purpose: Required[str]
    subject: str | None
    surface: str | None
    classes: Collection[MemoryClass] | None
    trust_min: Trust
    max_sensitivity: Sensitivity | None
    max_age: int | None
    require_provenance: bool


V = TypeVar("V", bound=StrEnum)


def _member(field: str, vocabulary: type[V], given: object) -> V:
    found = next((each for each in vocabulary if each == given), None)
    if found is None:
        raise BadScope(field, f"must be one of {', '.join(vocabulary)}")
    return found


def scope_of(principal: PrincipalName, **fields: Unpack[ScopeFields]) -> ReadScope:
    """Raises `BadScope`, naming the field: also where one is missing, or of the wrong kind."""
    for name in fields:
        if name not in ScopeFields.__annotations__:
            raise BadScope(name, "is no field of a read")
    for required in ("tenant", "agent", "purpose"):
        if not isinstance(fields.get(required), str):
            raise BadScope(required, "must be given, as a text")
    check_kinds(fields)
    classes, highest = fields.get("classes"), fields.get("max_sensitivity")
    return ReadScope(
        tenant=TenantId(fields["tenant"]),
        agent=AgentId(fields["agent"]),
        purpose=fields["purpose"],
        principal=principal,
        subject=fields.get("subject"),
        surface=fields.get("surface"),
        classes=None if classes is None else frozenset(_member("classes", MemoryClass, each) for each in classes),
        trust_min=_member("trust_min", Trust, fields.get("trust_min", Trust.UNTRUSTED)),
        max_sensitivity=None if highest is None else _member("max_sensitivity", Sensitivity, highest),
        max_age=fields.get("max_age"),
        require_provenance=fields.get("require_provenance", False),
    )


@dataclass(slots=True, kw_only=True)
class Reading:
    """Reads as one principal. Made by `Memory.connect`."""

    principal: PrincipalName
    gate: ControlGate
    reader: MemoryReader
    histories: HistoryReader
    tenants: TenantsReader
    tracer: Tracer
    room: Room
    meter: Meter = field(default=SILENT)

    @well_asked
    async def search(  # what, how much, as of when, and where
        self,
        query: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = _WAIT_S,
        trace_id: str | None = None,
        session_id: str | None = None,
        generation: int | None = None,
        **fields: Unpack[ScopeFields],
    ) -> SearchResult:
        """What this agent may use for this purpose; see `MemoryReader.search` for what it raises, and `Busy`.

        ``generation``: of `recall`, instead of the one that serves; with ``as_of``, how it was then.
        ``trace_id`` (a fresh one by default) and ``session_id`` are names; both stand in the trace and the result.
        """
        named("trace_id", trace_id)
        named("session_id", session_id)
        started = time.perf_counter()
        scope = scope_of(self.principal, **fields)
        reader = self.reader if generation is None else await self.reader.of_generation(scope.tenant, generation)
        with self.room.taken():
            result = await reader.search(
                scope, query, limit=limit, budget=budget, as_of=as_of, after=after, timeout=timeout
            )
        self.meter.observe(SEARCH_SECONDS, time.perf_counter() - started)
        self.meter.observe(SEARCH_RECORDS, len(result.records))
        return self.tracer.searched(
            scope,
            query,
            result,
            limit=limit,
            budget=budget,
            as_of=as_of,
            trace_id=trace_id or new_id(),
            session_id=session_id,
        )

    @well_asked
    async def why(
        self,
        memory_id: str,
        query: str,
        *,
        limit: int = 10,
        budget: int | None = None,
        as_of: Millis | None = None,
        after: str | None = None,
        timeout: float = _WAIT_S,
        **fields: Unpack[ScopeFields],
    ) -> Why:
        """Whether that same search selects the record, and why (not). Leaves a trace of kind ``inspected``.

        Of a record that this scope could read while it was in use, ``because`` says how it ended: ``superseded``,
        ``retracted`` or ``expired``.
        """
        scope = scope_of(self.principal, **fields)
        with self.room.taken():
            found = await self.reader.why(
                scope, MemoryId(memory_id), query, limit=limit, budget=budget, as_of=as_of, after=after, timeout=timeout
            )
        if found.because == NOT_FOUND:
            ended = end_of((await self._readable_history(scope, MemoryId(memory_id))).entries)
            found = replace(found, because=ended or NOT_FOUND)
            shown = None
        else:
            shown = await self.reader.get(scope, MemoryId(memory_id), as_of=as_of)
        self.tracer.inspected(
            scope.tenant,
            () if shown is None else (shown,),
            Rules(
                policy_version=found.policy_version,
                policy_hash=found.policy_hash,
                control_offset=found.control_offset,
            ),
            found.freshness,
            agent=scope.agent,
            purpose=scope.purpose,
            query=query,
            subject=scope.subject,
            max_sensitivity=found.max_sensitivity,
            limit=limit,
        )
        return found

    @well_asked
    async def history(
        self,
        tenant: str,
        memory_id: str,
        as_of: Millis | None = None,
        *,
        agent: str | None = None,
        purpose: str | None = None,
    ) -> History:
        """What happened to the record; nothing, where this scope could not have read it (see `is_readable`).

        Those who review or operate see it whatever its scope, and need not name one. Raises `ReadRefused`, `BadScope`
        where a scope is missing or the id is none, or `StoreUnavailable`.
        """
        of, which = TenantId(tenant), MemoryId(memory_id)
        if not is_uuid(memory_id):
            raise BadScope("memory_id", "is no canonical UUID")
        rule = self.gate.belongs(of)
        await entered(self.gate, self.tenants, of)
        if sees_all(rule, of):
            self.gate.check_switch(of, purpose)
            return await self.histories.history(of, which, as_of)
        agent, purpose = named_scope(agent, purpose)
        scope = scope_of(self.principal, tenant=tenant, agent=agent, purpose=purpose)
        return until(await self._readable_history(scope, which), as_of)

    async def _readable_history(self, scope: ReadScope, memory_id: MemoryId) -> History:
        """Without entries where the scope could not read it."""
        admission = self.gate.admit(scope)
        await entered(self.gate, self.tenants, scope.tenant)
        found = await self.histories.history(scope.tenant, memory_id)
        subjects = SubjectsReader(self.reader.redis, self.reader.installation)
        if await is_readable(found, scope, admission, subjects):
            return found
        return History(memory_id=memory_id, entries=(), position=found.position)


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
    writer: TraceWriter | None = None,
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
        tenants=TenantsReader(redis, installation),
        tracer=Tracer(principal=principal, writer=writer, clock=clock),
        room=Room(settings.searches_at_once),
        meter=meter,
    )
