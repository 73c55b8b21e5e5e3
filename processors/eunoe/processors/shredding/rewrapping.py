"""Wrapping keys anew while a key-encryption key is rotated: tenant keys first, then everything that they wrap.

It stands beside what destroys keys, for a value written after a tombstone would bring a key back. So nothing is
written before this process has read every tombstone that was written, `writing` keeps its own away meanwhile, and the
writing of a process that lost the partition is fenced by the transactional producer before this one starts.
Tombstones of such a process are not: one that comes between reading and writing is found afterwards, and sent again
(`_destroy_again`). A tenant key is wrapped anew exactly once for each KEK: a second time would make another wrapping
half, and what the first one wrapped would be lost.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from aiokafka import AIOKafkaProducer

from eunoe.crypto.hierarchy import (
    KEK_WRAPPED,
    KekWrapper,
    WrappedKey,
    before_renewal,
    kek_behind,
    renewed,
    unwrap_key,
)
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keys import TenantKeys, open_key
from eunoe.crypto.records import from_record, to_record
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.clock import Clock
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.live_keys import LiveKeys, reading_live_keys
from eunoe.runtime.metrics import KEYS_REWRAPPED, SILENT, Meter
from eunoe.schemas.codec import KEY_RECORDS
from eunoe.schemas.ids import KeyId, LogId, Offset, Partition
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import Topic

AT_ONCE: Final = 200
"""Keys in one transaction; tombstones wait for it."""
_WRITE_S: Final = 40.0

log = logging.getLogger(__name__)


class Live(Protocol):
    """What lives in the partition (`eunoe.runtime.live_keys.LiveKeys`)."""

    @property
    def keys(self) -> dict[KeyId, KeyRecord]: ...
    @property
    def undone(self) -> set[KeyId]: ...
    async def catch_up(self) -> Offset: ...
    def written(self, record: KeyRecord, offset: Offset) -> None: ...


class Writing(Protocol):
    """Writes to the partition of ``memory-keys``, all or nothing."""

    async def write(self, records: Sequence[KeyRecord]) -> Sequence[Offset]:
        """Returns once it is committed. Raises where it is not known whether it was: then read again from the start."""
        ...

    async def destroy(self, key_ids: Sequence[KeyId]) -> None:
        """Tombstones, as `write`."""
        ...


@dataclass(slots=True, kw_only=True)
class Rewrapper:
    """One partition's. ``writing`` is held while nothing else may be written to it; ``due``: whether to look."""

    log_id: LogId
    ring: KekRing
    writer: Writing
    writing: asyncio.Lock
    live: Live
    meter: Meter = SILENT
    _tenants: dict[KeyId, tuple[bytes, TenantKeys]] = field(default_factory=dict)

    async def step(self) -> int:
        """Wrap anew what is under another KEK than the one that wraps. Returns how many were.

        All keys are looked through once for the tenants' and once for the others, whatever there is to do; what comes
        meanwhile is found by the next look.
        """
        await self.live.catch_up()
        await self._destroy_again()
        done = 0
        for tenants in (True, False):
            wanted = self._behind(tenants)
            for first in range(0, len(wanted), AT_ONCE):
                done += await self._wrap_anew(wanted[first : first + AT_ONCE])
                heed_cancellation()
        if done:
            log.info("%d keys wrapped anew under %s", done, self.ring.kek_id)
            self.meter.add(KEYS_REWRAPPED, amount=done)
        return done

    async def _wrap_anew(self, wanted: Sequence[KeyId]) -> int:
        async with self.writing:
            await self.live.catch_up()  # with what was destroyed since it was listed
            listed = {each: self.live.keys[each] for each in wanted if each in self.live.keys}
            keys = behind(listed, self.ring.kek_id, self.live.keys)
            fresh = [to_record(self.log_id, self._renewed(from_record(each))) for each in keys]
            for record, offset in zip(fresh, await self._write(fresh), strict=True):
                self.live.written(record, offset)
        return len(fresh)

    async def _destroy_again(self) -> None:
        """Keys that a value came back for: their tombstones were sent by a process that had lost the partition."""
        if undone := sorted(self.live.undone):
            log.warning("%d keys had a value after their tombstone and are destroyed again", len(undone))
            async with self.writing:
                await self.writer.destroy(undone)
            await self.live.catch_up()

    async def _write(self, records: Sequence[KeyRecord]) -> Sequence[Offset]:
        return await self.writer.write(records) if records else ()

    def _behind(self, tenants: bool) -> list[KeyId]:
        found = [each for each in behind(self.live.keys, self.ring.kek_id) if (each.kind in KEK_WRAPPED) is tenants]
        return [each.key_id for each in found]

    def _renewed(self, key: WrappedKey) -> WrappedKey:
        kek = KekWrapper(self.ring.with_retired())
        if key.kind in KEK_WRAPPED:
            return renewed(kek, self.log_id, unwrap_key(kek, self.log_id, key), key)
        keys = self._tenant(tenant_key_of(key.wrapped_by), kek)
        return renewed(keys, self.log_id, unwrap_key(keys, self.log_id, key), key)

    def _tenant(self, key_id: KeyId, kek: KekWrapper) -> TenantKeys:
        key = from_record(self.live.keys[key_id])
        known = self._tenants.get(key_id)
        if known is not None and known[0] == key.wrapped:
            return known[1]
        before = before_renewal(key)
        earlier = None if before is None else unwrap_key(kek, self.log_id, before)
        opened = open_key(self.log_id, key, unwrap_key(kek, self.log_id, key), earlier)
        assert isinstance(opened, TenantKeys), "only tenant keys wrap a tenant's keys"
        self._tenants[key_id] = (key.wrapped, opened)
        return opened


def tenant_key_of(wrapped_by: str) -> KeyId:
    """The tenant key whose half wrapped it."""
    return KeyId(wrapped_by.rpartition("/")[0])


def behind(
    keys: Mapping[KeyId, KeyRecord], kek_id: str, living: Mapping[KeyId, KeyRecord] | None = None
) -> Sequence[KeyRecord]:
    """Those under another KEK. One whose tenant key is destroyed opens nowhere any more, and is left alone.

    ``living``: all that live in the partition, where ``keys`` are only some of them.
    """
    all_keys = keys if living is None else living
    return [
        each
        for each in keys.values()
        if kek_behind(each.wrapped_by) != kek_id
        and (each.kind in KEK_WRAPPED or tenant_key_of(each.wrapped_by) in all_keys)
    ]


@dataclass(slots=True, kw_only=True)
class Rewrapping:
    """Waits for a rotation and works it off. ``due``: whether there is one; ``every``: seconds between looks."""

    bootstrap: Bootstrap
    installation: Installation
    partition: Partition
    ring: KekRing
    producer: AIOKafkaProducer
    writing: asyncio.Lock
    clock: Clock
    due: Callable[[], bool]
    every: float = 0.5
    meter: Meter = SILENT

    async def run(self) -> None:
        """Until cancelled. Raises what Kafka does, ``WrongKek``, and ``SealBroken``: the lane starts again."""
        while True:
            heed_cancellation()
            if self.due():
                async with reading_live_keys(self.bootstrap, self.installation, self.partition) as live:
                    await self._work_off(live)
            await asyncio.sleep(self.every)

    async def _work_off(self, live: LiveKeys) -> None:
        rewrapper = Rewrapper(
            log_id=self.installation.log_id,
            ring=self.ring,
            writer=_Transactions(self.producer, self.installation.topic(Topic.KEYS), self.partition, self.clock),
            writing=self.writing,
            live=live,
            meter=self.meter,
        )
        while self.due():
            await rewrapper.step()
            await asyncio.sleep(self.every)


@dataclass(frozen=True, slots=True)
class _Transactions:
    producer: AIOKafkaProducer
    topic: str
    partition: Partition
    clock: Clock

    async def write(self, records: Sequence[KeyRecord]) -> Sequence[Offset]:
        return await self._send([(each.key_id, KEY_RECORDS.encode(each)) for each in records])

    async def destroy(self, key_ids: Sequence[KeyId]) -> None:
        await self._send([(each, None) for each in key_ids])

    async def _send(self, values: Sequence[tuple[KeyId, bytes | None]]) -> Sequence[Offset]:
        async with asyncio.timeout(_WRITE_S):
            await self.producer.begin_transaction()
            sent = [
                await self.producer.send(
                    self.topic,
                    value,
                    key=key_id.encode(),
                    partition=self.partition,
                    timestamp_ms=self.clock.now(),
                )
                for key_id, value in values
            ]
            # Awaited first: aiokafka commits a transaction of which a batch was refused.
            offsets = [Offset((await each).offset) for each in sent]
            await self.producer.commit_transaction()
        return offsets


@asynccontextmanager
async def fencing_producer(
    bootstrap: Bootstrap, transactional_id: str, timeout_ms: int
) -> AsyncIterator[AIOKafkaProducer]:
    """Once it is there, whoever had this id before writes no key any more. Raises aiokafka's errors."""
    producer = AIOKafkaProducer(
        **connecting(bootstrap),
        transactional_id=transactional_id,
        acks="all",
        retry_backoff_ms=10,
        request_timeout_ms=timeout_ms,
    )
    try:
        await producer.start()
        yield producer
    finally:
        await close_in_time(producer.stop())


__all__ = ["Rewrapper", "Rewrapping", "behind", "fencing_producer", "tenant_key_of"]
