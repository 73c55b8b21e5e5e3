"""The contract of a key source. A real one adds a driver to ``DRIVERS`` and runs the same tests."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Protocol

import pytest

from eunoe.crypto.errors import KeyClosed, KeySourceUnavailable
from eunoe.crypto.hierarchy import NO_TENANT, KeyKind, WrappedKey
from eunoe.crypto.key_source import KeySource, SubjectKeyState
from eunoe.schemas.ids import Bucket, KeyId, Millis, Pseudonym, TenantId, derived_id
from eunoe.testing.key_source import InMemoryKeySource
from redis_key_driver import redis_key_driver

ACME, GLOBEX = TenantId("acme"), TenantId("globex")
ANNA, BORIS = Pseudonym("a" * 32), Pseudonym("b" * 32)
MAY, JUNE = Bucket("2027-05"), Bucket("2027-06")


class Driver(Protocol):
    """Puts the world behind a source into a state; each call returns when the source can see it."""

    @property
    def source(self) -> KeySource: ...
    async def put(self, key: WrappedKey) -> None: ...
    async def destroy(self, key_id: KeyId) -> None: ...
    async def close_subject(self, tenant: TenantId, subject: Pseudonym) -> None: ...
    async def close_tenant(self, tenant: TenantId) -> None: ...
    async def cut_off(self) -> None: ...


class MemoryDriver:
    def __init__(self) -> None:
        self.source = InMemoryKeySource()

    async def put(self, key: WrappedKey) -> None:
        self.source.put(key)

    async def destroy(self, key_id: KeyId) -> None:
        self.source.destroy(key_id)

    async def close_subject(self, tenant: TenantId, subject: Pseudonym) -> None:
        self.source.close_subject(tenant, subject)

    async def close_tenant(self, tenant: TenantId) -> None:
        self.source.close_tenant(tenant)

    async def cut_off(self) -> None:
        self.source.available = False


@asynccontextmanager
async def in_memory(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    yield MemoryDriver()


def on_redis(request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Driver]:
    return redis_key_driver(request.getfixturevalue("redis_url"))


DRIVERS: dict[str, Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[Driver]]] = {
    "memory": in_memory,
    "redis": on_redis,
}


@pytest.fixture(params=list(DRIVERS))
async def driver(request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    async with DRIVERS[request.param](request) as made:
        yield made


def a_key(
    kind: KeyKind,
    tenant: TenantId = ACME,
    subject: Pseudonym | None = None,
    generation: int = 0,
    bucket: Bucket | None = None,
) -> WrappedKey:
    return WrappedKey(
        key_id=KeyId(derived_id(kind, tenant, subject or "", str(generation), bucket or "")),
        kind=kind,
        tenant=tenant,
        incarnation=0 if tenant == NO_TENANT else 1,
        subject=subject,
        generation=generation,
        bucket=bucket,
        created_at=Millis(1_800_000_000_000),
        wrapped_by="kek-0011223344556677",
        wrapped=os.urandom(101),
    )


async def opened(driver: Driver) -> tuple[WrappedKey, WrappedKey, WrappedKey]:
    """Acme with one subject, Anna, who has one data key."""
    tenant = a_key(KeyKind.TENANT)
    root = a_key(KeyKind.SUBJECT_ROOT, subject=ANNA, generation=1)
    data = a_key(KeyKind.DATA, subject=ANNA, generation=1, bucket=MAY)
    for key in (tenant, root, data):
        await driver.put(key)
    return tenant, root, data


async def test_what_was_never_issued_is_none(driver: Driver) -> None:
    await opened(driver)
    assert await driver.source.tenant(GLOBEX) is None
    assert await driver.source.key(ACME, KeyId("01890000-0000-7000-8000-000000000000")) is None
    assert await driver.source.subject(ACME, BORIS) is None
    assert await driver.source.data_key(ACME, ANNA, 1, JUNE) is None
    assert await driver.source.data_key(ACME, ANNA, 2, MAY) is None


async def test_what_was_issued_comes_back_unchanged(driver: Driver) -> None:
    tenant, root, data = await opened(driver)
    assert await driver.source.tenant(ACME) == tenant
    assert await driver.source.key(ACME, root.key_id) == root
    assert await driver.source.key(ACME, data.key_id) == data
    assert await driver.source.data_key(ACME, ANNA, 1, MAY) == data


async def test_an_open_subject_has_its_generation_and_root(driver: Driver) -> None:
    _, root, _ = await opened(driver)
    expected = SubjectKeyState(generation=1, closed=False, root_key_id=root.key_id)
    assert await driver.source.subject(ACME, ANNA) == expected


async def test_a_foreign_tenant_finds_no_key_by_its_id(driver: Driver) -> None:
    _, _, data = await opened(driver)
    await driver.put(a_key(KeyKind.TENANT, tenant=GLOBEX))
    assert await driver.source.key(GLOBEX, data.key_id) is None
    assert await driver.source.key(ACME, data.key_id) == data


async def test_a_dead_letter_key_belongs_to_no_tenant(driver: Driver) -> None:
    key = a_key(KeyKind.DEAD_LETTER, tenant=NO_TENANT, bucket=Bucket("2027-05-04"))
    await driver.put(key)
    assert await driver.source.key(NO_TENANT, key.key_id) == key


async def test_a_forgotten_subject_is_closed_before_its_keys_are_destroyed(driver: Driver) -> None:
    await opened(driver)
    await driver.close_subject(ACME, ANNA)
    state = await driver.source.subject(ACME, ANNA)
    assert state == SubjectKeyState(generation=1, closed=True, root_key_id=None)


async def test_a_readmitted_subject_is_open_in_the_next_generation(driver: Driver) -> None:
    await opened(driver)
    await driver.close_subject(ACME, ANNA)
    root = a_key(KeyKind.SUBJECT_ROOT, subject=ANNA, generation=2)
    await driver.put(root)
    state = await driver.source.subject(ACME, ANNA)
    assert state == SubjectKeyState(generation=2, closed=False, root_key_id=root.key_id)


async def test_a_destroyed_key_is_none_or_closed_and_its_subject_still_says_which(driver: Driver) -> None:
    _, _, data = await opened(driver)
    await driver.close_subject(ACME, ANNA)
    await driver.destroy(data.key_id)
    with suppress(KeyClosed):
        assert await driver.source.key(ACME, data.key_id) is None
    state = await driver.source.subject(ACME, ANNA)
    assert state is not None
    assert state.closed


async def test_a_forgotten_tenant_is_closed_not_unknown(driver: Driver) -> None:
    _, _, data = await opened(driver)
    await driver.close_tenant(ACME)
    with pytest.raises(KeyClosed):
        await driver.source.tenant(ACME)
    with pytest.raises(KeyClosed):
        await driver.source.subject(ACME, ANNA)
    with pytest.raises(KeyClosed):
        await driver.source.key(ACME, data.key_id)


async def test_a_source_that_is_cut_off_says_so_and_never_none(driver: Driver) -> None:
    _, _, data = await opened(driver)
    await driver.cut_off()
    with pytest.raises(KeySourceUnavailable):
        await driver.source.tenant(ACME)
    with pytest.raises(KeySourceUnavailable):
        await driver.source.key(ACME, data.key_id)
    with pytest.raises(KeySourceUnavailable):
        await driver.source.data_key(ACME, ANNA, 1, JUNE)
    with pytest.raises(KeySourceUnavailable):
        await driver.source.subject(ACME, BORIS)
