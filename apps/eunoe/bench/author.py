"""Commands as a producer would send them, made ahead and kept as bytes: sealed, signed, ready to publish."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from eunoe.bench.ground import Ground
from eunoe.bench.text import ZipfText
from eunoe.crypto.buckets import month_bucket
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import TenantKeys
from eunoe.producers.drafts import place, seal
from eunoe.producers.proposal import Proposal
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.keys import KeysModel
from eunoe.readmodels.projector import ProjectorLane
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.kek import kek_of
from eunoe.runtime.principals import secrets_of
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.schemas.commands import Command, IssueKey, RememberMemory
from eunoe.schemas.ids import (
    AgentId,
    CommandId,
    MemoryId,
    Millis,
    Offset,
    Partition,
    TenantId,
    new_id,
)
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import SourceKind

TENANT: Final = TenantId("bench")
AGENT: Final = AgentId("bench-bot")
PURPOSE: Final = "bench"
_TTL_MS: Final = 180 * 86_400_000
WORDS: Final = 20
"""Distinct words in a statement: about 165 characters, the size of a LoCoMo observation."""
_BATCH_BYTES: Final = 900_000


@dataclass(slots=True)
class Author:
    """Writes for `TENANT` as one principal. `learn` first: sealing needs keys that a decider issued."""

    ground: Ground
    policy: Policy
    text: ZipfText
    keyring: Keyring = field(init=False)
    maker: EnvelopeMaker = field(init=False)

    def __post_init__(self) -> None:
        installation, settings = self.ground.installation, self.ground.settings
        source = RedisKeySource(self.ground.redis, installation)
        self.keyring = Keyring(installation.log_id, kek_of(settings), source, SystemClock().now)
        assert settings.principal is not None
        signers = Signers(settings.principal, secrets_of(settings, settings.principal))
        self.maker = EnvelopeMaker(installation, signers, SystemClock())

    @property
    def partition(self) -> Partition:
        return self.ground.installation.partition_of(TENANT)

    def opening(self) -> bytes:
        """Asks for the tenant's key."""
        return self._signed(IssueKey(tenant=TENANT))

    def issue(self, keys: TenantKeys, subject: str) -> bytes:
        """Asks for a subject's first key, for the bucket that `remember` will seal in."""
        bucket = month_bucket(Millis(SystemClock().now() + _TTL_MS))
        return self._signed(IssueKey(tenant=TENANT, subject=keys.pseudonym(subject), bucket=bucket))

    async def remember(self, keys: TenantKeys, subject: str) -> bytes:
        """A record of twenty words about ``subject``, whose key has been issued."""
        proposal = Proposal(
            tenant=TENANT,
            agent=AGENT,
            statement=self.text.sentence(WORDS),
            purposes=(PURPOSE,),
            source_kind=SourceKind.USER_EXPLICIT,
            subject=subject,
            source_uri="bench://events/1",
            event_ids=("e-1",),
            confidence=0.9,
            ttl=_TTL_MS,
        )
        placed = place(proposal, MemoryId(new_id()), self.policy, SystemClock().now())
        cipher = await self.keyring.sealing_cipher(TENANT, keys.pseudonym(subject), placed.bucket)
        draft = seal(placed, keys, cipher)
        return self._signed(RememberMemory(tenant=TENANT, draft=draft, idempotency=keys.idempotency_hash(new_id())))

    async def learn(self) -> None:
        """Fold what was issued so far into the models `keys` and `subjects`, where the keyring finds it."""
        base = self.ground
        for model in (KeysModel(base.redis), SubjectsModel(base.redis)):
            end = await _written(base.settings.brokers, base.installation.topic(model.source), self.partition)
            lane = ProjectorLane(  # type: ignore[misc]  # two models, two kinds of records
                model, self.partition, installation=base.installation, bootstrap=base.settings.brokers, redis=base.redis
            )
            await lane.run(until=end)

    def _signed(self, command: Command) -> bytes:
        return self.maker.record(command, CommandId(new_id()))


async def _written(bootstrap: Bootstrap, topic: str, partition: Partition) -> Offset:
    """The offset after the last record, committed or not: a commit is answered before its markers lie in every
    partition, so the committed end may still be before what has just been decided."""
    consumer = AIOKafkaConsumer(**connecting(bootstrap), isolation_level="read_uncommitted", enable_auto_commit=False)
    try:
        await consumer.start()
        place = TopicPartition(topic, partition)
        return Offset((await consumer.end_offsets([place]))[place])
    finally:
        await consumer.stop()


async def publish(bootstrap: Bootstrap, topic: str, partition: int, records: Sequence[bytes]) -> int:
    """Write ``records`` in order under the tenant's key, in whole batches. Returns the first one's offset."""
    producer = AIOKafkaProducer(
        **connecting(bootstrap), acks="all", max_batch_size=_BATCH_BYTES, max_request_size=2 * _BATCH_BYTES
    )
    await producer.start()
    try:
        first = -1
        batch = producer.create_batch()
        for record in (*records, None):
            if record is not None and batch.append(key=TENANT.encode(), value=record, timestamp=None) is not None:
                continue
            batch.close()
            written = await (await producer.send_batch(batch, topic, partition=partition))
            first = written.offset if first < 0 else first
            batch = producer.create_batch()
            if record is not None:
                batch.append(key=TENANT.encode(), value=record, timestamp=None)
        return first
    finally:
        await producer.stop()
