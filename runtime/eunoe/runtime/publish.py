"""Signed commands handed to Kafka, each to its tenant's partition of ``memory-events``.

Producers, the command line and the sweeper send through here. Nothing is reported as written that Kafka has not
confirmed: aiokafka's idempotent producer never gives a record up by itself (it would wait for a lost broker for ever),
so each record has a deadline of its own here, and what happens after it is `NotSent`.
"""

import asyncio
import contextlib
import logging
import math
from typing import Final, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.deadline import within
from eunoe.runtime.deliveries import Deliveries, Delivery, NotSent
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import Installation
from eunoe.runtime.signing import RECORD_LIMIT, EnvelopeMaker
from eunoe.schemas.commands import Command
from eunoe.schemas.envelope import TRACEPARENT_HEADER
from eunoe.schemas.ids import CommandId
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

BATCH_BYTES: Final = 250_000
CLOSE_S: Final = 10.0
"""How long closing waits for Kafka: longer than a partition takes to get another leader, shorter than anybody waits for
a process to end."""
_LINGER_MS: Final = 2
_FLUSH_S: Final = 1.0
_AGAIN_S: Final = 1.0


class CommandPublisher:
    """Sends as one principal. `start` before, `stop` after; belongs to one event loop.

    The buffer is one batch per partition beside the one in flight; where it is full, sending waits.
    ``delivery_timeout_ms`` bounds that wait, and then the wait for Kafka's confirmation; ``closing`` (seconds) the wait
    of `stop`.

    Where Kafka refuses a batch for good, as when the right to write was taken away, aiokafka 0.14 has numbered its
    records, and Kafka would refuse all that follows as out of sequence. So what comes next goes through a producer that
    is made anew (at most one a second): once Kafka takes records again, so does this object.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        installation: Installation,
        envelopes: EnvelopeMaker,
        delivery_timeout_ms: int,
        closing: float = CLOSE_S,
    ) -> None:
        self._installation = installation
        self._topic = installation.topic(Topic.EVENTS)
        self._envelopes = envelopes
        self._seconds = delivery_timeout_ms / 1000
        self._closing = min(closing, self._seconds)
        self._deliveries = Deliveries(self._seconds)
        self._bootstrap = bootstrap
        self._producer = self._made()
        self._beginning = asyncio.Lock()
        self._began = -_AGAIN_S

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, kind: object, failed: BaseException | None, *_: object) -> None:
        try:
            await self.stop()
        except NotSent as unsent:
            if failed is None:
                raise
            failed.add_note(str(unsent))

    async def start(self) -> None:
        """Raises `BrokerAway`, or aiokafka's error where there is no such topic."""
        await self._connect(self._producer)

    async def stop(self) -> None:
        """Wait for what is buffered, and close. Raises `NotSent` with the ids of all that Kafka did not confirm, then
        or before, and that nobody was told of."""
        await self._deliveries.settled(self._closing)
        await self._close()
        if unsent := self._deliveries.untold():
            raise NotSent("taking the last commands", self._closing, unsent=tuple(unsent))

    async def submit(
        self,
        command: Command,
        command_id: CommandId,
        *,
        causation: str | None = None,
        correlation: str | None = None,
        session: bytes | None = None,
        traceparent: str | None = None,
    ) -> Delivery:
        """Returns once it is in the buffer. Raises `MissingSecret`, `RecordTooLarge`, `NotSent`."""
        await self._usable(command_id)
        value = self._envelopes.record(command, command_id, causation, correlation, session)
        headers = [] if traceparent is None else [(TRACEPARENT_HEADER, traceparent.encode())]
        try:
            future = await self._producer.send(
                self._topic,
                value,
                key=command.tenant.encode(),
                partition=self._installation.partition_of(command.tenant),
                headers=headers,
            )
        except KafkaError as error:
            if not isinstance(error, KafkaTimeoutError):
                self._deliveries.broken = error
            cause = type(error).__name__
            raise NotSent("buffering a command", self._seconds, cause, (command_id,)) from error
        delivery = Delivery(command_id, future)
        self._deliveries.watch(delivery)
        return delivery

    async def publish(self, command: Command, command_id: CommandId) -> None:
        """Returns when Kafka has it. Raises as `submit` and `Delivery.written`."""
        delivery = await self.submit(command, command_id)
        await delivery.written()

    def _made(self) -> AIOKafkaProducer:
        producer = AIOKafkaProducer(
            **connecting(self._bootstrap),
            acks="all",
            enable_idempotence=True,
            linger_ms=_LINGER_MS,
            max_request_size=2 * RECORD_LIMIT,  # RECORD_LIMIT is checked before
            max_batch_size=BATCH_BYTES,
            request_timeout_ms=round(self._seconds * 1000),
        )
        _expire_nothing(producer)
        return producer

    async def _connect(self, producer: AIOKafkaProducer) -> None:
        async with within(self._seconds, "connecting the producer"):
            await producer.start()
            await producer.partitions_for(self._topic)

    async def _usable(self, command_id: CommandId) -> None:
        """Returns with a producer whose records Kafka does not refuse for those before them. Raises `NotSent`."""
        self._deliveries.drop_settled()
        if self._deliveries.broken is None:
            return
        async with self._beginning:
            if self._deliveries.broken is None:
                return
            try:
                await self._begin_anew()
            except (BrokerAway, KafkaError) as error:
                cause = type(error).__name__
                raise NotSent("connecting again", self._seconds, cause, (command_id,)) from error

    async def _begin_anew(self) -> None:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, self._began + _AGAIN_S - clock()))
        self._began = clock()
        # What still lies in the old one's buffer comes before what is sent next, or not at all.
        await self._deliveries.settled(_FLUSH_S)
        log.warning("Kafka refused a record (%s); a new producer is begun", type(self._deliveries.broken).__name__)
        fresh = self._made()
        try:
            await self._connect(fresh)
        except BaseException:
            await close_in_time(fresh.stop())
            raise
        old, self._producer = self._producer, fresh
        self._deliveries.mended()
        await close_in_time(_abandon(old))

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(_FLUSH_S):
                await self._producer.flush()
        except TimeoutError:
            await close_in_time(_abandon(self._producer))
        else:
            await close_in_time(self._producer.stop())


async def _abandon(producer: AIOKafkaProducer) -> None:
    """Close with records in the buffer, for which ``AIOKafkaProducer.stop`` would wait until the broker is back."""
    producer._closed = True
    await producer.client.close()
    task: asyncio.Task[None] | None = producer._sender.sender_task
    for _ in range(2):  # the first ends its loop, the second what it still waits for
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_FLUSH_S)
    if task is not None and task.done() and not task.cancelled():
        with contextlib.suppress(KafkaError):
            task.result()


def _expire_nothing(producer: AIOKafkaProducer) -> None:
    """Keep aiokafka from dropping batches that waited for long; `_Deadlines` tells their senders.

    aiokafka 0.14 drops one of a partition that has no leader, as after a broker's restart, when it is older than the
    request timeout, and has counted its records by then: Kafka refuses all that follows, for ever, as out of sequence
    (measured: a broker that was away for half a minute left every producer useless). What is kept instead is at most a
    batch a partition, and is sent when there is a leader again.
    """
    producer._message_accumulator._batch_ttl = math.inf


__all__ = ["BATCH_BYTES", "CLOSE_S", "CommandPublisher", "Delivery", "NotSent"]
