"""Decided records by the thousand without a decider: keys of our own, bodies really sealed, facts as the log has them.

For benchmarks of what comes after deciding. The keys are wrapped as the decider wraps them and given out by a key
source in memory, so the models under test open bodies just as they do in production, with a warm cache.
"""

from dataclasses import dataclass, field
from typing import Final

from eunoe.crypto.buckets import month_bucket
from eunoe.crypto.cipher import new_key
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, WrappedKey, Wrapper, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.crypto.keyring import Keyring
from eunoe.producers.drafts import place, seal
from eunoe.producers.proposal import Proposal
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.events import Event, EventHeader, Fact, MemoryAccepted, SupersededRef
from eunoe.schemas.ids import (
    AgentId,
    Bucket,
    CommandId,
    EventId,
    KeyId,
    LogId,
    MemoryId,
    MessageId,
    Millis,
    Offset,
    PrincipalName,
    Pseudonym,
    TenantId,
    new_id,
)
from eunoe.schemas.values import Confirmation, SourceKind, Trust

AGENT: Final = AgentId("bench-bot")
PURPOSE: Final = "bench"
PRINCIPAL: Final = PrincipalName("dev-agent")
_YEAR_MS: Final = 365 * 86_400_000
_SUBJECTS: Final = 500
"""People a tenant's records are about, in turn."""


class HeldKeys:
    """A `KeySource` in memory for keys that are never closed."""

    def __init__(self) -> None:
        self._keys: dict[KeyId, WrappedKey] = {}
        self._tenants: dict[TenantId, WrappedKey] = {}
        self._roots: dict[tuple[TenantId, Pseudonym], KeyId] = {}
        self._data: dict[tuple[TenantId, Pseudonym, Bucket], WrappedKey] = {}

    def hold(self, key: WrappedKey) -> None:
        self._keys[key.key_id] = key
        if key.kind is KeyKind.TENANT:
            self._tenants[key.tenant] = key
        elif key.subject is not None and key.bucket is None:
            self._roots[key.tenant, key.subject] = key.key_id
        elif key.subject is not None and key.bucket is not None:
            self._data[key.tenant, key.subject, key.bucket] = key

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        return self._tenants.get(tenant)

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        found = self._keys.get(key_id)
        return found if found is not None and found.tenant == tenant else None

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        return self._data.get((tenant, subject, bucket)) if generation == 1 else None

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        root = self._roots.get((tenant, subject))
        return None if root is None else SubjectKeyState(generation=1, closed=False, root_key_id=root)


class NothingToWaitFor:
    """`recall` need not wait for keys that are all there."""

    async def wait(self, tenant: TenantId) -> None:
        return None

    async def is_over(self, tenant: TenantId, incarnation: int) -> bool:
        return False


@dataclass(slots=True)
class Sealer:
    """Makes `MemoryAccepted` events of any tenant of one log. ``keyring`` opens what it seals."""

    log_id: LogId
    keys: HeldKeys = field(default_factory=HeldKeys)
    keyring: Keyring = field(init=False)
    _kek: LocalKek = field(default_factory=lambda: LocalKek(new_key()))
    _expires_at: Millis = field(init=False)

    def __post_init__(self) -> None:
        self.keyring = Keyring(self.log_id, self._kek, self.keys, SystemClock().now)
        self._expires_at = Millis(SystemClock().now() + _YEAR_MS)

    async def open(self, tenant: TenantId) -> None:
        """The tenant's keys and those of its people. Before the first `event` of the tenant."""
        bucket = month_bucket(self._expires_at)
        self._issue(KekWrapper(self._kek), KeyKind.TENANT, tenant)
        keys = await self.keyring.tenant(tenant)
        for number in range(_SUBJECTS):
            whom = keys.pseudonym(f"subject-{number}")
            self._issue(keys, KeyKind.SUBJECT_ROOT, tenant, whom)
            self._issue(keys, KeyKind.DATA, tenant, whom, bucket)

    async def event(self, tenant: TenantId, number: int, statement: str) -> Event:
        """One accepted record of ``statement``, about the ``number``-th person (counted round)."""
        return await accepted(self.keyring, proposed(tenant, number, statement, self._expires_at), number)

    def _issue(
        self,
        wrapper: Wrapper,
        kind: KeyKind,
        tenant: TenantId,
        subject: Pseudonym | None = None,
        bucket: Bucket | None = None,
    ) -> None:
        meta = KeyMeta(
            key_id=KeyId(new_id()),
            kind=kind,
            tenant=tenant,
            incarnation=1,
            subject=subject,
            generation=0 if subject is None else 1,
            bucket=bucket,
            created_at=SystemClock().now(),
        )
        self.keys.hold(wrap_key(wrapper, self.log_id, new_plain(kind), meta))


def proposed(tenant: TenantId, number: int, statement: str, expires_at: Millis, subject: str | None = None) -> Proposal:
    """A record of ``statement``; without ``subject`` about the ``number``-th of the people whom a `Sealer` knows."""
    return Proposal(
        tenant=tenant,
        agent=AGENT,
        statement=statement,
        purposes=(PURPOSE,),
        source_kind=SourceKind.USER_EXPLICIT,
        subject=subject or f"subject-{number % _SUBJECTS}",
        source_uri=f"bench://events/{number}",
        confidence=0.9,
        expires_at=expires_at,
    )


async def accepted(keyring: Keyring, proposal: Proposal, number: int, supersedes: SupersededRef | None = None) -> Event:
    """The fact that the proposal was accepted, sealed under the key of its subject that ``keyring`` finds."""
    now, tenant = SystemClock().now(), proposal.tenant
    placed = place(proposal, MemoryId(new_id()), None, now)
    keys = await keyring.tenant(tenant)
    cipher = await keyring.sealing_cipher(tenant, keys.pseudonym(proposal.subject), placed.bucket)
    fact = MemoryAccepted(
        draft=seal(placed, keys, cipher),
        incarnation=1,
        trust=Trust.ASSERTED,
        confirmation=Confirmation.CONFIRMED,
        content_hash=bytes(16),
        supersedes=supersedes,
    )
    return decided(tenant, number, now, fact)


def decided(tenant: TenantId, number: int, now: Millis, fact: Fact) -> Event:
    """``fact`` with a header of plausible size. ``number``: of the command."""
    header = EventHeader(
        event_id=EventId(new_id()),
        command_id=CommandId(new_id()),
        message_id=MessageId(new_id()),
        tenant=tenant,
        principal=PRINCIPAL,
        input_offset=Offset(number),
        decided_at=now,
        policy_version=1,
        policy_hash="0" * 64,
        control_offset=Offset(0),
        idempotency=bytes(16),
        payload_digest=bytes(16),
    )
    return Event(header=header, fact=fact)
