"""What is not known is never taken for erased (S32): projector and reader stop, each with the error that says what."""

from collections.abc import Callable

import pytest
from msgspec import structs

from eunoe.crypto.errors import CryptoError, KeySourceUnavailable, KeyUnknown, WrongKek
from eunoe.crypto.hierarchy import KekWrapper
from eunoe.crypto.kek import LocalKek
from eunoe.readmodels.recall.errors import KeyStillUnknown
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TENANT, sample_accepted, sample_event


def wrong_kek(world: RecallWorld) -> None:
    setattr(world.keyring, "_kek", KekWrapper(LocalKek(b"w" * 32)))  # noqa: B010  # as if the process were given another


def key_store_down(world: RecallWorld) -> None:
    world.keys.available = False


def truncated_keys(world: RecallWorld) -> None:
    for key_id in list(world.keys._keys):
        world.keys.destroy(key_id)


FAULTS = [
    (wrong_kek, WrongKek),
    (key_store_down, KeySourceUnavailable),
    (truncated_keys, (KeyStillUnknown, KeyUnknown)),
]


async def held(world: RecallWorld) -> dict[bytes, bytes | None]:
    names = [key async for key in world.redis.scan_iter(match=f"{world.prefix()}*", count=500)]
    return {name: await world.redis.dump(name) for name in sorted(names)}


@pytest.mark.parametrize(("fault", "error"), FAULTS)
async def test_the_projector_stops_and_writes_nothing(
    world: RecallWorld, fault: Callable[[RecallWorld], None], error: type[CryptoError]
) -> None:
    await world.remember("Delivery in the evening")
    draft = await world.draft("Delivery in the morning")
    before = await held(world)
    world.keyring.clear()
    fault(world)
    with pytest.raises(error):
        await world.write(SAMPLE_TENANT, [sample_event(sample_accepted(draft))])
    assert await held(world) == before


@pytest.mark.parametrize("over", [0, 1])
async def test_without_a_tenant_key_only_what_the_log_says_is_over_is_left_out(world: RecallWorld, over: int) -> None:
    """As where a tenant was forgotten and readmitted, and nobody has written in the new one yet."""
    draft = await world.draft("Delivery in the morning")
    world.keyring.clear()
    truncated_keys(world)
    world.passed.over[SAMPLE_TENANT] = over
    writing = world.write(SAMPLE_TENANT, [sample_event(sample_accepted(draft))])
    if over:
        await writing
        assert [key async for key in world.redis.scan_iter(match=f"{world.prefix()}[dik]:*")] == []
    else:
        with pytest.raises(KeyStillUnknown):
            await writing


async def test_a_record_of_the_next_tenant_of_the_name_is_not_taken_for_one_of_the_last(world: RecallWorld) -> None:
    """Its key is not seen yet, while that of the last one is still held open."""
    draft = await world.draft("Delivery in the morning")
    later = structs.replace(sample_accepted(draft), incarnation=2)
    with pytest.raises(KeyStillUnknown):
        await world.write(SAMPLE_TENANT, [sample_event(later)])
    await world.write(SAMPLE_TENANT, [sample_event(sample_accepted(draft))])
    assert (await world.reader.search(world.scope(), "delivery")).records, "the control"


@pytest.mark.parametrize(("fault", "error"), FAULTS)
async def test_the_reader_stops_and_does_not_answer_that_nothing_is_there(
    world: RecallWorld, fault: Callable[[RecallWorld], None], error: type[CryptoError]
) -> None:
    await world.remember("Delivery in the evening")
    assert (await world.reader.search(world.scope(), "delivery")).records, "the control"
    world.keyring.clear()
    fault(world)
    await world.keys_are_filled()
    with pytest.raises(error):
        await world.new_reader().search(world.scope(), "delivery")
