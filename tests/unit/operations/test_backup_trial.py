"""What a restored backup must give with the new key-encryption key alone."""

import pytest
from msgspec.structs import replace

from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, Wrapper, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.keys import DataCipher, TenantKeys, open_key
from eunoe.crypto.records import to_record
from eunoe.operations.backup_errors import BackupUseless
from eunoe.operations.backup_trial import unwrapped
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId
from eunoe.schemas.keys import KeyRecord

LOG = LogId("log-1")
OLD, NEW = LocalKek(b"o" * 32), LocalKek(b"n" * 32)


def tenant(name: str, kek: LocalKek) -> tuple[KeyRecord, TenantKeys]:
    meta = KeyMeta(
        key_id=KeyId(f"tenant-{name}"),
        kind=KeyKind.TENANT,
        tenant=TenantId(name),
        incarnation=1,
        created_at=Millis(1),
    )
    wrapped = wrap_key(KekWrapper(kek), LOG, plain := new_plain(KeyKind.TENANT), meta)
    keys = open_key(LOG, wrapped, plain)
    assert isinstance(keys, TenantKeys)
    return to_record(LOG, wrapped), keys


def data(name: str, of: str, wrapper: Wrapper) -> KeyRecord:
    meta = KeyMeta(
        key_id=KeyId(name),
        kind=KeyKind.DATA,
        tenant=TenantId(of),
        subject=Pseudonym("a" * 32),
        generation=1,
        bucket=Bucket("2027-05"),
        incarnation=1,
        created_at=Millis(1),
    )
    return to_record(LOG, wrap_key(wrapper, LOG, new_plain(KeyKind.DATA), meta))


def by_id(*records: KeyRecord) -> dict[KeyId, KeyRecord]:
    return {each.key_id: each for each in records}


async def test_every_key_is_unwrapped_in_whatever_order_they_lie() -> None:
    acme, keys = tenant("acme", NEW)
    opened = await unwrapped(LOG, by_id(data("d-1", "acme", keys), acme, data("d-2", "acme", keys)), NEW)
    assert set(opened) == {"tenant-acme", "d-1", "d-2"}
    assert isinstance(opened[KeyId("d-1")], DataCipher)


async def test_one_that_is_left_under_the_old_one_makes_the_backup_useless() -> None:
    acme, keys = tenant("acme", NEW)
    globex, _ = tenant("globex", OLD)
    with pytest.raises(BackupUseless, match="does not open with"):
        await unwrapped(LOG, by_id(acme, data("d-1", "acme", keys), globex), NEW)


async def test_one_that_was_changed_makes_the_backup_useless() -> None:
    acme, keys = tenant("acme", NEW)
    record = data("d-1", "acme", keys)
    changed = replace(record, wrapped=record.wrapped[:-1] + bytes([record.wrapped[-1] ^ 1]))
    with pytest.raises(BackupUseless):
        await unwrapped(LOG, by_id(acme, changed), NEW)


async def test_what_is_left_of_a_destroyed_tenant_opens_nowhere_and_is_no_fault_of_the_backup() -> None:
    acme, keys = tenant("acme", NEW)
    _, gone = tenant("globex", NEW)
    opened = await unwrapped(LOG, by_id(acme, data("d-1", "acme", keys), data("d-2", "globex", gone)), NEW)
    assert set(opened) == {"tenant-acme", "d-1"}
