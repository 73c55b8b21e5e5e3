import asyncio
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from eunoe.crypto.cache import CacheLimits
from eunoe.crypto.errors import (
    CryptoError,
    KeyClosed,
    KeyMisdescribed,
    KeySourceUnavailable,
    KeyUnknown,
    SealBroken,
    WrongKek,
)
from eunoe.crypto.hierarchy import NO_TENANT, KekWrapper, KeyKind, KeyMeta, WrappedKey, new_plain, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DataCipher, TenantKeys, open_key
from eunoe.schemas.ids import Bucket, KeyId, LogId, MemoryId, Millis, Pseudonym, TenantId
from eunoe.testing.key_source import InMemoryKeySource

LOG = LogId("log-1")
ACME, GLOBEX = TenantId("acme"), TenantId("globex")
ANNA, BORIS = Pseudonym("a" * 32), Pseudonym("b" * 32)
MAY = Bucket("2027-05")
IN_MAY = Millis(1_810_000_000_000)  # 2027-05-11
MEMORY = MemoryId("01890000-0000-7000-8000-000000000001")
DAY = 86_400_000


@dataclass
class World:
    """An installation: what it issues lands in its source, as if it had come through the log."""

    kek: LocalKek = field(default_factory=lambda: LocalKek(bytes(32)))
    source: InMemoryKeySource = field(default_factory=InMemoryKeySource)
    now: int = IN_MAY - 30 * DAY
    tenants: dict[TenantId, TenantKeys] = field(default_factory=dict)
    issued: int = 0

    def keyring(self, limits: CacheLimits | None = None, kek: LocalKek | None = None) -> Keyring:
        return Keyring(LOG, kek or self.kek, self.source, lambda: Millis(self.now), limits or CacheLimits())

    def make(self, kind: KeyKind, tenant: TenantId, **fields: object) -> WrappedKey:
        self.issued += 1
        incarnation = self.tenants[tenant].incarnation if tenant in self.tenants else 1
        base: dict[str, object] = {
            "key_id": KeyId(f"k-{self.issued}"),
            "kind": kind,
            "tenant": tenant,
            "incarnation": incarnation,
            "created_at": Millis(self.now),
        }
        meta = KeyMeta(**{**base, **fields})  # type: ignore[arg-type]  # a table of fields has no types of its own
        plain = new_plain(kind)
        by_kek = kind in {KeyKind.TENANT, KeyKind.DEAD_LETTER}
        wrapped = wrap_key(KekWrapper(self.kek) if by_kek else self.tenants[tenant], LOG, plain, meta)
        if kind is KeyKind.TENANT:
            opened = open_key(LOG, wrapped, plain)
            assert isinstance(opened, TenantKeys)
            self.tenants[tenant] = opened
        return wrapped

    def issue(self, kind: KeyKind, tenant: TenantId, **fields: object) -> WrappedKey:
        wrapped = self.make(kind, tenant, **fields)
        self.source.put(wrapped)
        return wrapped

    def subject(self, tenant: TenantId, subject: Pseudonym, generation: int = 1) -> WrappedKey:
        """A subject with a root and a data key for May; the data key."""
        self.issue(KeyKind.SUBJECT_ROOT, tenant, subject=subject, generation=generation)
        return self.issue(KeyKind.DATA, tenant, subject=subject, generation=generation, bucket=MAY)


@pytest.fixture
def world() -> World:
    made = World()
    made.issue(KeyKind.TENANT, ACME)
    made.issue(KeyKind.TENANT, GLOBEX)
    return made


async def test_what_the_producer_seals_the_reader_opens(world: World) -> None:
    world.subject(ACME, ANNA)
    cipher = await world.keyring().sealing_cipher(ACME, ANNA, MAY)
    sealed = cipher.seal(MEMORY, 1, b"body")
    reader = await world.keyring().data_cipher(ACME, cipher.key_id, ANNA, 1, IN_MAY)
    assert reader.open(MEMORY, 1, sealed) == b"body"


async def test_the_synchronous_path_finds_what_was_opened_and_nothing_else(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    keyring = world.keyring()
    assert keyring.cached_data_cipher(ACME, key_id, ANNA, 1) is None
    opened = await keyring.data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
    asked = world.source.asked
    assert keyring.cached_data_cipher(ACME, key_id, ANNA, 1) is opened
    assert await keyring.data_cipher(ACME, key_id, ANNA, 1, IN_MAY) is opened
    assert keyring.cached_tenant(ACME) is await keyring.tenant(ACME)
    assert world.source.asked == asked
    assert keyring.cached_sealing_cipher(ACME, ANNA, MAY) is None
    sealing = await keyring.sealing_cipher(ACME, ANNA, MAY)
    assert keyring.cached_sealing_cipher(ACME, ANNA, MAY) is sealing
    root = await keyring.subject_root(ACME, ANNA)
    assert keyring.cached_subject_root(ACME, ANNA) is root


async def test_a_body_copied_into_a_foreign_record_does_not_meet_its_key_in_the_cache(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    world.subject(GLOBEX, ANNA)
    world.subject(ACME, BORIS)
    keyring = world.keyring()
    assert await keyring.data_cipher(ACME, key_id, ANNA, 1, IN_MAY) is not None
    assert keyring.cached_data_cipher(GLOBEX, key_id, ANNA, 1) is None
    with pytest.raises(KeyUnknown):
        await keyring.data_cipher(GLOBEX, key_id, ANNA, 1, IN_MAY)
    with pytest.raises(KeyMisdescribed):
        await keyring.data_cipher(ACME, key_id, BORIS, 1, IN_MAY)


async def test_closed_unknown_and_unavailable_are_three_answers(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    assert await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY) is not None

    with pytest.raises(KeyUnknown) as unknown:
        await world.keyring().data_cipher(ACME, KeyId("k-999"), ANNA, 1, IN_MAY)
    world.source.available = False
    with pytest.raises(KeySourceUnavailable) as unavailable:
        await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
    world.source.available = True
    world.source.close_subject(ACME, ANNA)
    with pytest.raises(KeyClosed) as closed:
        await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)

    assert unavailable.value.retryable
    assert not unknown.value.retryable
    assert closed.value.scope == "generation"
    kinds = {type(error.value) for error in (unknown, unavailable, closed)}
    assert len(kinds) == 3
    assert not any(issubclass(one, other) for one in kinds for other in kinds if one is not other)


async def test_a_closed_generation_is_closed_key_present_or_not(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    world.source.close_subject(ACME, ANNA)
    for _ in range(2):
        with pytest.raises(KeyClosed):
            await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
        world.source.destroy(key_id)


async def test_after_readmission_the_old_generation_stays_closed_and_the_new_one_opens(world: World) -> None:
    old = world.subject(ACME, ANNA).key_id
    world.source.close_subject(ACME, ANNA)
    new = world.subject(ACME, ANNA, generation=2).key_id
    keyring = world.keyring()
    assert (await keyring.data_cipher(ACME, new, ANNA, 2, IN_MAY)).key_id == new
    with pytest.raises(KeyClosed):
        await keyring.data_cipher(ACME, old, ANNA, 1, IN_MAY)
    # A record that claims the open generation for a key of the closed one is a lie, not a way in.
    with pytest.raises(KeyMisdescribed):
        await keyring.data_cipher(ACME, old, ANNA, 2, IN_MAY)
    assert (await keyring.sealing_cipher(ACME, ANNA, MAY)).key_id == new


async def test_a_generation_ahead_of_the_source_is_unknown_not_closed(world: World) -> None:
    world.subject(ACME, ANNA)
    with pytest.raises(KeyUnknown):
        await world.keyring().data_cipher(ACME, KeyId("k-999"), ANNA, 2, IN_MAY)


async def test_a_closed_subject_gets_no_key_to_seal_with(world: World) -> None:
    world.subject(ACME, ANNA)
    assert await world.keyring().sealing_cipher(ACME, ANNA, MAY) is not None
    world.source.close_subject(ACME, ANNA)
    with pytest.raises(KeyClosed):
        await world.keyring().sealing_cipher(ACME, ANNA, MAY)
    with pytest.raises(KeyClosed):
        await world.keyring().subject_root(ACME, ANNA)


async def test_a_subject_or_bucket_without_a_key_is_unknown(world: World) -> None:
    world.subject(ACME, ANNA)
    with pytest.raises(KeyUnknown):
        await world.keyring().sealing_cipher(ACME, BORIS, MAY)
    with pytest.raises(KeyUnknown):
        await world.keyring().sealing_cipher(ACME, ANNA, Bucket("2027-06"))
    with pytest.raises(KeyUnknown):
        await world.keyring().tenant(TenantId("initech"))


async def test_a_bucket_whose_month_is_over_is_closed_key_present_or_not(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    world.now = IN_MAY + 20 * DAY  # the last day of May
    assert await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY) is not None
    world.now = IN_MAY + 23 * DAY  # the third of June
    for _ in range(2):
        with pytest.raises(KeyClosed) as caught:
            await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
        assert caught.value.scope == "bucket"
        with pytest.raises(KeyClosed):
            await world.keyring().sealing_cipher(ACME, ANNA, MAY)
        world.source.destroy(key_id)


async def test_a_forgotten_tenant_and_an_earlier_incarnation_are_closed(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    world.source.close_tenant(ACME)
    with pytest.raises(KeyClosed):
        await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
    world.issue(KeyKind.TENANT, ACME, incarnation=2)
    with pytest.raises(KeyClosed) as caught:
        await world.keyring().data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
    assert caught.value.scope == "tenant"


async def test_a_wrong_kek_is_an_error_of_its_own(world: World) -> None:
    wrong = LocalKek(b"w" * 32)
    assert await world.keyring().tenant(ACME) is not None
    with pytest.raises(WrongKek) as caught:
        await world.keyring(kek=wrong).tenant(ACME)
    assert (caught.value.expected, caught.value.found) == (world.kek.kek_id, wrong.kek_id)


async def test_a_key_of_another_log_does_not_open(world: World) -> None:
    foreign = Keyring(LogId("log-2"), world.kek, world.source, lambda: Millis(world.now))
    with pytest.raises(SealBroken):
        await foreign.tenant(ACME)


async def test_an_evicted_subject_is_gone_at_once_and_others_stay(world: World) -> None:
    anna, boris = world.subject(ACME, ANNA).key_id, world.subject(ACME, BORIS).key_id
    keyring = world.keyring()
    await keyring.data_cipher(ACME, anna, ANNA, 1, IN_MAY)
    await keyring.data_cipher(ACME, boris, BORIS, 1, IN_MAY)
    await keyring.sealing_cipher(ACME, ANNA, MAY)
    await keyring.subject_root(ACME, ANNA)
    world.source.close_subject(ACME, ANNA)
    keyring.evict_subject(ACME, ANNA)
    assert keyring.cached_data_cipher(ACME, anna, ANNA, 1) is None
    assert keyring.cached_sealing_cipher(ACME, ANNA, MAY) is None
    assert keyring.cached_subject_root(ACME, ANNA) is None
    assert keyring.cached_data_cipher(ACME, boris, BORIS, 1) is not None
    with pytest.raises(KeyClosed):
        await keyring.data_cipher(ACME, anna, ANNA, 1, IN_MAY)


async def test_an_evicted_tenant_is_gone_at_once_and_others_stay(world: World) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    keyring = world.keyring()
    await keyring.data_cipher(ACME, key_id, ANNA, 1, IN_MAY)
    await keyring.tenant(GLOBEX)
    keyring.evict_tenant(ACME)
    assert keyring.cached_tenant(ACME) is None
    assert keyring.cached_data_cipher(ACME, key_id, ANNA, 1) is None
    assert keyring.cached_tenant(GLOBEX) is not None
    keyring.clear()
    assert keyring.cached_tenant(GLOBEX) is None


class Slow:
    """A source whose answers are held until they are let go."""

    def __init__(self, inner: InMemoryKeySource) -> None:
        self.inner = inner
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        return await self.inner.tenant(tenant)

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        found = await self.inner.key(tenant, key_id)
        self.reached.set()
        await self.go.wait()
        return found

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        return await self.inner.data_key(tenant, subject, generation, bucket)

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        return await self.inner.subject(tenant, subject)


@pytest.mark.parametrize("evicted", [True, False])
async def test_a_key_that_was_being_loaded_during_an_eviction_is_not_kept(world: World, evicted: bool) -> None:
    key_id = world.subject(ACME, ANNA).key_id
    slow = Slow(world.source)
    keyring = Keyring(LOG, world.kek, slow, lambda: Millis(world.now))
    loading = asyncio.create_task(keyring.data_cipher(ACME, key_id, ANNA, 1, IN_MAY))
    await asyncio.wait_for(slow.reached.wait(), 5)
    if evicted:
        keyring.evict_subject(ACME, ANNA)
    slow.go.set()
    await loading
    assert (keyring.cached_data_cipher(ACME, key_id, ANNA, 1) is None) is evicted


async def test_the_caches_are_bounded_by_count_and_age(world: World) -> None:
    keyring = world.keyring(CacheLimits(entries=2, age=1_000))
    subjects = [Pseudonym(f"{number:032x}") for number in range(4)]
    keys = [world.subject(ACME, subject).key_id for subject in subjects]
    for subject, key_id in zip(subjects, keys, strict=True):
        await keyring.data_cipher(ACME, key_id, subject, 1, IN_MAY)

    def held() -> list[bool]:
        return [
            keyring.cached_data_cipher(ACME, key_id, subject, 1) is not None
            for subject, key_id in zip(subjects, keys, strict=True)
        ]

    assert held() == [False, False, True, True]
    world.now += 1_000
    assert held() == [False] * 4


async def test_index_access_and_dead_letter_keys_open_as_what_they_are(world: World) -> None:
    index = world.issue(KeyKind.INDEX, ACME, generation=3)
    access = world.issue(KeyKind.ACCESS, ACME, bucket=Bucket("2027-05-11"))
    letter = world.issue(KeyKind.DEAD_LETTER, NO_TENANT, incarnation=0, bucket=Bucket("2027-05-11"))
    keyring = world.keyring()
    for _ in range(2):  # from the source, then from the cache
        assert (await keyring.index_key(ACME, index.key_id)).key_id == index.key_id
        assert (await keyring.access_cipher(ACME, access.key_id)).key_id == access.key_id
        assert (await keyring.dead_letter_cipher(letter.key_id)).key_id == letter.key_id
        with pytest.raises(KeyMisdescribed):
            await keyring.index_key(ACME, access.key_id)


async def test_a_key_just_made_is_used_before_it_is_on_the_log(world: World) -> None:
    keyring = world.keyring()
    wrapped = world.make(KeyKind.DATA, ACME, subject=ANNA, generation=1, bucket=MAY)
    opened = await keyring.admit(wrapped)
    assert isinstance(opened, DataCipher)
    assert keyring.cached_data_cipher(ACME, wrapped.key_id, ANNA, 1) is opened
    keyring.evict_subject(ACME, ANNA)
    with pytest.raises(KeyUnknown):
        await keyring.data_cipher(ACME, wrapped.key_id, ANNA, 1, IN_MAY)


async def test_a_source_that_answers_with_another_key_is_caught(world: World) -> None:
    key = world.subject(ACME, ANNA)
    keyring = world.keyring()
    world.source._keys[KeyId("k-fake")] = structs.replace(key, key_id=KeyId("k-other"))
    with pytest.raises(KeyMisdescribed):
        await keyring.data_cipher(ACME, KeyId("k-fake"), ANNA, 1, IN_MAY)
    june = world.issue(KeyKind.DATA, ACME, subject=ANNA, generation=1, bucket=Bucket("2027-06"))
    world.source.data_key = lambda *_: world.source.key(ACME, june.key_id)  # type: ignore[method-assign]  # the lie
    with pytest.raises(KeyMisdescribed):
        await keyring.sealing_cipher(ACME, ANNA, MAY)
    world.source._keys[key.key_id] = structs.replace(key, bucket=Bucket("2027-06"))
    with pytest.raises(SealBroken):
        await keyring.data_cipher(ACME, key.key_id, ANNA, 1, IN_MAY)


def test_every_error_has_the_one_base() -> None:
    for error in (KeyClosed, KeyUnknown, KeySourceUnavailable, WrongKek, SealBroken, KeyMisdescribed):
        assert issubclass(error, CryptoError)
