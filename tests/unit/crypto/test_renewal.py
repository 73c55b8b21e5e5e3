"""A tenant's keys wrapped anew under another KEK: what opens before, meanwhile and afterwards, and what never again."""

from dataclasses import dataclass, field

import pytest
from msgspec import structs

from eunoe.crypto.errors import RetiredKek, SealBroken, WrongKek, WrongWrapper
from eunoe.crypto.hierarchy import (
    KekWrapper,
    KeyKind,
    KeyMeta,
    WrappedKey,
    kek_behind,
    key_aad,
    new_plain,
    renewed,
    unwrap_key,
    wrap_key,
)
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import TenantKeys
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId
from eunoe.testing.key_source import InMemoryKeySource

LOG, ACME, ANNA = LogId("log-1"), TenantId("acme"), Pseudonym("a" * 32)
MAY, IN_MAY = Bucket("2027-05"), Millis(1_809_388_800_000)
OLD, NEW = LocalKek(b"o" * 32), LocalKek(b"n" * 32)


@dataclass(slots=True)
class World:
    """One tenant with one person, as it lies on the log; a process that holds both KEKs."""

    ring: KekRing = field(default_factory=lambda: KekRing((OLD, NEW)))
    source: InMemoryKeySource = field(default_factory=InMemoryKeySource)
    keys: dict[KeyKind, WrappedKey] = field(default_factory=dict)

    def keyring(self, ring: KekRing | None = None) -> Keyring:
        return Keyring(LOG, ring or self.ring, self.source, lambda: IN_MAY)

    def put(self, key: WrappedKey) -> None:
        self.keys[key.kind] = key
        self.source.put(key)

    async def issue(self, kind: KeyKind, **fields: object) -> None:
        base = {"key_id": KeyId(kind), "kind": kind, "tenant": ACME, "incarnation": 1, "created_at": Millis(1)}
        meta = KeyMeta(**{**base, **fields})  # type: ignore[arg-type]  # a table of fields has no types of its own
        wrapper = KekWrapper(self.ring) if kind is KeyKind.TENANT else await self.keyring().wrapper(ACME)
        self.put(wrap_key(wrapper, LOG, new_plain(kind), meta))

    async def open_everything(self, ring: KekRing | None = None) -> TenantKeys:
        keyring = self.keyring(ring)
        await keyring.subject_root(ACME, ANNA)
        await keyring.data_cipher(ACME, KeyId(KeyKind.DATA), ANNA, 1, IN_MAY)
        await keyring.index_key(ACME, KeyId(KeyKind.INDEX))
        return await keyring.tenant(ACME)

    def renew_tenant(self) -> None:
        key = self.keys[KeyKind.TENANT]
        wrapper = KekWrapper(self.ring)
        self.put(renewed(wrapper, LOG, unwrap_key(wrapper, LOG, key), key))

    async def renew(self, kind: KeyKind) -> None:
        key, keys = self.keys[kind], await self.keyring().wrapper(ACME)
        self.put(renewed(keys, LOG, unwrap_key(keys, LOG, key), key))


@pytest.fixture
async def world() -> World:
    world = World()
    await world.issue(KeyKind.TENANT)
    await world.issue(KeyKind.SUBJECT_ROOT, subject=ANNA, generation=1)
    await world.issue(KeyKind.DATA, subject=ANNA, generation=1, bucket=MAY)
    await world.issue(KeyKind.INDEX, generation=1, bucket=Bucket("recall"))
    return world


async def test_every_key_opens_before_between_and_after_each_step(world: World) -> None:
    names = (await world.open_everything()).pseudonym("anna")
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    for kind in (KeyKind.SUBJECT_ROOT, KeyKind.DATA, KeyKind.INDEX):
        await world.open_everything()
        await world.renew(kind)
    assert {kek_behind(each.wrapped_by) for each in world.keys.values()} == {NEW.kek_id}
    world.ring.follow(NEW.kek_id, dropped=OLD.kek_id)
    opened = await world.open_everything()
    assert opened.pseudonym("anna") == names, "the tenant knows its people by the same names"
    assert opened.idempotency_hash("k") == (await world.open_everything()).idempotency_hash("k")


async def test_a_process_that_opened_the_tenant_before_it_was_renewed_looks_again(world: World) -> None:
    early = world.keyring()
    await early.tenant(ACME)
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    await world.renew(KeyKind.DATA)
    assert await early.data_cipher(ACME, KeyId(KeyKind.DATA), ANNA, 1, IN_MAY) is not None
    assert (await early.wrapper(ACME)).kek_id == NEW.kek_id, "and wraps with the new half from then on"


async def test_what_was_wrapped_before_opens_by_nothing_that_is_left(world: World) -> None:
    """The heart of it: a backup of keys from before, and everything that the installation has afterwards."""
    await world.open_everything()
    backup = dict(world.keys)
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    for kind in (KeyKind.SUBJECT_ROOT, KeyKind.DATA, KeyKind.INDEX):
        await world.renew(kind)
    left = KekRing((NEW,))
    live = await world.open_everything(left)
    for key in backup.values():
        with pytest.raises((WrongKek, WrongWrapper)):
            unwrap_key(KekWrapper(left) if key.kind is KeyKind.TENANT else live, LOG, key)
        # Whatever the label says: the bytes open under no key that is left.
        aad = key_aad(LOG, key, key.wrapped_by)
        with pytest.raises(SealBroken):
            live.unwrap(key.wrapped, aad, live.wrapper_id)
        with pytest.raises((SealBroken, WrongKek)):
            left.unwrap(key.wrapped, aad)
        with pytest.raises(SealBroken):
            left.unwrap(NEW.wrap(b"", b"")[:8] + key.wrapped[8:], aad)


async def test_past_the_fence_a_key_under_the_retired_kek_is_refused_in_every_way_it_is_asked_for(world: World) -> None:
    world.ring.follow(NEW.kek_id)
    await world.open_everything()
    world.ring.follow(NEW.kek_id, retired=OLD.kek_id)
    keyring = world.keyring()
    for asked in (
        keyring.tenant(ACME),
        keyring.wrapper(ACME),
        keyring.subject_root(ACME, ANNA),
        keyring.data_cipher(ACME, KeyId(KeyKind.DATA), ANNA, 1, IN_MAY),
        keyring.index_key(ACME, KeyId(KeyKind.INDEX)),
    ):
        with pytest.raises(RetiredKek):
            await asked
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    world.ring.follow(NEW.kek_id, retired=OLD.kek_id)
    assert (await world.keyring().wrapper(ACME)).kek_id == NEW.kek_id
    with pytest.raises(RetiredKek):
        await world.keyring().data_cipher(ACME, KeyId(KeyKind.DATA), ANNA, 1, IN_MAY)


async def test_a_tenant_opened_earlier_does_not_wrap_past_the_fence(world: World) -> None:
    keyring = world.keyring()
    assert (await keyring.wrapper(ACME)).kek_id == OLD.kek_id
    world.ring.follow(NEW.kek_id, retired=OLD.kek_id)
    with pytest.raises(RetiredKek):
        await keyring.wrapper(ACME)


async def test_a_process_without_the_new_kek_stops_and_takes_nothing_for_erased(world: World) -> None:
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    with pytest.raises(WrongKek):
        await world.keyring(KekRing((OLD,))).tenant(ACME)


async def test_an_earlier_wrapping_is_bound_to_its_key(world: World) -> None:
    world.ring.follow(NEW.kek_id)
    world.renew_tenant()
    forged = structs.replace(world.keys[KeyKind.TENANT], earlier=world.ring.wrap(b"x" * 64, b"another place"))
    world.source.put(forged)
    with pytest.raises(SealBroken):
        await world.keyring().tenant(ACME)
