"""What is not known is never taken for erased (S32): projector and reader stop, each with the error that says what."""

from collections.abc import Callable

import pytest

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
