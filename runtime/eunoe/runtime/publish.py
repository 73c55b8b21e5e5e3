"""Signed commands handed to Kafka, each to its tenant's partition of ``memory-events``.

Producers, the command line and the sweeper send through here. Nothing is reported as written that Kafka has not
confirmed: aiokafka's idempotent producer never gives a record up by itself (it would wait for a lost broker for ever),
so each record has a deadline of its own here, and what happens after it is `NotSent`.
"""

import asyncio
import contextlib
import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import BrokerAway
from eunoe.runtime.installation import Installation
from eunoe.runtime.signing import RECORD_LIMIT, EnvelopeMaker
from eunoe.schemas.commands import Command
from eunoe.schemas.envelope import TRACEPARENT_HEADER
from eunoe.schemas.ids import CommandId
from eunoe.schemas.topics import Topic

BATCH_BYTES: Final = 250_000
_LINGER_MS: Final = 2
_FLUSH_S: Final = 1.0
_DOING: Final = "taking a command"


@dataclass(eq=False)
class NotSent(BrokerAway):
    """Kafka has not confirmed the record. It may be there all the same: sending it again under its id is safe."""

    cause: str = ""

    def __str__(self) -> str:
        why = self.cause or f"no answer within {self.after_seconds:g} s"
        return f"Kafka did not confirm the record ({why}); nothing is reported as written"


class Delivery:
    """A record in the buffer."""

    __slots__ = ("_future",)

    def __init__(self, future: "asyncio.Future[Any]") -> None:
        self._future = future

    async def written(self) -> None:
        """Returns when Kafka has it on all in-sync replicas. Raises `NotSent`. May be asked more than once."""
        try:
            await asyncio.shield(self._future)
        except KafkaError as error:
            raise NotSent(_DOING, 0.0, type(error).__name__) from error


class _Deadlines:
    """Fails what Kafka has not confirmed in time: records in the order of sending, one timer for the oldest."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._open: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.expired = 0

    def watch(self, future: "asyncio.Future[Any]") -> None:
        self._drop_settled()
        self._open.append((self._loop.time() + self._seconds, future))
        if self._timer is None:
            self._timer = self._loop.call_at(self._open[0][0], self._look)

    def open(self) -> "list[asyncio.Future[Any]]":
        """What is neither confirmed nor failed."""
        return [future for _, future in self._open if not future.done()]

    def _look(self) -> None:
        now = self._loop.time()
        for deadline, future in self._open:
            if deadline > now:
                break
            if not future.done():
                # aiokafka leaves a settled future alone when it settles the batch.
                future.set_exception(NotSent(_DOING, self._seconds))
                self.expired += 1
        self._drop_settled()
        self._timer = self._loop.call_at(self._open[0][0], self._look) if self._open else None

    def _drop_settled(self) -> None:
        while self._open and self._open[0][1].done():
            future = self._open.popleft()[1]
            if not future.cancelled():
                future.exception()  # seen: whoever sent it may not be waiting


class CommandPublisher:
    """Sends as one principal. `start` before, `stop` after; belongs to one event loop.

    The buffer is one batch per partition beside the one in flight; where it is full, sending waits.
    ``delivery_timeout_ms`` bounds that wait, and then the wait for Kafka's confirmation.
    """

    def __init__(
        self, bootstrap: Bootstrap, installation: Installation, envelopes: EnvelopeMaker, delivery_timeout_ms: int
    ) -> None:
        self._installation = installation
        self._topic = installation.topic(Topic.EVENTS)
        self._envelopes = envelopes
        self._seconds = delivery_timeout_ms / 1000
        self._deadlines = _Deadlines(self._seconds)
        self._producer = AIOKafkaProducer(
            **connecting(bootstrap),
            acks="all",
            enable_idempotence=True,
            linger_ms=_LINGER_MS,
            max_request_size=2 * RECORD_LIMIT,  # RECORD_LIMIT is checked before
            max_batch_size=BATCH_BYTES,
            request_timeout_ms=delivery_timeout_ms,
        )
        _expire_nothing(self._producer)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, failed: object, *_: object) -> None:
        try:
            await self.stop()
        except NotSent:
            if failed is None:
                raise

    async def start(self) -> None:
        """Raises `BrokerAway`, or aiokafka's error where there is no such topic."""
        async with within(self._seconds, "connecting the producer"):
            await self._producer.start()
            await self._producer.partitions_for(self._topic)

    async def stop(self) -> None:
        """Wait for what is buffered, at most to its deadline, and close. Raises `NotSent` where some of it was not
        confirmed: its senders may not be waiting for it."""
        before = self._deadlines.expired
        waiting = self._deadlines.open()
        if waiting:
            await asyncio.wait(waiting)
        await self._close()
        if self._deadlines.expired > before:
            raise NotSent("taking the last commands", self._seconds)

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
            raise NotSent("buffering a command", self._seconds, type(error).__name__) from error
        self._deadlines.watch(future)
        return Delivery(future)

    async def publish(self, command: Command, command_id: CommandId) -> None:
        """Returns when Kafka has it. Raises as `submit` and `Delivery.written`."""
        delivery = await self.submit(command, command_id)
        await delivery.written()

    async def _close(self) -> None:
        try:
            async with asyncio.timeout(_FLUSH_S):
                await self._producer.flush()
        except TimeoutError:
            await self._abandon()
        else:
            await self._producer.stop()

    async def _abandon(self) -> None:
        """Close with records in the buffer, for which ``AIOKafkaProducer.stop`` would wait until the broker is back."""
        producer = self._producer
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
