"""From a read to its trace: what was delivered, to whom, why and under which rules; nothing of what it said."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from eunoe.producers.traces import NO_KEY, TraceWriter
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.result import Freshness, RecalledMemory, SearchResult
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.runtime.clock import Clock, SystemClock
from eunoe.schemas.ids import AgentId, MemoryId, Millis, Offset, PrincipalName, TenantId, is_name, new_id
from eunoe.schemas.traces import Asked, Delivered, LeftOut, Limits, OverBudget, Trace, TraceKind
from eunoe.schemas.values import MemoryClass, Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The policy that a read was let in by."""

    policy_version: int
    policy_hash: str
    control_offset: int


@dataclass(slots=True, kw_only=True)
class Tracer:
    """Makes traces of one principal's reads. ``writer`` None: nobody keeps them here."""

    principal: PrincipalName
    writer: TraceWriter | None = None
    clock: Clock = field(default_factory=SystemClock)

    def searched(  # the read as it was asked, and what came of it
        self,
        scope: ReadScope,
        query: str,
        result: SearchResult,
        *,
        limit: int,
        budget: int | None,
        as_of: Millis | None,
        trace_id: str,
        session_id: str | None,
    ) -> SearchResult:
        """``result``, saying which trace is its own and whether that was taken."""
        trace = Trace(
            trace_id=trace_id,
            session_id=session_id,
            kind=TraceKind.SEARCHED,
            tenant=scope.tenant,
            principal=scope.principal,
            agent=scope.agent,
            purpose=scope.purpose,
            surface=scope.surface,
            at=self.clock.now(),
            limits=_limits(scope, result.max_sensitivity, limit, budget, as_of),
            policy_version=result.policy_version,
            policy_hash=result.policy_hash,
            control_offset=Offset(result.control_offset),
            delivered=_delivered(result.records),
            excluded=tuple(LeftOut(reason=reason, count=count) for reason, count in result.excluded.items()),
            examined=result.examined,
            capped=result.capped,
            skipped=tuple(OverBudget(memory_id=MemoryId(each.id), tokens=each.tokens) for each in result.skipped),
            used_tokens=result.used_tokens,
            empty=None if result.empty is None else result.empty.value,
            position=result.freshness.position,
            lag=result.freshness.lag,
            key_id=NO_KEY,
            sealed=b"",
        )
        traced = self._offer(trace, Asked(query, scope.subject))
        return replace(result, trace_id=trace_id, session_id=session_id, traced=traced)

    def inspected(  # who looked at what, under which rules
        self,
        tenant: TenantId,
        records: Iterable[RecalledMemory],
        rules: Rules,
        freshness: Freshness,
        *,
        agent: str | None,
        purpose: str | None,
        query: str = "",
        subject: str | None = None,
        max_sensitivity: Sensitivity,
        limit: int,
    ) -> None:
        """A look: it delivers nothing to an agent, and is told apart from what does."""
        trace = Trace(
            trace_id=new_id(),
            kind=TraceKind.INSPECTED,
            tenant=tenant,
            principal=self.principal,
            agent=None if agent is None else AgentId(agent),
            purpose=purpose,
            at=self.clock.now(),
            limits=Limits(max_sensitivity=max_sensitivity, limit=limit),
            policy_version=rules.policy_version,
            policy_hash=rules.policy_hash,
            control_offset=Offset(rules.control_offset),
            delivered=_delivered(tuple(records)),
            position=freshness.position,
            lag=freshness.lag,
            key_id=NO_KEY,
            sealed=b"",
        )
        self._offer(trace, Asked(query, subject))

    def _offer(self, trace: Trace, asked: Asked) -> bool:
        return self.writer is not None and self.writer.offer(trace, asked)


def named(field_name: str, given: str | None) -> str | None:
    """An id of the caller's own, if it may stand in the clear. Raises `BadScope`."""
    if given is not None and not is_name(given):
        raise BadScope(field_name, "not a name")
    return given


def _limits(
    scope: ReadScope, max_sensitivity: Sensitivity, limit: int, budget: int | None, as_of: Millis | None
) -> Limits:
    return Limits(
        classes=() if scope.classes is None else tuple(each for each in MemoryClass if each in scope.classes),
        trust_min=scope.trust_min,
        max_sensitivity=max_sensitivity,
        max_age=scope.max_age,
        require_provenance=scope.require_provenance,
        limit=limit,
        budget=budget,
        as_of=as_of,
    )


def _delivered(records: Sequence[RecalledMemory]) -> tuple[Delivered, ...]:
    return tuple(
        Delivered(
            memory_id=each.memory_id,
            version=each.version,
            memory_class=each.memory_class,
            trust=each.trust,
            confirmation=each.confirmation,
            source_kind=each.source_kind,
            score=each.score,
            reasons=each.reasons,
            conflicts=each.conflicts,
        )
        for each in records
    )
