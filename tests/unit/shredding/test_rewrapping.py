"""Wrapping anew through ports: whatever is killed between two steps, and whatever is destroyed meanwhile."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka import TopicPartition

from eunoe.crypto.errors import WrongKek
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, kek_behind, new_plain, unwrap_key, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keys import TenantKeys, open_key
from eunoe.crypto.records import from_record, to_record
from eunoe.processors.shredding import rewrapping
from eunoe.processors.shredding.rewrapping import Rewrapper
from eunoe.runtime.live_keys import LiveKeys
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Offset, Pseudonym, TenantId
from eunoe.schemas.keys import KeyRecord

LOG, ACME, ANNA = LogId("log-1"), TenantId("acme"), Pseudonym("a" * 32)
OLD, NEW = LocalKek(b"o" * 32), LocalKek(b"n" * 32)


class Killed(Exception):
    pass


@dataclass(slots=True)
class Partition:
    """The topic, and what writes to it."""

    log: list[tuple[KeyId, KeyRecord | None]] = field(default_factory=list)
    before_write: Callable[[], None] = lambda: None
    after_write: Callable[[], None] = lambda: None

    async def write(self, records: Sequence[KeyRecord]) -> Sequence[Offset]:
        self.before_write()
        first = len(self.log)
        self.log += [(each.key_id, each) for each in records]
        self.after_write()
        return [Offset(first + at) for at in range(len(records))]

    async def destroy(self, key_ids: Sequence[KeyId]) -> None:
        self.log += [(each, None) for each in key_ids]

    async def read(self) -> "Reading":
        found = Reading(self)
        await found.catch_up()
        return found


class Reading(LiveKeys):
    """What one process has read of it: only where the records come from is another than in the real one."""

    def __init__(self, partition: Partition) -> None:
        nowhere: Any = None
        super().__init__(nowhere, nowhere, TopicPartition("keys", 0))
        self._partition = partition
        self._read = 0

    async def catch_up(self) -> Offset:
        for offset, (key_id, record) in enumerate(self._partition.log[self._read :], self._read):
            self._take(key_id, record, Offset(offset))
        self._read = len(self._partition.log)
        return Offset(self._read)


def tenant_of(live: LiveKeys) -> TenantKeys:
    key = from_record(live.keys[KeyId("tenant")])
    ring = KekRing((NEW, OLD))
    opened = open_key(LOG, key, unwrap_key(KekWrapper(ring), LOG, key))
    assert isinstance(opened, TenantKeys)
    return opened


@pytest.fixture
def partition() -> Partition:
    return partition_of(5)


def partition_of(data_keys: int) -> Partition:
    """A tenant key, and data keys of one person under it."""
    found = Partition()
    base = {"incarnation": 1, "created_at": Millis(1)}
    tenant = KeyMeta(key_id=KeyId("tenant"), kind=KeyKind.TENANT, tenant=ACME, **base)  # type: ignore[arg-type]
    wrapped = wrap_key(KekWrapper(OLD), LOG, plain := new_plain(KeyKind.TENANT), tenant)
    keys = open_key(LOG, wrapped, plain)
    assert isinstance(keys, TenantKeys)
    found.log.append((KeyId("tenant"), to_record(LOG, wrapped)))
    for number in range(data_keys):
        meta = KeyMeta(
            key_id=KeyId(f"data-{number}"),
            kind=KeyKind.DATA,
            tenant=ACME,
            subject=ANNA,
            generation=1,
            bucket=Bucket(f"2027-0{number % 9 + 1}"),
            incarnation=1,
            created_at=Millis(1),
        )
        data = wrap_key(keys, LOG, new_plain(KeyKind.DATA), meta)
        found.log.append((meta.key_id, to_record(LOG, data)))
    return found


def rewrapper(partition: Partition, *held: LocalKek) -> Rewrapper:
    ring = KekRing(held or (OLD, NEW))
    ring.follow(NEW.kek_id)
    return Rewrapper(log_id=LOG, ring=ring, writer=partition, writing=asyncio.Lock(), live=Reading(partition))


async def everything_opens(partition: Partition) -> LiveKeys:
    live = await partition.read()
    keys = tenant_of(live)
    for each in live.keys.values():
        assert kek_behind(each.wrapped_by) == NEW.kek_id
        if each.kind == KeyKind.DATA:
            unwrap_key(keys, LOG, from_record(each))
    return live


async def test_everything_is_wrapped_anew_once_and_a_second_look_writes_nothing(partition: Partition) -> None:
    assert await rewrapper(partition).step() == 6
    await everything_opens(partition)
    length = len(partition.log)
    assert await rewrapper(partition).step() == 0
    assert len(partition.log) == length


async def looks_at_keys(data_keys: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a key is asked for the KEK behind it until all are wrapped anew, 20 in a transaction."""
    looks = 0

    def counted(wrapped_by: str) -> str:
        nonlocal looks
        looks += 1
        return kek_behind(wrapped_by)

    monkeypatch.setattr(rewrapping, "AT_ONCE", 20)
    monkeypatch.setattr(rewrapping, "kek_behind", counted)
    assert await rewrapper(partition_of(data_keys)).step() == data_keys + 1
    return looks


async def test_twice_as_many_keys_take_twice_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = [await looks_at_keys(each, monkeypatch) for each in (200, 400)]
    assert few <= 3 * 201, "once for tenants, once for the others, once as it is written"
    assert many <= 2.02 * few


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("at", range(4))
async def test_killed_before_or_after_any_write_it_goes_on(
    partition: Partition, monkeypatch: pytest.MonkeyPatch, at: int, written: bool
) -> None:
    monkeypatch.setattr(rewrapping, "AT_ONCE", 2)
    writes = 0

    def kill() -> None:
        nonlocal writes
        writes += 1
        if writes == at + 1:
            raise Killed

    setattr(partition, "after_write" if written else "before_write", kill)
    with pytest.raises(Killed):
        await rewrapper(partition).step()
    partition.after_write = partition.before_write = lambda: None
    await rewrapper(partition).step()
    await everything_opens(partition)
    tenants = [record for key_id, record in partition.log if key_id == KeyId("tenant")]
    assert len(tenants) == 2, "never a second wrapping half: what the first one wrapped would be lost"


async def test_what_is_destroyed_meanwhile_does_not_come_back(partition: Partition) -> None:
    """The tombstone comes after the key was listed, and before it would be written."""
    process = rewrapper(partition)
    async with process.writing:
        step = asyncio.create_task(process.step())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        partition.log.append((KeyId("data-3"), None))
    await step
    live = await everything_opens(partition)
    assert KeyId("data-3") not in live.keys
    assert KeyId("data-2") in live.keys, "the control"
    assert partition.log[-1][0] != KeyId("data-3")


@pytest.mark.parametrize("killed", [False, True])
async def test_a_tombstone_that_comes_between_reading_and_writing_is_sent_again(
    partition: Partition, killed: bool
) -> None:
    """By a process that has lost the partition and does not know: nobody keeps it from sending one."""
    data = KeyId("data-3")

    def late() -> None:
        if (data, None) not in partition.log:
            partition.log.append((data, None))

    partition.before_write = late
    process = rewrapper(partition)
    await process.step()
    assert partition.log[-1] != (data, None), "the control: its value came after its tombstone"
    assert partition.log[-1][1] is not None
    await (rewrapper(partition) if killed else process).step()
    live = await everything_opens(partition)
    assert data not in live.keys
    assert live.undone == set()
    assert [record for key_id, record in partition.log if key_id == data][-1] is None
    assert len(live.keys) == 5, "and nothing else goes"


async def test_keys_of_a_destroyed_tenant_are_left_alone(partition: Partition) -> None:
    partition.log.append((KeyId("tenant"), None))
    assert await rewrapper(partition).step() == 0


async def test_without_the_old_kek_it_stops_and_writes_nothing(partition: Partition) -> None:
    length = len(partition.log)
    with pytest.raises(WrongKek):
        await rewrapper(partition, NEW).step()
    assert len(partition.log) == length
