"""Looking at what is held and at what was read: for people, and for programs that explain. It changes nothing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from eunoe.client.asking import well_asked
from eunoe.client.gate import NOT_ALLOWED, ControlGate, entered
from eunoe.client.held import read_log
from eunoe.client.history_scope import named_scope, sees_all
from eunoe.client.reading import Reading, scope_of
from eunoe.client.traces import TraceQuery, Traces, traces_of
from eunoe.client.tracing import Rules, named
from eunoe.client.write_decisions import Decided, Decisions
from eunoe.crypto.errors import KeyClosed, KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels.recall.errors import KeyStillUnknown, ReadRefused
from eunoe.readmodels.recall.inspecting import Inspection, Look, Status
from eunoe.readmodels.recall.record import StoredRecord
from eunoe.readmodels.subjects import SubjectsReader
from eunoe.readmodels.tenants import TenantStanding
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.installation import Installation
from eunoe.schemas.events import SubjectRef
from eunoe.schemas.ids import MemoryId, Millis, Offset, TenantId
from eunoe.schemas.policy import PrincipalRule
from eunoe.schemas.traces import TraceKind
from eunoe.schemas.values import Action, MemoryClass

_NO_KEYS: Final = b"-"
"""No conversation is known by it: of a tenant whose keys are not known."""


@dataclass(slots=True, kw_only=True)
class Looking:
    """Looks as the principal of ``reading``. ``kafka``: where traces are kept."""

    kafka: Bootstrap
    installation: Installation
    keyring: Keyring
    reading: Reading

    @property
    def _gate(self) -> ControlGate:
        return self.reading.gate

    @well_asked
    async def inspect(
        self,
        *,
        tenant: str,
        agent: str | None = None,
        purpose: str | None = None,
        subject: str | None = None,
        classes: Collection[MemoryClass] | None = None,
        kinds: Collection[str] | None = None,
        statuses: Collection[Status] | None = None,
        limit: int = 50,
        after: str | None = None,
        timeout: float = 5.0,
    ) -> Inspection:
        """What is held, newest first, with provenance, revision, trust, confirmation and expiry.

        Needs the right ``read``. Whoever may neither review nor operate has to say whose memory and what for (``agent``
        and ``purpose``), and sees what that agent could use: its own records and the shared ones. What is quarantined
        is shown to those with ``review``, what is kept for certain surfaces to those with ``review`` or ``operate``.
        Nothing is shown that the policy and the switches do not let this principal read for one of the record's
        purposes. Leaves a trace of kind ``inspected``. Raises as `search`.
        """
        of, principal = TenantId(tenant), self.reading.principal
        rule = self._gate.check(of, purpose=purpose)
        if not sees_all(rule, of):
            agent, purpose = named_scope(agent, purpose)
        if purpose is not None:
            self._gate.admit(scope_of(principal, tenant=tenant, agent=agent or "any", purpose=purpose))
        if statuses is not None and Status.QUARANTINED in statuses and not rule.may(Action.REVIEW, of):
            raise ReadRefused(NOT_ALLOWED, of)
        look = Look(
            tenant=of,
            may_see=lambda record, status: self._may_see(of, rule, purpose, record, status),
            agent=agent,
            shared=not sees_all(rule, of),
            purpose=purpose,
            subject=subject,
            classes=None if classes is None else frozenset(classes),
            kinds=None if kinds is None else frozenset(kinds),
            statuses=None if statuses is None else frozenset(statuses),
        )
        found = await self.reading.reader.inspect(look, limit=limit, after=after, timeout=timeout)
        state = self._gate.state
        assert state.policy is not None, "the gate was passed"
        self.reading.tracer.inspected(
            of,
            [each.record for each in found.records],
            Rules(policy_version=state.policy.version, policy_hash=state.policy.hash, control_offset=state.offset),
            found.freshness,
            agent=agent,
            purpose=purpose,
            subject=subject,
            max_sensitivity=rule.max_sensitivity,
            limit=limit,
        )
        return found

    def _may_see(
        self, tenant: TenantId, rule: PrincipalRule, purpose: str | None, record: StoredRecord, status: Status
    ) -> bool:
        if status is Status.QUARANTINED and not rule.may(Action.REVIEW, tenant):
            return False
        if record.surfaces and not sees_all(rule, tenant):
            return False
        purposes = record.purposes if purpose is None else (purpose,)
        return any(self._gate.allows(tenant, rule, each, record.sensitivity) for each in purposes)

    @well_asked
    async def holds(self, tenant: str) -> Sequence[tuple[SubjectRef, Millis]]:
        """Who is under a legal hold, with its review date, the earliest first. Raises `ReadRefused`."""
        of = TenantId(tenant)
        rule = self._gate.belongs(of)
        if not (rule.may(Action.HOLD, of) or rule.may(Action.ERASE, of)):
            raise ReadRefused(NOT_ALLOWED, of)
        await self._entered(of)
        return await SubjectsReader(self.reading.reader.redis, self.installation).holds(of)

    @well_asked
    async def decisions(
        self,
        tenant: str,
        *,
        since: Millis | None = None,
        memory_id: str | None = None,
        session_id: str | None = None,
    ) -> tuple[Decided, ...]:
        """What became of each candidate, in the order of the log; with ``session_id``, of what one conversation asked
        for. A principal sees what it asked for and what became
        of what it wrote; those with ``operate`` or ``review`` all of the tenant. Raises as `traces`."""
        of = TenantId(tenant)
        rule = self._gate.belongs(of)
        sees_all = rule.may(Action.OPERATE, of) or rule.may(Action.REVIEW, of)
        await self._entered(of)
        found = Decisions(
            tenant=of,
            mine=None if sees_all else self.reading.principal,
            since=since,
            memory_id=None if memory_id is None else MemoryId(memory_id),
            session=None if session_id is None else await self._session(of, session_id),
        )
        await read_log(self.kafka, self.installation, of, Offset(0), found.take)
        if found.session == _NO_KEYS and found.has_keys:
            raise KeyStillUnknown(of, None)
        return found.shown()

    async def _entered(self, tenant: TenantId) -> TenantStanding:
        return await entered(self._gate, self.reading.tenants, tenant)

    async def _session(self, tenant: TenantId, session_id: str) -> bytes:
        """How the log knows the conversation. Of a tenant that never had keys it knows none."""
        named("session_id", session_id)
        try:
            return (await self.keyring.tenant(tenant)).session_reference(session_id)
        except KeyClosed:
            return b""
        except KeyUnknown:
            return _NO_KEYS

    @well_asked
    async def traces(
        self,
        tenant: str,
        *,
        since: Millis | None = None,
        trace_id: str | None = None,
        session_id: str | None = None,
        memory_id: str | None = None,
        kind: TraceKind | None = None,
    ) -> Traces:
        """Traces of reads. A principal sees its own; those with ``operate`` or ``review`` see all of the tenant's.

        What was asked is opened for the reader itself and for ``operate``. ``memory_id``: the traces that delivered it.
        Also while reads are switched off. Raises `ReadRefused`, `BrokerAway`.
        """
        of, principal = TenantId(tenant), self.reading.principal
        rule = self._gate.belongs(of)
        operates = rule.may(Action.OPERATE, of)
        sees_all = operates or rule.may(Action.REVIEW, of)
        if not sees_all and not rule.may(Action.READ, of):
            raise ReadRefused(NOT_ALLOWED, of)
        standing = await self._entered(of)
        return await traces_of(
            self.kafka,
            self.installation,
            self.keyring,
            TraceQuery(
                tenant=of,
                since=max(since or Millis(0), standing.since) or None,
                trace_id=trace_id,
                session_id=session_id,
                memory_id=None if memory_id is None else MemoryId(memory_id),
                kind=kind,
            ),
            may_see=lambda trace: sees_all or trace.principal == principal,
            may_open=lambda trace: operates or trace.principal == principal,
        )
