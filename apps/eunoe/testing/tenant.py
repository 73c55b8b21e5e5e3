"""A tenant's client side for tests: asks for keys, seals bodies, makes commands. What a producer does, step by step."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Unpack

from aiokafka import AIOKafkaProducer

from eunoe.crypto.buckets import month_bucket
from eunoe.crypto.errors import KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import TenantKeys
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import CorrectMemory, Draft, IssueKey, MemoryBody, RememberMemory
from eunoe.schemas.ids import Bucket, MemoryId, Millis, Partition, Pseudonym, TenantId, new_id
from eunoe.testing.deciding import DAY, Surroundings
from eunoe.testing.samples import DraftFields, sample_draft

_DEADLINE_S = 20.0


@dataclass(slots=True)
class TestTenant:
    """Seals for one tenant. ``open`` needs a running decider, for it is the decider that makes keys."""

    __test__ = False

    around: Surroundings
    producer: AIOKafkaProducer
    name: TenantId
    keyring: Keyring = field(init=False)

    def __post_init__(self) -> None:
        self.keyring = self.around.new_keyring()

    async def keys(self) -> TenantKeys:
        """The tenant's keys, asked for where there are none."""
        try:
            return await self.keyring.tenant(self.name)
        except KeyUnknown:
            await self.around.send(self.producer, IssueKey(tenant=self.name))
        async with asyncio.timeout(_DEADLINE_S):
            while True:
                await self.around.refresh_keys()
                try:
                    return await self.keyring.tenant(self.name)
                except KeyUnknown:
                    await asyncio.sleep(0.05)

    async def subject(self, name: str | None, bucket: Bucket | None = None) -> Pseudonym:
        """The subject's pseudonym, with a data key for ``bucket`` (next month's by default)."""
        pseudonym = (await self.keys()).pseudonym(name)
        bucket = bucket or month_bucket(expiry())
        await self.around.send(self.producer, IssueKey(tenant=self.name, subject=pseudonym, bucket=bucket))
        async with asyncio.timeout(_DEADLINE_S):
            while True:
                await self.around.refresh_keys()
                try:
                    await self.keyring.sealing_cipher(self.name, pseudonym, bucket)
                except KeyUnknown:
                    await asyncio.sleep(0.05)
                else:
                    return pseudonym

    def draft(self, whom: Pseudonym, statement: str, claim: str | None = None, **over: Unpack[DraftFields]) -> Draft:
        """A draft of ``statement`` on ``whom``, sealed; `subject` has been called for its bucket."""
        expires_at = over.setdefault("expires_at", expiry())
        memory_id = over.setdefault("memory_id", MemoryId(new_id()))
        cipher = self.keyring.cached_sealing_cipher(self.name, whom, month_bucket(expires_at))
        assert cipher is not None, "call subject() first"
        body = MemoryBody(statement=statement, claim_key=claim, source_uri="crm://tickets/1")
        over.setdefault("ttl", None)
        over.setdefault("observed_at", None)
        over["key_id"] = cipher.key_id
        over["generation"] = cipher.meta.generation
        over["subject"] = whom
        over["body"] = cipher.seal(memory_id, 1, BODIES.encode(body))
        over["body_version"] = 1
        return sample_draft(**over)

    async def idempotency(self, text: str | None = None) -> bytes:
        return (await self.keys()).idempotency_hash(text or new_id())

    async def remember(
        self,
        whom: Pseudonym,
        statement: str,
        key: str | None = None,
        claim: str | None = None,
        **over: Unpack[DraftFields],
    ) -> RememberMemory:
        return RememberMemory(
            tenant=self.name,
            draft=self.draft(whom, statement, claim, **over),
            idempotency=await self.idempotency(key),
        )

    async def correct(
        self, whom: Pseudonym, statement: str, old: MemoryId, version: int, **over: Unpack[DraftFields]
    ) -> CorrectMemory:
        return CorrectMemory(
            tenant=self.name,
            draft=self.draft(whom, statement, **over),
            supersedes=old,
            expected_version=version,
            idempotency=await self.idempotency(),
        )


def expiry() -> Millis:
    """Thirty days from now: within every limit of the test policy."""
    return Millis(SystemClock().now() + 30 * DAY)


@asynccontextmanager
async def deciding(around: Surroundings, *partitions: int) -> AsyncIterator[None]:
    """Deciders of ``partitions`` (all by default) for as long as the block runs; what one raises is raised here."""
    chosen = partitions or tuple(range(around.installation.partitions))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(around.decider(Partition(each)).run()) for each in chosen]
        yield
        for task in tasks:
            task.cancel()
