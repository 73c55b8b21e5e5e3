"""A restored backup, tried with the new key-encryption key alone before the old one is destroyed.

It must be as fresh as the fence: until then key by key and fact by fact what the live installation holds. Every key in
it is unwrapped, and every body whose key is there is opened. Offsets are not compared, for a copy made by a mirror has
others. What is read is held in memory for one partition at a time: its live keys, twice.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, NewType

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.crypto.errors import CryptoError
from eunoe.crypto.hierarchy import KEK_WRAPPED, KekWrapper, unwrap_key
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.crypto.keys import DataCipher, OpenedKey, TenantKeys, open_key
from eunoe.crypto.records import from_record
from eunoe.operations.backup_errors import BackupUseless
from eunoe.processors.shredding.rewrapping import tenant_key_of
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.live_keys import LiveKeys, reading_live_keys
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.control import BackupTried, KekRotation
from eunoe.schemas.events import MemoryAccepted, MemoryQuarantined
from eunoe.schemas.ids import KeyId, LogId, Millis, Offset, Partition
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.worker.simulated_log import stretch

_BREATH: Final = 500
_Digest = NewType("_Digest", bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupTrial:
    """``live``: the installation; ``restored`` and ``names``: where the backup was restored to; ``kek``: the new key,
    best from the copy that is kept apart."""

    brokers: Bootstrap
    live: Installation
    restored: Bootstrap
    names: TopicNames
    kek: KeyEncryptionKey
    rotation: KekRotation

    async def run(self, now: Millis) -> BackupTried:
        """Raises `BackupUseless`, what `read_installation` raises, and what aiokafka does."""
        if self.kek.kek_id != self.rotation.wraps:
            raise BackupUseless(f"the key given is {self.kek.kek_id}, and the new one is {self.rotation.wraps}")
        await self._check_elsewhere()
        copy = await read_installation(self.restored, self.names)
        if (copy.log_id, copy.partitions) != (self.live.log_id, self.live.partitions):
            raise BackupUseless(f"what was restored is the log {copy.log_id}, not {self.live.log_id}")
        tried = BackupTried(at=now)
        for number in range(copy.partitions):
            found = await self._partition(copy, Partition(number))
            tried = BackupTried(
                at=now,
                keys=tried.keys + found.keys,
                facts=tried.facts + found.facts,
                bodies=tried.bodies + found.bodies,
            )
        return tried

    async def _check_elsewhere(self) -> None:
        """The live log is no backup of itself."""
        if self.names == self.live.names and await _addresses(self.brokers) & await _addresses(self.restored):
            raise BackupUseless("what was given is the live installation itself")

    async def _partition(self, copy: Installation, partition: Partition) -> BackupTried:
        async with AsyncExitStack() as closing:
            live = await closing.enter_async_context(reading_live_keys(self.brokers, self.live, partition))
            held = await closing.enter_async_context(reading_live_keys(self.restored, copy, partition))
            await held.catch_up()
            await live.catch_up()
        self._check_keys(live, held, partition)
        opened = await unwrapped(self.live.log_id, held.keys, self.kek)
        facts = await self._check_facts(copy, partition)
        lacking = frozenset(live.keys) - frozenset(held.keys)
        bodies = await self._open_bodies(copy, partition, opened, lacking)
        return BackupTried(at=Millis(0), keys=len(opened), facts=facts, bodies=bodies)

    def _check_keys(self, live: LiveKeys, held: LiveKeys, partition: Partition) -> None:
        wanted = live.before(Offset(self.rotation.fence[partition]))
        lacking = [each for each, record in wanted.items() if held.keys.get(each) != record]
        if lacking:
            why = f"{len(lacking)} of {len(wanted)} keys that lay there at the fence are not in it, or are others"
            raise BackupUseless(f"partition {partition}: {why}")

    async def _check_facts(self, copy: Installation, partition: Partition) -> int:
        """How many facts there are until the fence, the same in both."""
        end = Offset(self.rotation.log_fence[partition])
        ours, count = await _digest(self.brokers, self.live, partition, end, None)
        theirs, found = await _digest(self.restored, copy, partition, None, count)
        if ours != theirs:
            raise BackupUseless(
                f"partition {partition}: of {count} facts until the fence it has {found}"
                if found < count
                else f"partition {partition}: its facts until the fence are not those of the live log"
            )
        return count

    async def _open_bodies(
        self,
        copy: Installation,
        partition: Partition,
        opened: Mapping[KeyId, OpenedKey],
        lacking: frozenset[KeyId],
    ) -> int:
        """How many. ``lacking``: keys that live and are not in the backup."""
        done = missing = 0
        async for value in _values(self.restored, copy, partition, None):
            fact = EVENTS.decode(value).fact
            if not isinstance(fact, MemoryAccepted | MemoryQuarantined):
                continue
            draft = fact.draft
            cipher = opened.get(draft.key_id)
            if isinstance(cipher, DataCipher):
                try:
                    cipher.open(draft.memory_id, draft.body_version, draft.body)
                except CryptoError:
                    raise BackupUseless(f"partition {partition}: a body in it does not open with its key") from None
                done += 1
            elif draft.key_id in lacking:
                missing += 1  # neither erased nor over: it was issued after the keys were copied
        if missing:
            why = f"{missing} bodies in it have a key that it lacks: memory-keys was copied before memory-lifecycle"
            raise BackupUseless(f"partition {partition}: {why}")
        return done


async def unwrapped(log_id: LogId, keys: Mapping[KeyId, KeyRecord], kek: KeyEncryptionKey) -> Mapping[KeyId, OpenedKey]:
    """All of them, opened with this KEK and nothing else; but for those whose tenant key is destroyed.

    Raises `BackupUseless` where one does not open.
    """
    opened: dict[KeyId, OpenedKey] = {}
    wrapper = KekWrapper(kek)
    order = sorted(keys.values(), key=lambda each: each.kind not in KEK_WRAPPED)
    for number, record in enumerate(order):
        by = wrapper if record.kind in KEK_WRAPPED else opened.get(tenant_key_of(record.wrapped_by))
        if by is None:
            continue
        assert isinstance(by, KekWrapper | TenantKeys), "only a tenant key is named as a wrapper"
        try:
            key = from_record(record)
            opened[record.key_id] = open_key(log_id, key, unwrap_key(by, log_id, key))
        except CryptoError as error:
            raise BackupUseless(f"a key in it does not open with {kek.kek_id}: {error}") from None
        if number % _BREATH == 0:
            await asyncio.sleep(0)
    return opened


async def _digest(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, end: Offset | None, at_most: int | None
) -> tuple[_Digest, int]:
    digest, count = sha256(), 0
    async for value in _values(bootstrap, installation, partition, end):
        if count == at_most:
            break
        digest.update(len(value).to_bytes(4, "big") + value)
        count += 1
    return _Digest(digest.digest()), count


async def _values(
    bootstrap: Bootstrap, installation: Installation, partition: Partition, end: Offset | None
) -> AsyncIterator[bytes]:
    """The facts of a partition, up to ``end`` or to the end as it is now."""
    place = TopicPartition(installation.topic(Topic.LIFECYCLE), partition)
    async with stretch(bootstrap, place) as log:
        upto = await log.end() if end is None else end
        async for record in log.records(await log.first(None), upto):
            yield record.value


async def _addresses(bootstrap: Bootstrap) -> frozenset[tuple[str, int]]:
    """Where the brokers of a cluster say that they are."""
    consumer = AIOKafkaConsumer(**connecting(bootstrap), enable_auto_commit=False)
    try:
        await consumer.start()
        metadata = await consumer._client.fetch_all_metadata()
        return frozenset((each.host, each.port) for each in metadata.brokers())
    finally:
        await consumer.stop()
