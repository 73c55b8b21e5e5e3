"""`MemoryProducer`: commands onto ``memory-events``, sealed, signed and keyed by tenant; one method per command.

What comes back is `Sent`: a command id at once, and on request the proof that Kafka has it, or the outcome. Nothing is
reported as written that Kafka did not confirm. Commands reach a partition in the order in which the methods return.

A method returns once its record is in the buffer, so many records a second are sent by calling it in a loop and
asking for `Sent.written` or `Sent.outcome` later. It waits where a key is missing (`prefetch` asks ahead) and where the
buffer is full. Each raises `CallerError` for its arguments, `KeyRefused`, `SubjectClosed` or `NoKeyYet` where there is
no key, `MissingSecret`, and `NotSent` where Kafka does not take the record.
"""

import asyncio
import secrets as random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace as replace_asked
from functools import partial
from typing import Final, Self, TypedDict

from msgspec.structs import replace

from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DataCipher, TenantKeys
from eunoe.crypto.signatures import Signer
from eunoe.producers import checks
from eunoe.producers.drafts import check_asked, place, seal
from eunoe.producers.errors import KeyRefused, NotSent, TooLarge
from eunoe.producers.key_requests import KeyRequests, OutcomeSource
from eunoe.producers.pace import Pace
from eunoe.producers.proposal import Asked, Placed, Proposal
from eunoe.producers.sent import Again, Sent, waited
from eunoe.runtime.clock import Clock, SystemClock
from eunoe.runtime.installation import Installation
from eunoe.runtime.publish import CommandPublisher
from eunoe.runtime.settings import Settings
from eunoe.runtime.signing import EnvelopeMaker, RecordTooLarge, Signers
from eunoe.schemas.commands import (
    Command,
    ConfirmMemory,
    CorrectMemory,
    Draft,
    ForgetMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    PromoteMemory,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RejectMemory,
    RememberMemory,
    ResolveConflict,
    RestoreMemory,
    RetractMemory,
    SeenRef,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.ids import CommandId, MemoryId, Millis, PrincipalName, Pseudonym, TenantId, new_id
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.policy import Policy
from eunoe.schemas.restored import Proof, Restored

ALONE: Final = Asked()
"""A request of its own, part of nothing."""


class _Keyed(TypedDict):
    """Of a command: the tenant, the incarnation under whose keys it was made, and the request's hash."""

    tenant: TenantId
    incarnation: int
    idempotency: bytes


class _OfRecord(_Keyed):
    memory_id: MemoryId
    expected_version: int


class _OfPerson(_Keyed):
    subject: Pseudonym


class MemoryProducer:
    """Sends as one principal. An async context manager, or `start` before and `stop` after; belongs to one event loop.

    ``policy``: the one in force, for longest TTLs, buckets, size limits and limits by the minute (`TooFast`); what it
    says is judged by the decider.
    """

    def __init__(
        self,
        settings: Settings,
        installation: Installation,
        *,
        principal: PrincipalName,
        secrets: Iterable[Signer],
        keyring: Keyring,
        policy: Callable[[], Policy | None] = lambda: None,
        outcomes: OutcomeSource | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._policy = policy
        self._outcomes = outcomes
        self._clock = clock or SystemClock()
        self._keyring = keyring
        self._pace = Pace()
        self._keys = KeyRequests(keyring, self.ask_key, outcomes)
        envelopes = EnvelopeMaker(installation, Signers(principal, secrets), self._clock)
        self._publisher = CommandPublisher(settings.brokers, installation, envelopes, settings.delivery_timeout)

    async def __aenter__(self) -> Self:
        await self._publisher.__aenter__()
        return self

    async def __aexit__(self, kind: object, failed: BaseException | None, trace: object) -> None:
        await self._keys.aclose()
        await self._publisher.__aexit__(kind, failed, trace)

    async def start(self) -> None:
        """Raises `BrokerAway` where no broker answers."""
        await self._publisher.start()

    async def stop(self) -> None:
        """Send what is buffered, and close, within some ten seconds. Raises `NotSent` with the ids of all commands that
        Kafka did not confirm and of which nobody was told: nothing is lost in silence."""
        await self._keys.aclose()
        await self._publisher.stop()

    # New records.

    def place(self, proposal: Proposal, memory_id: MemoryId | None = None) -> Placed:
        """Check it and choose the record's id, end and bucket: what `prefetch` and the sending methods take."""
        return place(proposal, memory_id or MemoryId(new_id()), self._policy(), self._clock.now())

    def has_keys(self, placed: Placed) -> bool:
        """Whether the keys that sending ``placed`` needs are here already."""
        keys = self._keyring.cached_tenant(placed.tenant)
        if keys is None:
            return False
        subject = keys.pseudonym(placed.subject)
        return self._keyring.cached_sealing_cipher(placed.tenant, subject, placed.bucket) is not None

    async def prefetch(self, placed: Placed) -> None:
        """Ask for the keys that sending ``placed`` will need, so that it need not wait. Raises like sending it."""
        await self._cipher(placed, await self._keys.tenant(placed.tenant))

    async def remember(self, new: Proposal | Placed, asked: Asked = ALONE, *, expected_version: int = 0) -> Sent:
        checks.whole("expected_version", expected_version, 0)
        placed, incarnation, draft, hashed = await self._sealed(new, asked)
        command = RememberMemory(
            tenant=placed.tenant,
            incarnation=incarnation,
            draft=draft,
            expected_version=expected_version,
            idempotency=hashed,
        )
        return await self._send(command, asked, draft.memory_id, partial(self._anew, placed, command, asked))

    async def correct(
        self, new: Proposal | Placed, asked: Asked = ALONE, *, supersedes: MemoryId, expected_version: int
    ) -> Sent:
        """As `remember`, in the place of ``supersedes``."""
        checks.uuid("supersedes", supersedes)
        checks.whole("expected_version", expected_version, 1)
        placed, incarnation, draft, hashed = await self._sealed(new, asked)
        command = CorrectMemory(
            tenant=placed.tenant,
            incarnation=incarnation,
            draft=draft,
            supersedes=supersedes,
            expected_version=expected_version,
            idempotency=hashed,
        )
        return await self._send(command, asked, draft.memory_id, partial(self._anew, placed, command, asked))

    # One record.

    async def promote(
        self,
        tenant: TenantId,
        memory_id: MemoryId,
        expected_version: int,
        asked: Asked = ALONE,
        *,
        replaces: SeenRef | None = None,
    ) -> Sent:
        """``replaces``: a record that says otherwise, as it was seen, and gives way."""
        if replaces is not None:
            checks.seen("replaces", replaces)
        record = await self._about(tenant, memory_id, expected_version, asked)
        return await self._send(PromoteMemory(**record, replaces=replaces), asked)

    async def reject(
        self, tenant: TenantId, memory_id: MemoryId, expected_version: int, reason: str, asked: Asked = ALONE
    ) -> Sent:
        """``reason`` is a code, never free text: it stays on the log in the clear."""
        checks.code("reason", reason)
        record = await self._about(tenant, memory_id, expected_version, asked)
        return await self._send(RejectMemory(**record, reason=reason), asked)

    async def confirm(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked = ALONE) -> Sent:
        return await self._send(ConfirmMemory(**await self._about(tenant, memory_id, expected_version, asked)), asked)

    async def resolve(
        self,
        tenant: TenantId,
        memory_id: MemoryId,
        expected_version: int,
        asked: Asked = ALONE,
        *,
        over: Sequence[SeenRef] = (),
    ) -> Sent:
        """Answer an open conflict: this record holds. ``over``: all that it contradicts, as seen; they give way."""
        for each in over:
            checks.seen("over", each)
        record = await self._about(tenant, memory_id, expected_version, asked)
        return await self._send(ResolveConflict(**record, over=tuple(over)), asked)

    async def retract(
        self,
        tenant: TenantId,
        memory_id: MemoryId,
        expected_version: int,
        asked: Asked = ALONE,
        *,
        reason: str | None = None,
    ) -> Sent:
        """``reason`` is a code, as in `reject`."""
        if reason is not None:
            checks.code("reason", reason)
        record = await self._about(tenant, memory_id, expected_version, asked)
        return await self._send(RetractMemory(**record, reason=reason), asked)

    async def suspend(
        self,
        tenant: TenantId,
        memory_id: MemoryId,
        expected_version: int,
        reasons: Sequence[str],
        asked: Asked = ALONE,
    ) -> Sent:
        """Back to waiting for a person. ``reasons`` are codes, as in `reject`."""
        for each in reasons:
            checks.code("reasons", each)
        record = await self._about(tenant, memory_id, expected_version, asked)
        return await self._send(SuspendMemory(**record, reasons=tuple(reasons)), asked)

    async def forget_memory(
        self, tenant: TenantId, memory_id: MemoryId, asked: Asked = ALONE, *, subject: str | None = None
    ) -> Sent:
        """``subject``: whose it must be. Who may not erase names the person, and may forget what was left to them."""
        checks.uuid("memory_id", memory_id)
        if subject is None:
            return await self._send(ForgetMemory(**await self._keyed(tenant, asked), memory_id=memory_id), asked)
        return await self._send(ForgetMemory(**await self._person(tenant, subject, asked), memory_id=memory_id), asked)

    # One person.

    async def forget_subject(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        return await self._send(ForgetSubject(**await self._person(tenant, subject, asked)), asked)

    async def forget_pseudonym(self, tenant: TenantId, subject: Pseudonym, asked: Asked = ALONE) -> Sent:
        """As `forget_subject`, for whoever knows the person by pseudonym alone."""
        return await self._send(ForgetSubject(**await self._keyed(tenant, asked), subject=subject), asked)

    async def readmit_subject(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        return await self._send(ReadmitSubject(**await self._person(tenant, subject, asked)), asked)

    async def withdraw_forgetting(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        return await self._send(WithdrawForgetting(**await self._person(tenant, subject, asked)), asked)

    async def hold(self, tenant: TenantId, subject: str | None, review_at: Millis, asked: Asked = ALONE) -> Sent:
        at = checks.instant("review_at", review_at)
        return await self._send(HoldSubject(**await self._person(tenant, subject, asked), review_at=at), asked)

    async def lift_hold(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        return await self._send(LiftHold(**await self._person(tenant, subject, asked)), asked)

    # The whole tenant.

    async def forget_tenant(self, tenant: TenantId, incarnation: int) -> Sent:
        """``incarnation``: which of those that have had this name. The first of two people proposes it by that."""
        checks.name("tenant", tenant)
        checks.whole("incarnation", incarnation, 1)
        return await self._send(ForgetTenant(tenant=tenant, incarnation=incarnation), ALONE)

    async def readmit_tenant(self, tenant: TenantId, incarnation: int) -> Sent:
        """``incarnation``: the forgotten one. As `forget_tenant`."""
        checks.name("tenant", tenant)
        checks.whole("incarnation", incarnation, 1)
        return await self._send(ReadmitTenant(tenant=tenant, incarnation=incarnation), ALONE)

    # From an export, and into one.

    async def restore(self, placed: Placed, restored: Restored, proof: Proof | None, asked: Asked) -> Sent:
        """The beginning of a record from an export; ``placed`` has its own text, names and end."""
        placed, incarnation, draft, hashed = await self._sealed(placed, asked, paced=False)
        command = RestoreMemory(
            tenant=placed.tenant,
            incarnation=incarnation,
            memory_id=draft.memory_id,
            draft=draft,
            restored=restored,
            proof=proof,
            idempotency=hashed,
        )
        return await self._send(command, asked, draft.memory_id)

    async def restore_change(
        self, tenant: TenantId, memory_id: MemoryId, restored: Restored, proof: Proof, asked: Asked
    ) -> Sent:
        """A later change of it."""
        checks.uuid("memory_id", memory_id)
        request = await self._keyed(tenant, asked)
        return await self._send(RestoreMemory(**request, memory_id=memory_id, restored=restored, proof=proof), asked)

    async def record_export(
        self, tenant: TenantId, subject: str | None, identity_check: str, asked: Asked = ALONE, *, everything: bool
    ) -> Sent:
        """Before all that is held on the person, or with ``everything`` in the tenant, is handed out."""
        if everything:
            request = await self._keyed(tenant, asked)
            return await self._send(RecordExport(**request, identity_check=identity_check), asked)
        person = await self._person(tenant, subject, asked)
        return await self._send(RecordExport(**person, identity_check=identity_check), asked)

    async def outcome(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        """What became of a command that was sent before. Raises what the source raises after ``timeout`` seconds."""
        checks.seconds("timeout", timeout)
        return await waited(self._outcomes, tenant, command_id, timeout)

    async def _sealed(
        self, new: Proposal | Placed, asked: Asked, *, paced: bool = True
    ) -> tuple[Placed, int, Draft, bytes]:
        """With the incarnation under whose keys it is sealed, and the request's hash. ``paced``: whether it counts for
        the limits by the minute; moving a tenant here does not."""
        placed = self.place(new) if isinstance(new, Proposal) else new
        check_asked(asked)
        policy = self._policy()
        if policy is not None and paced:
            self._pace.take(placed.tenant, policy.rates, self._clock.now())
        keys = await self._keys.tenant(placed.tenant)
        cipher = await self._cipher(placed, keys)
        return placed, keys.incarnation, seal(placed, keys, cipher), keys.idempotency_hash(_key_of(asked))

    async def _anew(self, placed: Placed, refused: RememberMemory | CorrectMemory, asked: Asked) -> Sent | None:
        """The refused record under the keys that are open now; None where it was sealed under these (see `Again`)."""
        old = refused.draft
        self._keyring.evict_tenant(placed.tenant)
        keys = await self._keys.tenant(placed.tenant)
        cipher = await self._cipher(placed, keys)
        if cipher.key_id == old.key_id:
            return None
        command = replace(
            refused,
            incarnation=keys.incarnation,
            draft=seal(placed, keys, cipher),
            idempotency=keys.idempotency_hash(_key_of(asked)),
        )
        return await self._send(command, replace_asked(asked, command_id=None), old.memory_id)

    async def _cipher(self, placed: Placed, keys: TenantKeys) -> DataCipher:
        """What seals it. A refused month is told as what the author gave: the field that the month comes from."""
        try:
            return await self._keys.sealing(keys, keys.pseudonym(placed.subject), placed.bucket)
        except KeyRefused as refused:
            if refused.outcome.field != "bucket":
                raise
            field = "expires_at" if placed.draft.ttl is None else "ttl"
            raise KeyRefused(replace(refused.outcome, field=field)) from None

    async def _keyed(self, tenant: TenantId, asked: Asked) -> _Keyed:
        """What every command has that is kept apart from the tenant's next incarnation, under the keys of this one."""
        return self._of(tenant, await self._checked(tenant, asked), asked)

    async def _about(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked) -> _OfRecord:
        """What commands about one record have in common, checked."""
        checks.uuid("memory_id", memory_id)
        checks.whole("expected_version", expected_version, 0)
        request = await self._keyed(tenant, asked)
        return _OfRecord(**request, memory_id=memory_id, expected_version=expected_version)

    async def _person(self, tenant: TenantId, subject: str | None, asked: Asked) -> _OfPerson:
        """What commands about one person have in common, checked: all under the keys of one incarnation."""
        if subject is not None:
            checks.subject("subject", subject)
        keys = await self._checked(tenant, asked)
        return _OfPerson(**self._of(tenant, keys, asked), subject=keys.pseudonym(subject))

    async def _checked(self, tenant: TenantId, asked: Asked) -> TenantKeys:
        checks.name("tenant", tenant)
        check_asked(asked)
        return await self._keys.tenant(tenant)

    @staticmethod
    def _of(tenant: TenantId, keys: TenantKeys, asked: Asked) -> _Keyed:
        return _Keyed(tenant=tenant, incarnation=keys.incarnation, idempotency=keys.idempotency_hash(_key_of(asked)))

    async def ask_key(self, request: IssueKey) -> CommandId:
        """Ask for a key that no writing method asks for by itself. Returns when Kafka has it."""
        sent = await self._send(request, ALONE)
        try:
            return await sent.written()
        except asyncio.CancelledError:
            sent.disown()  # whoever needed the key went on without it, and never sent this command
            raise

    async def _send(
        self, command: Command, asked: Asked, memory_id: MemoryId | None = None, again: Again | None = None
    ) -> Sent:
        command_id = asked.command_id or CommandId(new_id())
        said_in = asked.session_id
        session = None
        if said_in is not None:
            session = (await self._keys.tenant(command.tenant)).session_reference(said_in)
        try:
            delivery = await self._publisher.submit(
                command,
                command_id,
                causation=asked.causation,
                correlation=asked.correlation,
                session=session,
                traceparent=asked.traceparent,
            )
        except RecordTooLarge as error:
            raise TooLarge("record", error.limit, error.found) from None
        return Sent(
            command_id=command_id,
            tenant=command.tenant,
            memory_id=memory_id,
            _delivery=delivery,
            _outcomes=self._outcomes,
            _again=again,
        )


def _key_of(asked: Asked) -> str:
    return random.token_hex(16) if asked.idempotency_key is None else asked.idempotency_key


__all__ = ["Asked", "MemoryProducer", "NotSent", "Placed", "Proposal", "Sent"]
