"""A decider's surroundings for tests and benchmarks: an installation, principals, a tenant's client keys, raw commands.

Everything is real but the source of wrapped keys, which is filled from what the decider wrote to ``memory-keys``.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from redis.asyncio import Redis

from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.records import from_record
from eunoe.crypto.signatures import Ed25519Signer, HmacSecret, Signer, Verifier
from eunoe.processors.acquisition import Acquisition
from eunoe.processors.dead_letters import BadRecordGauge, BadRecordLimit, DeadLetterBox
from eunoe.processors.decider import PartitionDecider
from eunoe.processors.issuing import Issuer
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Ledger
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import Receiver
from eunoe.processors.transaction import Transactions
from eunoe.runtime.brokers import connecting
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.codec import COMMANDS, ENVELOPES, EVENTS, KEY_RECORDS
from eunoe.schemas.commands import Command
from eunoe.schemas.envelope import Envelope, signed_bytes
from eunoe.schemas.events import Event
from eunoe.schemas.ids import (
    CommandId,
    MessageId,
    Millis,
    Offset,
    Partition,
    PrincipalName,
    SecretId,
    TenantId,
    new_id,
)
from eunoe.schemas.policy import (
    ErasureRules,
    KindRule,
    Limits,
    Policy,
    PrincipalRule,
    PurposeRule,
    SecretRef,
    SourceRule,
)
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import (
    Action,
    Algorithm,
    Confirmation,
    PrincipalKind,
    Sensitivity,
    SourceKind,
    Trust,
    Writing,
)
from eunoe.testing.key_source import InMemoryKeySource

AGENT: Final = PrincipalName("agent")
OFFICER: Final = PrincipalName("officer")
REVIEWER: Final = PrincipalName("reviewer")
DAY: Final = 86_400_000
_FIRST: Final = Partition(0)

SIGNERS: Final[Mapping[PrincipalName, Signer]] = MappingProxyType(
    {
        AGENT: HmacSecret(SecretId("agent-1"), b"a" * 32),
        OFFICER: Ed25519Signer(SecretId("officer-1"), b"o" * 32),
        REVIEWER: Ed25519Signer(SecretId("reviewer-1"), b"r" * 32),
    }
)


def _principal(name: PrincipalName, kind: PrincipalKind, *actions: Action) -> PrincipalRule:
    signer = SIGNERS[name]
    return PrincipalRule(
        name=name,
        kind=kind,
        owner=f"owner-of-{name}",
        tenants=None,
        actions=frozenset(actions),
        source_kinds=None,
        max_sensitivity=Sensitivity.RESTRICTED,
        secrets=(SecretRef(secret_id=signer.secret_id, algorithm=Algorithm(signer.algorithm.value), reference=""),),
    )


def test_policy() -> Policy:
    """A policy with an agent, a reviewer and an officer, one purpose and one kind."""
    principals = (
        _principal(AGENT, PrincipalKind.SERVICE, Action.WRITE, Action.READ, Action.EXPIRE),
        _principal(REVIEWER, PrincipalKind.HUMAN, Action.REVIEW, Action.READ),
        _principal(OFFICER, PrincipalKind.HUMAN, Action.ERASE, Action.READMIT, Action.READ),
    )
    sources = (
        SourceRule(kind=SourceKind.USER_EXPLICIT, trust=Trust.ASSERTED, confirmation=Confirmation.CONFIRMED),
        SourceRule(kind=SourceKind.THIRD_PARTY, trust=Trust.UNTRUSTED, confirmation=Confirmation.PROPOSED),
    )
    return Policy(
        version=1,
        title="test",
        hash="ab" * 32,
        purposes={"support": PurposeRule(name="support", owner="desk", fallback="ask again")},
        kinds={"fact": KindRule(name="fact", ttl_max=365 * DAY, own_bucket=False)},
        sources={each.kind: each for each in sources},
        principals={each.name: each for each in principals},
        limits=Limits(),
        idempotency_retention=35 * DAY,
        expiry_tolerance=300_000,
        erasure=ErasureRules(two_people=False),
    )


test_policy.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


@dataclass(frozen=True, slots=True)
class StandingRules:
    """Rules that do not come from a topic. ``writes`` is the switch for all tenants."""

    policy: Policy = field(default_factory=test_policy)
    offset: Offset = field(default=Offset(7))
    writes: bool = True

    @property
    def verifiers(self) -> "StandingRules":
        return self

    def find(self, principal: PrincipalName, secret_id: SecretId) -> Verifier | None:
        signer = SIGNERS.get(principal)
        if not isinstance(signer, HmacSecret | Ed25519Signer) or signer.secret_id != secret_id:
            return None
        return signer.verifier()

    def writing(self, tenant: TenantId, purposes: Sequence[str]) -> Writing:
        return Writing.ON if self.writes else Writing.OFF

    def reading(self, tenant: TenantId, purposes: Sequence[str]) -> bool:
        return True

    def current(self) -> "StandingRules":
        return self


def sealed_command(
    command: Command,
    installation: Installation,
    principal: PrincipalName = AGENT,
    command_id: CommandId | None = None,
    *,
    lifetime: int = DAY,
    signers: Mapping[PrincipalName, Signer] = SIGNERS,
) -> tuple[CommandId, bytes]:
    """The command id and the record value: ``command`` in an envelope with ``principal``'s MAC."""
    signer = signers[principal]
    envelope = Envelope(
        command_id=command_id or CommandId(new_id()),
        message_id=MessageId(new_id()),
        principal=principal,
        secret_id=signer.secret_id,
        not_after=Millis(SystemClock().now() + lifetime),
        command=COMMANDS.encode(command),
        mac=b"",
    )
    signed = signed_bytes(envelope, installation.log_id, installation.topic(Topic.EVENTS))
    fields = {name: getattr(envelope, name) for name in Envelope.__struct_fields__}
    return envelope.command_id, ENVELOPES.encode(Envelope(**(fields | {"mac": signer.sign(signed)})))


class Surroundings:
    """One installation on a real broker and Redis, and the means to run deciders in it."""

    def __init__(self, bootstrap: str, redis: "Redis", installation: Installation) -> None:
        self.bootstrap = bootstrap
        self.redis = redis
        self.installation = installation
        self.kek = LocalKek(b"k" * 32)
        self.keys = InMemoryKeySource()
        self.keyring = self.new_keyring()
        self.rules = StandingRules()
        self.group = f"{installation.names.prefix}decide"
        self.signers: Mapping[PrincipalName, Signer] = SIGNERS
        self.agent = AGENT

    def new_keyring(self) -> Keyring:
        return Keyring(self.installation.log_id, self.kek, self.keys, SystemClock().now)

    def ledger_prefix(self, partition: Partition) -> Prefix:
        return ledger_prefix(self.installation.log_id, partition)

    def ledger(self, partition: Partition) -> Ledger:
        return Ledger(self.redis, self.ledger_prefix(partition), lambda: self.rules.policy.idempotency_retention)

    def decider(
        self,
        partition: Partition = _FIRST,
        limit: BadRecordLimit | None = None,
        batch: int = 500,
        accepted: tuple[tuple[Offset, Offset], ...] = (),
    ) -> PartitionDecider:
        """A decider whose group membership is taken for granted."""
        installation = self.installation
        keyring = self.new_keyring()
        events = installation.topic(Topic.EVENTS)
        return PartitionDecider(
            partition=partition,
            installation=installation,
            acquisition=Acquisition(
                bootstrap=self.bootstrap,
                installation=installation,
                group=self.group,
                confirms=_always,
                accepted=accepted,
            ),
            ledger=self.ledger(partition),
            receiver=Receiver(installation.log_id, events, partition, installation.partitions),
            opener=Opener(keyring, self.refresh_keys),
            issuer=Issuer(installation.log_id, self.kek, keyring),
            letters=DeadLetterBox(installation.log_id, events, partition, self.kek),
            gauge=BadRecordGauge(limit or BadRecordLimit(), accepted),
            transactions=Transactions(installation, partition, self.group),
            rules=self.rules,
            keyring=keyring,
            batch=batch,
        )

    async def refresh_keys(self) -> None:
        """Fill the key source from ``memory-keys``."""
        for record in await self._read(Topic.KEYS):
            if record is not None:
                self.keys.put(from_record(KEY_RECORDS.decode(record)))

    async def events(self) -> list[Event]:
        """Every committed fact, partition by partition, without genesis records."""
        decoded = [EVENTS.decode(each or b"") for each in await self._read(Topic.LIFECYCLE)]
        return [each for each in decoded if each.header.input_offset >= 0]

    async def letters(self) -> int:
        return len(await self._read(Topic.DEAD_LETTERS))

    async def _read(self, topic: Topic) -> list[bytes | None]:
        name = self.installation.topic(topic)
        partitions = [TopicPartition(name, each) for each in range(self.installation.partitions)]
        consumer = AIOKafkaConsumer(
            **connecting(self.bootstrap), isolation_level="read_committed", auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            found: list[bytes | None] = []
            for each in partitions:
                consumer.seek(each, 0)
                while await consumer.position(each) < ends[each]:
                    batch = await consumer.getmany(each, timeout_ms=200)
                    found += [record.value for record in batch.get(each, ())]
            return found
        finally:
            await consumer.stop()

    @asynccontextmanager
    async def producer(self) -> AsyncIterator[AIOKafkaProducer]:
        producer = AIOKafkaProducer(**connecting(self.bootstrap), acks="all", enable_idempotence=True)
        await producer.start()
        try:
            yield producer
        finally:
            await producer.stop()

    async def send(
        self,
        producer: AIOKafkaProducer,
        command: Command,
        principal: PrincipalName | None = None,
        command_id: CommandId | None = None,
    ) -> CommandId:
        """Publish one command to its tenant's partition, as ``agent`` unless another principal is named."""
        command_id, sent = await self.submit(producer, command, principal, command_id)
        await sent
        return command_id

    async def submit(
        self,
        producer: AIOKafkaProducer,
        command: Command,
        principal: PrincipalName | None = None,
        command_id: CommandId | None = None,
    ) -> "tuple[CommandId, asyncio.Future[object]]":
        """The same without waiting for the broker."""
        command_id, value = sealed_command(
            command, self.installation, principal or self.agent, command_id, signers=self.signers
        )
        return command_id, await producer.send(
            self.installation.topic(Topic.EVENTS),
            value,
            key=command.tenant.encode(),
            partition=self.installation.partition_of(command.tenant),
        )


async def _always(partition: Partition) -> bool:
    return True
