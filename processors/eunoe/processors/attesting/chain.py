"""The receipts of one partition: numbered, each naming the hash of the one before, signed, written by one writer.

The topic itself says what is written: who takes a partition over fences the writer before it, and only then reads how
far the chain is. So no stage has two receipts and no number is used twice.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import RECEIPTS
from eunoe.schemas.ids import Offset, Partition, TenantId
from eunoe.schemas.receipts import FIRST, ReceiptRecord, Stage, receipt_body, receipt_hash, signed_receipt_bytes
from eunoe.schemas.topics import Topic

_WRITE_S: Final = 40.0


class ReceiptChain:
    """The single writer of one partition's receipts. Made by `holding_chain`."""

    def __init__(
        self, producer: AIOKafkaProducer, installation: Installation, partition: Partition, signer: Ed25519Signer
    ) -> None:
        self._producer = producer
        self._installation = installation
        self._partition = partition
        self._signer = signer
        self._sequence = 0
        self._previous = FIRST
        self._written: dict[Offset, set[Stage]] = {}
        self.compacted: dict[Offset, tuple[int, Mapping[str, Any]]] = {}
        """By closing event: the receipt that says that its keys are gone from the key topic, with its number."""

    def has(self, closed_at: Offset, stage: Stage) -> bool:
        """Whether the closing event at this offset has its receipt of ``stage``."""
        return stage in self._written.get(closed_at, ())

    def follow(self, record: ReceiptRecord) -> None:
        """Take note of a receipt that is on the topic."""
        body = json.loads(record.body)
        self._sequence = record.sequence
        self._previous = receipt_hash(record)
        closed_at, stage = Offset(body["closed_at_offset"]), Stage(body["stage"])
        self._written.setdefault(closed_at, set()).add(stage)
        if stage is Stage.COMPACTED:
            self.compacted[closed_at] = record.sequence, body

    async def write(self, statements: Sequence[tuple[TenantId, Mapping[str, Any]]]) -> Sequence[ReceiptRecord]:
        """Number, chain and sign each of ``statements``; returns once all of them are committed, in one transaction.

        Raises what aiokafka raises (fenced, broker away): then it is not known whether they were written (all of them
        or none), and the chain must be read again.
        """
        records = self._records(statements)
        topic = self._installation.topic(Topic.RECEIPTS)
        async with asyncio.timeout(_WRITE_S):
            await self._producer.begin_transaction()
            sent = [
                await self._producer.send(
                    topic, value=RECEIPTS.encode(each), key=tenant.encode(), partition=self._partition
                )
                for (tenant, _), each in zip(statements, records, strict=True)
            ]
            for each in sent:  # awaited first: aiokafka commits a transaction of which a batch was refused
                await each
            await self._producer.commit_transaction()
        for record in records:
            self.follow(record)
        return records

    def _records(self, statements: Sequence[tuple[TenantId, Mapping[str, Any]]]) -> Sequence[ReceiptRecord]:
        log_id, sequence, previous = self._installation.log_id, self._sequence, self._previous
        records = []
        for _, statement in statements:
            sequence += 1
            body = receipt_body({**statement, "sequence": sequence, "previous": previous})
            record = ReceiptRecord(
                log_id=log_id,
                sequence=sequence,
                body=body,
                signer=self._signer.secret_id,
                signature=self._signer.sign(signed_receipt_bytes(log_id, sequence, body)),
            )
            previous = receipt_hash(record)
            records.append(record)
        return records


@asynccontextmanager
async def holding_chain(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, signer: Ed25519Signer, group: str
) -> AsyncIterator[ReceiptChain]:
    """The chain, its previous writer fenced, read to its end. Raises aiokafka's errors."""
    producer = AIOKafkaProducer(
        **connecting(bootstrap),
        transactional_id=f"{group}-{partition}",
        acks="all",
        retry_backoff_ms=10,
    )
    try:
        await producer.start()
        chain = ReceiptChain(producer, installation, partition, signer)
        async for record in receipts(bootstrap, installation, partition):
            chain.follow(record)
        yield chain
    finally:
        await close_in_time(producer.stop())


async def receipts(
    bootstrap: Bootstrap, installation: Installation, partition: Partition
) -> AsyncIterator[ReceiptRecord]:
    """Every receipt of the partition, in order, up to the end as it is now."""
    place = TopicPartition(installation.topic(Topic.RECEIPTS), partition)
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        fetch_max_wait_ms=50,
    )
    try:
        await consumer.start()
        end = (await consumer.end_offsets([place]))[place]
        consumer.assign([place])
        while await consumer.position(place) < end:
            for record in (await consumer.getmany(place, timeout_ms=200)).get(place, ()):
                yield RECEIPTS.decode(record.value)
    finally:
        await close_in_time(consumer.stop())
