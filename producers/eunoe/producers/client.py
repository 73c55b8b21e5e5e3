"""`MemoryProducer`: commands onto ``memory-events``, sealed, signed and keyed by tenant; one method per command.

What comes back is `Sent`: a command id at once, and on request the proof that Kafka has it, or the outcome. Nothing is
reported as written that Kafka did not confirm. Commands reach a partition in the order in which the methods return.

A method returns once its record is in the buffer, so many records a second are sent by calling it in a loop and
asking for `Sent.written` or `Sent.outcome` later. It waits where a key is missing (`prefetch` asks ahead) and where the
buffer is full. Each raises `CallerError` for its arguments, `KeyRefused`, `SubjectClosed` or `NoKeyYet` where there is
no key, `MissingSecret`, and `NotSent` where Kafka does not take the record.
"""

import secrets as random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace as replace_asked
from functools import partial
from typing import Final, Self

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
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = PromoteMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            replaces=replaces,
            idempotency=hashed,
        )
        return await self._send(command, asked)

    async def reject(
        self, tenant: TenantId, memory_id: MemoryId, expected_version: int, reason: str, asked: Asked = ALONE
    ) -> Sent:
        """``reason`` is a code, never free text: it stays on the log in the clear."""
        checks.code("reason", reason)
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = RejectMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            reason=reason,
            idempotency=hashed,
        )
        return await self._send(command, asked)

    async def confirm(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked = ALONE) -> Sent:
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = ConfirmMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            idempotency=hashed,
        )
        return await self._send(command, asked)

    async def resolve(self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked = ALONE) -> Sent:
        """Answer an open conflict: this record holds."""
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = ResolveConflict(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            idempotency=hashed,
        )
        return await self._send(command, asked)

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
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = RetractMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            idempotency=hashed,
            reason=reason,
        )
        return await self._send(command, asked)

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
        incarnation, hashed = await self._about(tenant, memory_id, expected_version, asked)
        command = SuspendMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            expected_version=expected_version,
            reasons=tuple(reasons),
            idempotency=hashed,
        )
        return await self._send(command, asked)

    async def forget_memory(
        self, tenant: TenantId, memory_id: MemoryId, asked: Asked = ALONE, *, subject: str | None = None
    ) -> Sent:
        """``subject``: whose it must be. Who may not erase names the person, and may forget what was left to them."""
        incarnation, hashed = await self._about(tenant, memory_id, 0, asked)
        whose = None if subject is None else (await self._person(tenant, subject, asked))[1]
        command = ForgetMemory(
            tenant=tenant, incarnation=incarnation, memory_id=memory_id, subject=whose, idempotency=hashed
        )
        return await self._send(command, asked)

    # One person.

    async def forget_subject(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        return await self._send(
            ForgetSubject(tenant=tenant, incarnation=incarnation, subject=pseudonym, idempotency=hashed), asked
        )

    async def forget_pseudonym(self, tenant: TenantId, subject: Pseudonym, asked: Asked = ALONE) -> Sent:
        """As `forget_subject`, for whoever knows the person by pseudonym alone."""
        checks.name("tenant", tenant)
        check_asked(asked)
        keys = await self._keys.tenant(tenant)
        incarnation, hashed = keys.incarnation, keys.idempotency_hash(_key_of(asked))
        return await self._send(
            ForgetSubject(tenant=tenant, incarnation=incarnation, subject=subject, idempotency=hashed), asked
        )

    async def readmit_subject(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        return await self._send(
            ReadmitSubject(tenant=tenant, incarnation=incarnation, subject=pseudonym, idempotency=hashed), asked
        )

    async def withdraw_forgetting(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        return await self._send(
            WithdrawForgetting(tenant=tenant, incarnation=incarnation, subject=pseudonym, idempotency=hashed), asked
        )

    async def hold(self, tenant: TenantId, subject: str | None, review_at: Millis, asked: Asked = ALONE) -> Sent:
        at = checks.instant("review_at", review_at)
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        command = HoldSubject(
            tenant=tenant, incarnation=incarnation, subject=pseudonym, review_at=at, idempotency=hashed
        )
        return await self._send(command, asked)

    async def lift_hold(self, tenant: TenantId, subject: str | None, asked: Asked = ALONE) -> Sent:
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        return await self._send(
            LiftHold(tenant=tenant, incarnation=incarnation, subject=pseudonym, idempotency=hashed), asked
        )

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
        incarnation, hashed = await self._about(tenant, memory_id, 0, asked)
        command = RestoreMemory(
            tenant=tenant,
            incarnation=incarnation,
            memory_id=memory_id,
            restored=restored,
            proof=proof,
            idempotency=hashed,
        )
        return await self._send(command, asked)

    async def record_export(
        self, tenant: TenantId, subject: str | None, identity_check: str, asked: Asked = ALONE, *, everything: bool
    ) -> Sent:
        """Before all that is held on the person, or with ``everything`` in the tenant, is handed out."""
        incarnation, pseudonym, hashed = await self._person(tenant, subject, asked)
        command = RecordExport(
            tenant=tenant,
            incarnation=incarnation,
            subject=None if everything else pseudonym,
            identity_check=identity_check,
            idempotency=hashed,
        )
        return await self._send(command, asked)

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

    async def _about(
        self, tenant: TenantId, memory_id: MemoryId, expected_version: int, asked: Asked
    ) -> tuple[int, bytes]:
        """Checks what commands about one record have in common; the tenant's incarnation, and the request's hash."""
        checks.name("tenant", tenant)
        checks.uuid("memory_id", memory_id)
        checks.whole("expected_version", expected_version, 0)
        check_asked(asked)
        keys = await self._keys.tenant(tenant)
        return keys.incarnation, keys.idempotency_hash(_key_of(asked))

    async def _person(self, tenant: TenantId, subject: str | None, asked: Asked) -> tuple[int, Pseudonym, bytes]:
        """All under the keys of one incarnation, which comes first."""
        checks.name("tenant", tenant)
        if subject is not None:
            checks.subject("subject", subject)
        check_asked(asked)
        keys = await self._keys.tenant(tenant)
        return keys.incarnation, keys.pseudonym(subject), keys.idempotency_hash(_key_of(asked))

    async def ask_key(self, request: IssueKey) -> CommandId:
        """Ask for a key that no writing method asks for by itself. Returns when Kafka has it."""
        sent = await self._send(request, ALONE)
        return await sent.written()

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
