"""`Memory`: what agent developers use. One object writes, waits for outcomes and reads, without Kafka in sight.

    async with Memory.connect() as memory:  # where `eunoe up` was called, or with settings
        outcome = await memory.remember(
            "Prefers tea.", tenant="acme", agent="bot", purposes=["support"], source={"kind": "user_explicit", …}
        )
        found = await memory.search("tea", tenant="acme", agent="bot", purpose="support", after=outcome.token)

The fields of the writing methods are those of a line of `eunoe ingest` (`eunoe.client.lines`), checked the same way.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from eunoe.client.asking import check_kinds
from eunoe.client.dead_letters import Letter, letters_of
from eunoe.client.exporting import Exporting, TenantExport
from eunoe.client.gate import ControlGate
from eunoe.client.importing import Importing, ImportReport
from eunoe.client.line_problems import BadLine
from eunoe.client.lines import Line, RememberLine, line_of, origin_of
from eunoe.client.looking import Looking
from eunoe.client.no_memory import NoMemory, or_no_memory
from eunoe.client.reading import Reading, make_reading
from eunoe.client.review_shown import Shown
from eunoe.client.reviewing import Reviewing, make_reviewing
from eunoe.client.traces import Traces
from eunoe.client.write_decisions import Decided
from eunoe.client.writing import placed, send
from eunoe.crypto.cache import CacheLimits
from eunoe.crypto.keyring import Keyring
from eunoe.producers.checks import seconds
from eunoe.producers.client import Asked, MemoryProducer, Sent
from eunoe.producers.errors import KeyRefused, NoKeyYet
from eunoe.producers.proposal import Placed
from eunoe.producers.traces import AccessKeys, TraceWriter
from eunoe.readmodels.history_reader import History
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.outcome_reader import OutcomeReader
from eunoe.readmodels.recall.inspecting import Inspection
from eunoe.readmodels.recall.result import SearchResult
from eunoe.readmodels.recall.why import Why
from eunoe.readmodels.review_items import Page
from eunoe.readmodels.store import answers
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import following_control
from eunoe.runtime.holding import holding
from eunoe.runtime.installation import Installation, bind_redis, read_installation
from eunoe.runtime.kek import kek_of
from eunoe.runtime.metrics import SILENT, Meter
from eunoe.runtime.principals import secrets_of
from eunoe.runtime.redis.awaited import awaited_redis
from eunoe.runtime.redis.connect import user_of
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.runtime.settings_here import settings_here
from eunoe.schemas.events import SubjectRef
from eunoe.schemas.ids import CommandId, Millis, PrincipalName, TenantId, is_uuid, new_id
from eunoe.schemas.outcomes import Outcome

TIMEOUT_S: Final = 15.0
"""For an outcome. A command without one by then may still be decided; its id stays valid to ask for."""

_PROBE_S: Final = 1.0

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Memory:
    """One principal's memory client. Made by `connect`; belongs to one event loop."""

    settings: Settings
    installation: Installation
    producer: MemoryProducer
    outcomes: OutcomeReader
    keyring: Keyring
    reading: Reading
    looking: Looking
    reviewing: Reviewing
    exporting: Exporting
    importing: Importing

    @staticmethod
    @asynccontextmanager
    async def connect(
        settings: Settings | None = None, *, principal: str | None = None, meter: Meter = SILENT
    ) -> AsyncIterator["Memory"]:
        """``settings`` None: those that the command line has here (see `settings_here`). ``principal``: who calls,
        instead of whom the settings say.

        Does not wait for Redis: without it writing and reading raise `StoreUnavailable` or `KeySourceUnavailable`,
        `try_search` gives `NoMemory`, and once Redis is back they work. Raises `SettingsError`, also without a
        principal, ``SecretUnusable``, ``KekUnusable``, and `BrokerAway`: without Kafka nobody knows who may read.
        """
        if settings is None:
            settings = settings_here(principal)
        elif principal is not None:
            settings = replace(settings, principal=PrincipalName(principal))
        if settings.principal is None:
            problem = "must say who calls (on the command line: --as NAME); `eunoe up` sets one for development"
            raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", problem),))
        principal, kek, clock = settings.principal, kek_of(settings), SystemClock()
        secrets = secrets_of(settings, principal)
        async with AsyncExitStack() as closing:
            installation = await read_installation(settings.brokers, settings.topics)
            redis = await closing.enter_async_context(
                awaited_redis(settings.redis, lambda found: bind_redis(found, installation))
            )
            follower = await closing.enter_async_context(
                following_control(settings.brokers, installation, settings.control_signers)
            )
            await closing.enter_async_context(
                holding("client", kek, follower, redis, user_of(settings.redis), installation)
            )
            source = RedisKeySource(redis, installation)
            keyring = Keyring(installation.log_id, kek, source, clock.now, CacheLimits(age=settings.key_cache_age))
            outcomes = OutcomeReader(redis, installation)
            closing.push_async_callback(outcomes.aclose)
            producer = MemoryProducer(
                settings,
                installation,
                principal=principal,
                secrets=secrets,
                keyring=keyring,
                policy=lambda: follower.state.policy,
                outcomes=outcomes,
                clock=clock,
            )
            await closing.enter_async_context(producer)
            keys = AccessKeys(keyring, source, producer.ask_key, outcomes)
            writer = TraceWriter(settings.brokers, installation, keys, meter=meter)
            await closing.enter_async_context(writer)
            reading = make_reading(
                settings,
                principal=principal,
                gate=ControlGate(follower, principal, secrets),
                redis=redis,
                installation=installation,
                keyring=keyring,
                clock=clock,
                meter=meter,
                writer=writer,
            )
            yield Memory(
                settings=settings,
                installation=installation,
                producer=producer,
                outcomes=outcomes,
                keyring=keyring,
                reading=reading,
                looking=Looking(kafka=settings.brokers, installation=installation, keyring=keyring, reading=reading),
                reviewing=make_reviewing(reading),
                exporting=Exporting(
                    settings=settings,
                    installation=installation,
                    principal=principal,
                    producer=producer,
                    keyring=keyring,
                    redis=redis,
                    clock=clock,
                ),
                importing=Importing(producer=producer, policy=lambda: follower.state.policy),
            )

    # Writing. Each raises `BadLine` for its fields, and else what `perform` raises.

    async def remember(self, statement: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Write a memory down. ``fields``: tenant, agent, purposes, source, …; see `RememberLine`.

        ``derived_from``: the memories it is built on, as a search returned them or as ``{"memory_id", "version"}``. It
        goes with any one of them.
        """
        return await self._do("remember", timeout, statement=statement, **fields)

    async def correct(
        self, memory_id: str, statement: str, *, expected_version: int, timeout: float = TIMEOUT_S, **fields: Any
    ) -> Outcome:
        """Put a new memory in the place of ``memory_id``, if that is still at ``expected_version``."""
        named = {"supersedes": memory_id, "expected_version": expected_version}
        return await self._do("correct", timeout, statement=statement, **named, **fields)

    async def promote(self, memory_id: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Let a quarantined memory into use. ``fields``: tenant, expected_version, idempotency_key, and ``replaces``:
        the ``memory_id`` and ``version`` of one that gives way; what else contradicts it stays, in conflict with it."""
        return await self._do("promote", timeout, memory_id=memory_id, **fields)

    async def reject(self, memory_id: str, *, reason: str, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Keep a quarantined memory out for good."""
        return await self._do("reject", timeout, memory_id=memory_id, reason=reason, **fields)

    async def confirm(self, memory_id: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Stand behind a proposed memory."""
        return await self._do("confirm", timeout, memory_id=memory_id, **fields)

    async def resolve(self, memory_id: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Answer an open conflict: this memory holds. ``fields``: tenant, expected_version, idempotency_key, and
        ``over``: ``memory_id`` and ``version`` of all that it contradicts, as they were seen; they give way."""
        return await self._do("resolve", timeout, memory_id=memory_id, **fields)

    async def retract(self, memory_id: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Take a memory back."""
        return await self._do("retract", timeout, memory_id=memory_id, **fields)

    async def suspend(
        self, memory_id: str, *, reasons: Sequence[str], timeout: float = TIMEOUT_S, **fields: Any
    ) -> Outcome:
        """Send a memory that is in use back to waiting for a person: no reader gets it until somebody approves it."""
        return await self._do("suspend", timeout, memory_id=memory_id, reasons=list(reasons), **fields)

    async def forget_memory(self, memory_id: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Render one memory unreadable in reads; its sealed text stays in the log until its key is destroyed."""
        return await self._do("forget", timeout, memory_id=memory_id, **fields)

    async def forget_subject(self, subject: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Render all about a person unreadable, and take nothing new.

        Whoever may only ask gets ``ForgettingRequested``, as everybody does under a legal hold: nobody reads from then
        on, and nothing is destroyed yet (``due_at``: when it is, by itself).
        """
        return await self._do("forget", timeout, subject=subject, **fields)

    async def readmit(self, subject: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Allow new memories about a forgotten person. Nothing old comes back."""
        return await self._do("readmit", timeout, subject=subject, **fields)

    async def forget_tenant(self, tenant: str, *, timeout: float = TIMEOUT_S) -> Outcome:
        """Render a whole tenant unreadable: everybody in it, and its own keys. Needs the right ``erase``.

        Where the policy asks for two people the first gets ``TenantActionProposed``. Under a legal hold on anybody in
        it: ``TenantForgettingRequested``, nobody reads it from then on, and it runs when the last hold lifts.
        """
        standing = await self.reading.tenants.standing(TenantId(tenant))
        sent = await self.producer.forget_tenant(TenantId(tenant), standing.incarnation)
        return await sent.outcome(timeout)

    async def readmit_tenant(self, tenant: str, *, timeout: float = TIMEOUT_S) -> Outcome:
        """Let the name of a forgotten tenant stand for a new one, which starts empty. Nothing old comes back.

        Needs the right ``readmit``, and two people as `forget_tenant`.
        """
        standing = await self.reading.tenants.standing(TenantId(tenant))
        sent = await self.producer.readmit_tenant(TenantId(tenant), standing.incarnation)
        return await sent.outcome(timeout)

    async def withdraw(self, subject: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """Take back a request to forget a person that was not carried out yet."""
        return await self._do("withdraw", timeout, subject=subject, **fields)

    async def hold(self, subject: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """A legal hold on a person until it is lifted. ``fields``: tenant, review_at (a datetime with its offset)."""
        return await self._do("hold", timeout, subject=subject, **fields)

    async def lift_hold(self, subject: str, *, timeout: float = TIMEOUT_S, **fields: Any) -> Outcome:
        """The hold is over. Where the policy asks for two people the first gets ``ActionProposed``."""
        return await self._do("lift_hold", timeout, subject=subject, **fields)

    async def perform(self, line: Line, *, timeout: float = TIMEOUT_S) -> Outcome:
        """Send the command and wait for what becomes of it; a refusal is an outcome, not an error.

        Raises `NoOutcome` after ``timeout`` seconds, `NotSent` or `NoKeyYet` where the world does not answer,
        `TooLarge` or ``TextRefused`` for what cannot be sent.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds("timeout", timeout)
        try:
            async with asyncio.timeout_at(deadline):
                sent = await self.send(line)
        except KeyRefused as refused:
            return refused.outcome
        except (TimeoutError, NoKeyYet) as missing:
            await self._check_store()
            raise NoKeyYet(TenantId(line.tenant), timeout) from missing
        try:
            async with asyncio.timeout_at(deadline):
                await sent.written()
        except TimeoutError:
            raise sent.given_up(timeout) from None
        return await sent.outcome(max(0.0, deadline - clock()))

    async def send(self, line: Line, *, idempotency_key: str | None = None, ready: Placed | None = None) -> Sent:
        """Only send it. ``idempotency_key`` where the line has none: a fresh one. ``ready``: what `place` gave."""
        key = line.idempotency_key or idempotency_key or new_id()
        return await send(self.producer, line, Asked(idempotency_key=key, session_id=line.session_id), ready)

    def place(self, line: Line) -> Placed | None:
        """What a remembering line will be, for `prefetch` and `send`; None for other commands."""
        return placed(self.producer, line) if isinstance(line, RememberLine) else None

    def has_keys(self, ready: Placed) -> bool:
        """Whether `send` would not have to wait for keys."""
        return self.producer.has_keys(ready)

    async def prefetch(self, ready: Placed) -> None:
        """Ask for its keys ahead, so that `send` need not wait. Raises what `send` would."""
        await self.producer.prefetch(ready)

    # Reading.

    async def search(self, query: str, **scope: Any) -> SearchResult:
        """What an agent may use now, ranked: see `Reading.search` for the scope's fields.

        Raises `ReadRefused` where this may not be read (``reads_off``: memory is switched off, and ``fallback`` says
        what to do without), and `StoreUnavailable` and others where the world is away. For an agent that goes on
        without memory then, there is `try_search`.
        """
        return await self.reading.search(query, **scope)

    async def try_search(self, query: str, *, timeout: float = 5.0, **scope: Any) -> SearchResult | NoMemory:
        """`search` for an agent that can go on without memory: `NoMemory`, with the reason and the purpose's fallback,
        where memory is switched off, or Redis or the keys are away or too far behind: after about ``timeout`` seconds
        at the latest.

        What is the caller's fault is still raised: an unknown purpose is no reason to go on without memory.
        """
        check_kinds({"timeout": timeout, **scope})
        fallback = self.reading.gate.fallback(scope.get("purpose"))
        return await or_no_memory(self.reading.search(query, timeout=timeout, **scope), fallback, timeout)

    async def why(self, memory_id: str, query: str, **scope: Any) -> Why:
        """Whether `search` with the same arguments selects the record, and why (not). Changes nothing.

        Of a record outside the scope it says ``not_found``, as of one that never was there.
        """
        return await self.reading.why(memory_id, query, **scope)

    async def inspect(self, **filters: Any) -> Inspection:
        """What is held, newest first: see `Looking.inspect`."""
        return await self.looking.inspect(**filters)

    async def traces(self, tenant: str, **filters: Any) -> Traces:
        """What was given to whom: see `Looking.traces`."""
        return await self.looking.traces(tenant, **filters)

    async def decisions(self, tenant: str, **filters: Any) -> tuple[Decided, ...]:
        """As `Looking.decisions`."""
        return await self.looking.decisions(tenant, **filters)

    async def history(self, tenant: str, memory_id: str, as_of: Millis | None = None, **scope: Any) -> History:
        """How a record came to be what it is. ``agent`` and ``purpose``: see `Reading.history`."""
        return await self.reading.history(tenant, memory_id, as_of, **scope)

    async def reviews(self, tenant: str, **filters: Any) -> Page:
        """What waits for a person, oldest first: see `Reviewing.reviews`. Needs the right ``review``."""
        return await self.reviewing.reviews(tenant, **filters)

    async def review(self, memory_id: str, tenant: str, **waiting: Any) -> Shown | None:
        """What waits under this id, opened, with all that a decision needs; None where nothing does."""
        return await self.reviewing.review(memory_id, tenant, **waiting)

    async def holds(self, tenant: str) -> Sequence[tuple[SubjectRef, Millis]]:
        """Who is under a legal hold, and when somebody has to look at it. Needs the right ``hold`` or ``erase``."""
        return await self.looking.holds(tenant)

    async def export_subject(self, subject: str, *, tenant: str, **how: Any) -> dict[str, Any]:
        """All that is held on a person, as a signed document: see `Exporting.subject`. Needs the right ``export``."""
        return await self.exporting.subject(subject, tenant=tenant, **how)

    async def export_tenant(self, *, tenant: str, **how: Any) -> TenantExport:
        """All that is held in a tenant, to be brought in elsewhere: see `Exporting.everything`."""
        return await self.exporting.everything(tenant=tenant, **how)

    async def import_file(self, content: bytes, *, tenant: str | None = None) -> ImportReport:
        """Bring an export of a tenant in: see `Importing.file`. Needs the right ``import``."""
        return await self.importing.file(content, tenant=tenant)

    async def outcome(self, tenant: str, command_id: str) -> Outcome | None:
        """What became of a command; None where nothing is known (yet, or any more). Raises `ReadRefused`."""
        self.reading.gate.belongs(TenantId(tenant))
        return await self.outcomes.outcome(TenantId(tenant), CommandId(command_id))

    async def dead_letters(self, command_id: str) -> tuple[Letter, ...]:
        """Dead letters that claim to be this command. They prove nothing: nobody authenticated them."""
        if not is_uuid(command_id):
            return ()
        return await letters_of(self.settings.brokers, self.installation, self.keyring, CommandId(command_id))

    async def _check_store(self) -> None:
        """Raises `StoreUnavailable`: then it is not for want of a worker or a right that no key came."""
        with answers("looking for a key"):
            async with asyncio.timeout(_PROBE_S):
                await self.reading.reader.redis.get("eunoe:is-it-there")

    async def _do(self, operation: str, timeout: float, **fields: Any) -> Outcome:
        if "derived_from" in fields:
            fields["derived_from"] = [origin_of(each) for each in fields["derived_from"]]
        return await self.perform(line_of({"op": operation, **fields}), timeout=timeout)


__all__ = ["BadLine", "Memory", "NoMemory"]
