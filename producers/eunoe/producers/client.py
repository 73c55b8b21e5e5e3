"""`MemoryProducer`: commands onto ``memory-events``, sealed, signed and keyed by tenant; one method per command.

What comes back is `Sent`: a command id at once, and on request the proof that Kafka has it, or the outcome. Nothing is
reported as written that Kafka did not confirm. Commands reach a partition in the order in which the methods return.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from msgspec.structs import replace

from eunoe.crypto.keyring import Keyring
from eunoe.crypto.signatures import Algorithm as MacAlgorithm
from eunoe.crypto.signatures import Secret
from eunoe.producers.errors import NoSecret, NotSent, TooLarge
from eunoe.producers.key_requests import KeyRequests, OutcomeSource
from eunoe.producers.proposal import Placed, Proposal, body_of, draft_of, place
from eunoe.runtime.clock import Clock, SystemClock
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import COMMANDS, ENVELOPES
from eunoe.schemas.commands import (
    Command,
    ConfirmMemory,
    CorrectMemory,
    ForgetMemory,
    ForgetSubject,
    IssueKey,
    PromoteMemory,
    ReadmitSubject,
    RejectMemory,
    RememberMemory,
    RetractMemory,
)
from eunoe.schemas.envelope import TRACEPARENT_HEADER, Envelope, signed_bytes
from eunoe.schemas.ids import CommandId, MemoryId, MessageId, Millis, PrincipalName, TenantId, new_id
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.policy import Limits, Policy
from eunoe.schemas.topics import Topic

MAC_LIFETIME_MS: Final = 86_400_000
"""For how long a command counts after it was signed: a backlog of a day is decided, a replay of last week is not."""
_MAX_REQUEST_BYTES: Final = 1_000_000
_LINGER_MS: Final = 2
_SIGNED: Final = (PromoteMemory, RejectMemory, ConfirmMemory, ForgetMemory, ForgetSubject, ReadmitSubject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What goes with every command. ``command_id``: that of an earlier attempt, when this is a retry of it."""

    idempotency_key: str
    command_id: CommandId | None = None
    causation: str | None = None
    correlation: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command on its way. ``memory_id``: of the record that it would create."""

    command_id: CommandId
    tenant: TenantId
    memory_id: MemoryId | None
    _acknowledged: "asyncio.Future[Any]"
    _outcomes: OutcomeSource | None

    async def written(self) -> CommandId:
        """Returns when Kafka has it on all in-sync replicas. Raises `NotSent`."""
        try:
            await asyncio.shield(self._acknowledged)
        except KafkaError as error:
            raise NotSent(type(error).__name__) from error
        return self.command_id

    async def outcome(self, timeout: float) -> Outcome:
        """What became of it. Raises `NotSent` where Kafka has not confirmed it within ``timeout`` seconds, else what
        the source raises when they are over."""
        if self._outcomes is None:
            raise RuntimeError("this producer was made without an OutcomeSource")
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        try:
            async with asyncio.timeout(timeout):
                await self.written()
        except TimeoutError:
            raise NotSent(f"no answer within {timeout:g} s") from None
        return await self._outcomes.wait(self.tenant, self.command_id, max(0.0, deadline - clock()))


class MemoryProducer:
    """Sends as one principal. `start` before, `stop` after; belongs to one event loop.

    ``policy``: the one in force, for default TTLs, buckets and size limits; what it says is judged by the decider.
    """

    def __init__(
        self,
        settings: Settings,
        installation: Installation,
        *,
        principal: PrincipalName,
        secrets: Iterable[Secret],
        keyring: Keyring,
        policy: Callable[[], Policy | None] = lambda: None,
        outcomes: OutcomeSource | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._installation = installation
        self._topic = installation.topic(Topic.EVENTS)
        self._principal = principal
        self._secrets = {secret.algorithm: secret for secret in reversed(tuple(secrets))}
        self._policy = policy
        self._outcomes = outcomes
        self._clock = clock or SystemClock()
        self._keyring = keyring
        self._keys = KeyRequests(keyring, self._ask_key, outcomes)
        self._producer = AIOKafkaProducer(
            bootstrap_servers=settings.kafka,
            acks="all",
            enable_idempotence=True,
            linger_ms=_LINGER_MS,
            max_request_size=_MAX_REQUEST_BYTES,
            max_batch_size=_MAX_REQUEST_BYTES // 4,
            request_timeout_ms=settings.delivery_timeout,
        )

    async def start(self) -> None:
        """Raises aiokafka's ``KafkaConnectionError`` where no broker answers."""
        await self._producer.start()

    async def stop(self) -> None:
        """Send what is buffered, and close."""
        await self._keys.aclose()
        await self._producer.stop()

    # New records.

    def place(self, proposal: Proposal, memory_id: MemoryId | None = None) -> Placed:
        """Choose the record's id, end and bucket: what `prefetch` and the sending methods take."""
        return place(proposal, memory_id or MemoryId(new_id()), self._policy(), self._clock.now())

    def has_keys(self, placed: Placed) -> bool:
        """Whether the keys that sending ``placed`` needs are here already."""
        tenant = placed.proposal.tenant
        keys = self._keyring.cached_tenant(tenant)
        if keys is None:
            return False
        subject = keys.pseudonym(placed.proposal.subject)
        return self._keyring.cached_sealing_cipher(tenant, subject, placed.bucket) is not None

    async def prefetch(self, placed: Placed) -> None:
        """Ask for the keys that sending ``placed`` will need, so that it need not wait. Raises like sending it."""
        tenant = placed.proposal.tenant
        keys = await self._keys.tenant(tenant)
        await self._keys.sealing(tenant, keys.pseudonym(placed.proposal.subject), placed.bucket)

    async def remember(self, new: Proposal | Placed, asked: Asked, *, expected_version: int = 0) -> Sent:
        """Raises `TooLarge`, `KeyRefused`, `NoKeyYet`, `NotSent`, ``TextRefused``."""
        draft, hashed = await self._draft(new, asked)
        tenant = _plain(new).tenant
        command = RememberMemory(tenant=tenant, draft=draft, expected_version=expected_version, idempotency=hashed)
        return await self._send(command, asked, draft.memory_id)

    async def correct(
        self, new: Proposal | Placed, asked: Asked, *, supersedes: MemoryId, expected_version: int
    ) -> Sent:
        """As `remember`, in the place of ``supersedes``."""
        draft, hashed = await self._draft(new, asked)
        command = CorrectMemory(
            tenant=_plain(new).tenant,
            draft=draft,
            supersedes=supersedes,
            expected_version=expected_version,
            idempotency=hashed,
        )
        return await self._send(command, asked, draft.memory_id)

    # One record. Each raises `KeyRefused`, `NoKeyYet` (a tenant that was never opened), `NoSecret`, `NotSent`.

    async def promote(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked) -> Sent:
        hashed = await self._hashed(tenant, asked)
        return await self._send(PromoteMemory(
            tenant=tenant, memory_id=memory_id, expected_version=expected_version, idempotency=hashed
        ), asked)  # fmt: skip

    async def reject(
        self, tenant: TenantId, memory_id: MemoryId, expected_version: int, reason: str, asked: Asked
    ) -> Sent:
        hashed = await self._hashed(tenant, asked)
        return await self._send(RejectMemory(
            tenant=tenant, memory_id=memory_id, expected_version=expected_version, reason=reason, idempotency=hashed
        ), asked)  # fmt: skip

    async def confirm(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked) -> Sent:
        hashed = await self._hashed(tenant, asked)
        return await self._send(ConfirmMemory(
            tenant=tenant, memory_id=memory_id, expected_version=expected_version, idempotency=hashed
        ), asked)  # fmt: skip

    async def retract(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked) -> Sent:
        hashed = await self._hashed(tenant, asked)
        return await self._send(RetractMemory(
            tenant=tenant, memory_id=memory_id, expected_version=expected_version, idempotency=hashed
        ), asked)  # fmt: skip

    async def forget_memory(self, tenant: TenantId, memory_id: MemoryId, asked: Asked) -> Sent:
        hashed = await self._hashed(tenant, asked)
        return await self._send(ForgetMemory(tenant=tenant, memory_id=memory_id, idempotency=hashed), asked)

    # One person.

    async def forget_subject(self, tenant: TenantId, subject: str | None, asked: Asked) -> Sent:
        keys = await self._keys.tenant(tenant)
        hashed = keys.idempotency_hash(asked.idempotency_key)
        return await self._send(
            ForgetSubject(tenant=tenant, subject=keys.pseudonym(subject), idempotency=hashed), asked
        )

    async def readmit_subject(self, tenant: TenantId, subject: str | None, asked: Asked) -> Sent:
        keys = await self._keys.tenant(tenant)
        hashed = keys.idempotency_hash(asked.idempotency_key)
        return await self._send(
            ReadmitSubject(tenant=tenant, subject=keys.pseudonym(subject), idempotency=hashed), asked
        )

    async def _draft(self, new: Proposal | Placed, asked: Asked):  # type: ignore[no-untyped-def]
        placed = self.place(new) if isinstance(new, Proposal) else new
        policy = self._policy()
        body = body_of(placed.proposal, Limits() if policy is None else policy.limits)
        tenant = placed.proposal.tenant
        keys = await self._keys.tenant(tenant)
        cipher = await self._keys.sealing(tenant, keys.pseudonym(placed.proposal.subject), placed.bucket)
        return draft_of(placed, body, keys, cipher), keys.idempotency_hash(asked.idempotency_key)

    async def _hashed(self, tenant: TenantId, asked: Asked) -> bytes:
        return (await self._keys.tenant(tenant)).idempotency_hash(asked.idempotency_key)

    async def _ask_key(self, request: IssueKey) -> CommandId:
        sent = await self._send(request, Asked(idempotency_key=""))
        return await sent.written()

    async def _send(self, command: Command, asked: Asked, memory_id: MemoryId | None = None) -> Sent:
        command_id = asked.command_id or CommandId(new_id())
        value = ENVELOPES.encode(self._signed(command, command_id, asked))
        headers = [] if asked.traceparent is None else [(TRACEPARENT_HEADER, asked.traceparent.encode())]
        try:
            acknowledged = await self._producer.send(
                self._topic,
                value,
                key=command.tenant.encode(),
                partition=self._installation.partition_of(command.tenant),
                headers=headers,
            )
        except MessageSizeTooLargeError:
            raise TooLarge("record", _MAX_REQUEST_BYTES, len(value)) from None
        except KafkaError as error:
            raise NotSent(type(error).__name__) from error
        return Sent(
            command_id=command_id,
            tenant=command.tenant,
            memory_id=memory_id,
            _acknowledged=acknowledged,
            _outcomes=self._outcomes,
        )

    def _signed(self, command: Command, command_id: CommandId, asked: Asked) -> Envelope:
        signer = self._signer(command)
        unsigned = Envelope(
            command_id=command_id,
            message_id=MessageId(new_id()),
            principal=self._principal,
            secret_id=signer.secret_id,
            not_after=Millis(self._clock.now() + MAC_LIFETIME_MS),
            causation=asked.causation,
            correlation=asked.correlation,
            command=COMMANDS.encode(command),
            mac=b"",
        )
        return replace(unsigned, mac=signer.sign(signed_bytes(unsigned, self._installation.log_id, self._topic)))

    def _signer(self, command: Command) -> Secret:
        """A shared secret is cheaper to check; a signature is what some commands need. Who has none of the kind sends
        with the other, and the decider's refusal is on the log."""
        wanted = MacAlgorithm.ED25519 if isinstance(command, _SIGNED) else MacAlgorithm.HMAC_SHA256
        found = self._secrets.get(wanted) or next(iter(self._secrets.values()), None)
        if found is None:
            raise NoSecret(self._principal)
        return found


def _plain(new: Proposal | Placed) -> Proposal:
    return new if isinstance(new, Proposal) else new.proposal
