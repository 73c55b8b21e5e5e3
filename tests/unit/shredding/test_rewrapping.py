"""Wrapping anew through ports: whatever is killed between two steps, and whatever is destroyed meanwhile."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from eunoe.crypto.errors import WrongKek
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, kek_behind, new_plain, unwrap_key, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keys import TenantKeys, open_key
from eunoe.crypto.records import from_record, to_record
from eunoe.processors.shredding import rewrapping
from eunoe.processors.shredding.rewrapping import Rewrapper
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Offset, Pseudonym, TenantId
from eunoe.schemas.keys import KeyRecord

LOG, ACME, ANNA = LogId("log-1"), TenantId("acme"), Pseudonym("a" * 32)
OLD, NEW = LocalKek(b"o" * 32), LocalKek(b"n" * 32)


class Killed(Exception):
    pass


@dataclass(slots=True)
class Partition:
    """The topic, and what a process has read of it: as `LiveKeys`, and as what writes."""

    log: list[tuple[KeyId, KeyRecord | None]] = field(default_factory=list)
    keys: dict[KeyId, KeyRecord] = field(default_factory=dict)
    before_write: Callable[[], None] = lambda: None
    after_write: Callable[[], None] = lambda: None
    written_twice: int = 0

    async def catch_up(self) -> Offset:
        self.keys = {}
        for key_id, record in self.log:
            self.keys.pop(key_id, None)
            if record is not None:
                self.keys[key_id] = record
        return Offset(len(self.log))

    def written(self, record: KeyRecord, offset: Offset) -> None:
        self.keys[record.key_id] = record

    async def write(self, records: Sequence[KeyRecord]) -> Sequence[Offset]:
        self.before_write()
        first = len(self.log)
        self.log += [(each.key_id, each) for each in records]
        self.after_write()
        return [Offset(first + at) for at in range(len(records))]

    def tenant(self) -> TenantKeys:
        key = from_record(self.keys[KeyId("tenant")])
        ring = KekRing((NEW, OLD))
        opened = open_key(LOG, key, unwrap_key(KekWrapper(ring), LOG, key))
        assert isinstance(opened, TenantKeys)
        return opened


@pytest.fixture
def partition() -> Partition:
    found = Partition()
    base = {"incarnation": 1, "created_at": Millis(1)}
    tenant = KeyMeta(key_id=KeyId("tenant"), kind=KeyKind.TENANT, tenant=ACME, **base)  # type: ignore[arg-type]
    wrapped = wrap_key(KekWrapper(OLD), LOG, plain := new_plain(KeyKind.TENANT), tenant)
    keys = open_key(LOG, wrapped, plain)
    assert isinstance(keys, TenantKeys)
    found.log.append((KeyId("tenant"), to_record(LOG, wrapped)))
    for number in range(5):
        meta = KeyMeta(
            key_id=KeyId(f"data-{number}"),
            kind=KeyKind.DATA,
            tenant=ACME,
            subject=ANNA,
            generation=1,
            bucket=Bucket(f"2027-0{number + 1}"),
            incarnation=1,
            created_at=Millis(1),
        )
        data = wrap_key(keys, LOG, new_plain(KeyKind.DATA), meta)
        found.log.append((meta.key_id, to_record(LOG, data)))
    return found


def rewrapper(partition: Partition, *held: LocalKek) -> Rewrapper:
    ring = KekRing(held or (OLD, NEW))
    ring.follow(NEW.kek_id)
    return Rewrapper(log_id=LOG, ring=ring, writer=partition, writing=asyncio.Lock(), live=partition)


async def everything_opens(partition: Partition) -> None:
    await partition.catch_up()
    keys = partition.tenant()
    for each in partition.keys.values():
        assert kek_behind(each.wrapped_by) == NEW.kek_id
        if each.kind == KeyKind.DATA:
            unwrap_key(keys, LOG, from_record(each))


async def test_everything_is_wrapped_anew_once_and_a_second_look_writes_nothing(partition: Partition) -> None:
    assert await rewrapper(partition).step() == 6
    await everything_opens(partition)
    length = len(partition.log)
    assert await rewrapper(partition).step() == 0
    assert len(partition.log) == length


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
    await everything_opens(partition)
    assert KeyId("data-3") not in partition.keys
    assert KeyId("data-2") in partition.keys, "the control"
    assert partition.log[-1][0] != KeyId("data-3")


async def test_keys_of_a_destroyed_tenant_are_left_alone(partition: Partition) -> None:
    partition.log.append((KeyId("tenant"), None))
    assert await rewrapper(partition).step() == 0


async def test_without_the_old_kek_it_stops_and_writes_nothing(partition: Partition) -> None:
    length = len(partition.log)
    with pytest.raises(WrongKek):
        await rewrapper(partition, NEW).step()
    assert len(partition.log) == length
