"""`TraceWriter`: traces of reads onto ``memory-access``, beside the reads and never in their way.

`offer` puts a trace into a bounded buffer and returns at once; a task seals and writes, again and again where Kafka is
away. Where the buffer is full the trace is dropped and counted, and the read says that it was not traced. A trace whose
access key does not come is written without its query: who was given what is worth more than what was asked. Written at
least once: a reader goes by ``trace_id``.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from typing import Final, Protocol, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError
from msgspec.structs import replace

from eunoe.crypto.errors import CryptoError
from eunoe.crypto.hierarchy import WrappedKey
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DayCipher
from eunoe.producers.errors import KeyRefused
from eunoe.producers.key_requests import Ask, OutcomeSource
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import BrokerAway, RuntimeFault
from eunoe.runtime.installation import Installation
from eunoe.runtime.metrics import SILENT, TRACES, Meter
from eunoe.schemas.codec import TRACES as CODEC
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import Bucket, KeyId, TenantId
from eunoe.schemas.topics import Topic
from eunoe.schemas.traces import Asked, Trace, day_of, encode_asked, place_of

log = logging.getLogger(__name__)

NO_KEY: Final = KeyId("")
ROOM: Final = 2_000
"""Traces that wait; a burst of reads beyond what Kafka takes in a few seconds."""
PATIENCE_S: Final = 5.0
"""For a key that was asked for, for Kafka's confirmation before it is tried again, and for the rest at the end."""
_AGAIN_S: Final = 10.0
_PAUSE_S: Final = 0.5
_BATCH: Final = 200
_CLIP: Final = 8_000
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.2

_LOST: Final = {
    "not_confirmed": "%s not confirmed by Kafka before this client closed: those reads may have left no trace",
    "refused": "%s refused by Kafka: may this client write memory-access?",
}

Waiting = tuple[Trace, Asked]


class AccessKeySource(Protocol):
    """Filled by `apps` with the ``keys`` read model."""

    async def access_key(self, tenant: TenantId, incarnation: int, day: Bucket) -> WrappedKey | None:
        """The access key that the incarnation of the tenant has for a UTC day; None where there is none (yet).

        Raises a `CryptoError`."""
        ...


class AccessKeys:
    """The cipher of a tenant's day, asked for through the log where there is none. Belongs to one event loop.

    A tenant whose key did not come in time, or was refused, is not asked for again for some seconds.
    """

    def __init__(
        self,
        keyring: Keyring,
        source: AccessKeySource,
        ask: Ask,
        outcomes: OutcomeSource | None = None,
        patience: float = PATIENCE_S,
    ) -> None:
        self._keyring = keyring
        self._source = source
        self._ask = ask
        self._outcomes = outcomes
        self._patience = patience
        self._known: dict[TenantId, tuple[int, Bucket, KeyId]] = {}
        self._not_before: dict[TenantId, float] = {}

    async def cipher(self, tenant: TenantId, day: Bucket) -> DayCipher | None:
        """None where no key comes in time, or the tenant is forgotten."""
        clock = asyncio.get_running_loop().time
        if clock() < self._not_before.get(tenant, 0.0):
            return None
        try:
            async with asyncio.timeout(self._patience):
                return await self._keyring.access_cipher(tenant, await self._key_id(tenant, day))
        except (CryptoError, RuntimeFault, TimeoutError) as error:
            log.warning("a day has no access key, its queries are not kept: %s", type(error).__name__)
            self._not_before[tenant] = clock() + _AGAIN_S
            return None

    async def _key_id(self, tenant: TenantId, day: Bucket) -> KeyId:
        incarnation = (await self._keyring.tenant(tenant)).incarnation
        known = self._known.get(tenant)
        if known is not None and known[:2] == (incarnation, day):
            return known[2]
        asked = (tenant, incarnation, day)
        found = await self._source.access_key(*asked) or await self._issued(*asked)
        self._known[tenant] = (incarnation, day, found.key_id)
        return found.key_id

    async def _issued(self, tenant: TenantId, incarnation: int, day: Bucket) -> WrappedKey:
        command_id = await self._ask(IssueKey(tenant=tenant, incarnation=incarnation, bucket=day))
        if self._outcomes is not None:
            outcome = await self._outcomes.wait(tenant, command_id, self._patience)
            if outcome.refused:
                raise KeyRefused(outcome)
        pause = _FIRST_PAUSE_S
        while (found := await self._source.access_key(tenant, incarnation, day)) is None:
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE_S, pause * 1.5)
        return found


class TraceWriter:
    """An async context manager; belongs to one event loop. ``room``: how many traces may wait."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        installation: Installation,
        keys: AccessKeys,
        *,
        meter: Meter = SILENT,
        room: int = ROOM,
        patience: float = PATIENCE_S,
    ) -> None:
        self._bootstrap = bootstrap
        self._installation = installation
        self._topic = installation.topic(Topic.ACCESS)
        self._keys = keys
        self._meter = meter
        self._room = room
        self._patience = patience
        self._waiting: deque[Waiting] = deque()
        self._at_hand = 0
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._producer: AIOKafkaProducer | None = None
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="traces")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def offer(self, trace: Trace, asked: Asked) -> bool:
        """Whether it is taken; ``key_id`` and ``sealed`` of ``trace`` are filled in later. Does not wait or raise."""
        if len(self._waiting) >= self._room or self._task is None or self._task.done():
            self._meter.add(TRACES, "no_room")
            return False
        self._waiting.append((trace, asked))
        self._idle.clear()
        self._wake.set()
        return True

    async def flushed(self, timeout: float) -> bool:
        """Waits until nothing waits any more: False after ``timeout`` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._idle.wait()
                return True
        return False

    async def aclose(self) -> None:
        """Write what waits, as far as Kafka takes it within the patience; the rest is dropped and counted."""
        task, self._task = self._task, None
        if task is None:
            return
        await self.flushed(self._patience)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        self._lost(len(self._waiting) + self._at_hand, "not_confirmed")
        self._waiting.clear()
        await self._stop_producer()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
                await self._write(batch)
            self._idle.set()

    async def _write(self, batch: list[Waiting]) -> None:
        by_day: dict[tuple[TenantId, Bucket], list[Waiting]] = {}
        for each in batch:
            by_day.setdefault((each[0].tenant, day_of(each[0].at)), []).append(each)
        self._at_hand = len(batch)
        groups = await asyncio.gather(*map(self._sealed, by_day, by_day.values()))
        left = [trace for group in groups for trace in group]
        while left:
            left = await self._sent(left)
            self._at_hand = len(left)
            if left:
                await asyncio.sleep(_PAUSE_S)

    async def _sent(self, traces: list[Trace]) -> list[Trace]:
        """Those that Kafka has not confirmed and may yet take; what it will never take is dropped and counted."""
        try:
            async with within(self._patience, "writing traces"):
                producer = await self._started()
                settled = await asyncio.gather(*[self._send(producer, each) for each in traces], return_exceptions=True)
        except (BrokerAway, KafkaError) as error:
            log.warning("Kafka does not take traces: %s", type(error).__name__)
            return traces
        refused = [each for each in settled if isinstance(each, BaseException) and not _may_succeed(each)]
        left = [trace for trace, each in zip(traces, settled, strict=True) if _may_succeed(each)]
        self._lost(len(refused), "refused")
        self._meter.add(TRACES, "written", amount=len(traces) - len(left) - len(refused))
        return left

    async def _sealed(self, of: tuple[TenantId, Bucket], waiting: Iterable[Waiting]) -> list[Trace]:
        cipher = await self._keys.cipher(*of)
        if cipher is None:
            found = [trace for trace, _ in waiting]
            self._meter.add(TRACES, "without_query", amount=len(found))
            return found
        return [_sealed(cipher, trace, asked) for trace, asked in waiting]

    async def _send(self, producer: AIOKafkaProducer, trace: Trace) -> object:
        """Returns when Kafka has it."""
        return await producer.send_and_wait(
            self._topic,
            CODEC.encode(trace),
            key=trace.tenant.encode(),
            partition=self._installation.partition_of(trace.tenant),
        )

    async def _started(self) -> AIOKafkaProducer:
        if self._producer is None:
            # Not idempotent: such a producer never gives a batch up by itself.
            producer = AIOKafkaProducer(
                **connecting(self._bootstrap),
                acks="all",
                linger_ms=5,
                request_timeout_ms=round(self._patience * 1000),
            )
            try:
                await producer.start()
            except BaseException:
                await producer.stop()
                raise
            self._producer = producer
        return self._producer

    async def _stop_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            async with asyncio.timeout(1.0):
                await producer.stop()
        except TimeoutError:
            await producer.client.close()

    def _lost(self, count: int, why: str) -> None:
        if count:
            self._meter.add(TRACES, why, amount=count)
            log.warning(_LOST[why], f"{count} trace{' of reads was' if count == 1 else 's of reads were'}")


def _may_succeed(settled: object) -> bool:
    return isinstance(settled, KafkaTimeoutError) or (isinstance(settled, KafkaError) and bool(settled.retriable))


def _sealed(cipher: DayCipher, trace: Trace, asked: Asked) -> Trace:
    content = encode_asked(Asked(asked.query[:_CLIP], asked.subject))
    return replace(trace, key_id=cipher.key_id, sealed=cipher.seal(place_of(trace.trace_id, trace.tenant), content))


__all__ = ["NO_KEY", "AccessKeySource", "AccessKeys", "TraceWriter"]
