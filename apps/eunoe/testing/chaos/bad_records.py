"""Records on ``memory-events`` that no decider can judge. Each must end as one dead letter, and stop nobody (S38)."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError
from msgspec.structs import replace

from eunoe.crypto.signatures import HmacSecret
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import ENVELOPES
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import PrincipalName, SecretId, TenantId
from eunoe.schemas.topics import Topic
from eunoe.testing.deciding import sealed_command

_AGENT: Final = PrincipalName("dev-agent")
CARELESS: Final = "The careless client wrote a diagnosis of chaos here in the clear."
"""In some of them: it may be nowhere but in the record itself, least of all in its dead letter."""
_LARGEST: Final = 1_048_000
"""With key and batch around it still below the topic's max.message.bytes."""
_ABOVE: Final = 1_200_000
_MAX_REQUEST: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class BadRecords:
    """``bootstrap``: the broker itself, not the proxy before it."""

    bootstrap: str
    installation: Installation

    async def poison(self, dice: random.Random) -> int:
        """One of each kind, to partitions by chance; how many."""
        tenant = TenantId(f"tenant-{dice.randrange(6)}")
        values = [
            (tenant, dice.randbytes(200)),
            (tenant, CARELESS.encode()),
            (tenant, b""),
            (tenant, self._forged(tenant)),
            (TenantId("somebody-else"), self._forged(tenant)),
            (tenant, self._newer(tenant)),
        ]
        async with self._producer() as producer:
            for key, value in values:
                await producer.send_and_wait(self._topic, value, key=key.encode(), partition=self._partition(dice))
        return len(values)

    async def oversized(self, dice: random.Random) -> tuple[int, bool]:
        """One as large as Kafka takes, and one larger: how many were taken, and whether the larger one was refused."""
        async with self._producer() as producer:
            partition = self._partition(dice)
            await producer.send_and_wait(self._topic, dice.randbytes(_LARGEST), key=b"large", partition=partition)
            try:
                await producer.send_and_wait(self._topic, dice.randbytes(_ABOVE), key=b"larger", partition=partition)
            except MessageSizeTooLargeError:
                return 1, True
            return 2, False

    @asynccontextmanager
    async def _producer(self) -> AsyncIterator[AIOKafkaProducer]:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks="all",
            enable_idempotence=True,
            max_request_size=_MAX_REQUEST,
            max_batch_size=_MAX_REQUEST,
        )
        try:
            await producer.start()
            yield producer
        finally:  # also where it could not start
            await producer.stop()

    @property
    def _topic(self) -> str:
        return self.installation.topic(Topic.EVENTS)

    def _partition(self, dice: random.Random) -> int:
        return dice.randrange(self.installation.partitions)

    def _forged(self, tenant: TenantId) -> bytes:
        """A well-formed command under a secret that nobody gave out."""
        forger = HmacSecret(SecretId("dev-agent-1"), b"f" * 32)
        _, value = sealed_command(
            IssueKey(tenant=tenant), self.installation, signers={_AGENT: forger}, principal=_AGENT
        )
        return value

    def _newer(self, tenant: TenantId) -> bytes:
        """An envelope around a command of a schema that nobody knows yet."""
        envelope = ENVELOPES.decode(self._forged(tenant))
        return ENVELOPES.encode(replace(envelope, command=b"\xc3\x01" + b"\x07" * 8 + envelope.command[10:]))
