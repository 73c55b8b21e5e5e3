"""Forgetting a subject: unreadable at once whatever its size, removed in small steps, and nothing of it comes back."""

from typing import Any

import pytest
from msgspec import structs

from eunoe.crypto.errors import SealBroken
from eunoe.readmodels.errors import BeingFilled
from eunoe.readmodels.recall.errors import KeyStillUnknown
from eunoe.readmodels.recall.rank import Bm25
from eunoe.schemas.events import SubjectForgotten, SubjectRef
from eunoe.schemas.ids import KeyId, MemoryId, new_id
from eunoe.schemas.values import Visibility
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TENANT, sample_accepted, sample_event


async def found(world: RecallWorld, query: str = "delivery", **over: Any) -> list[MemoryId]:
    result = await world.reader.search(world.scope(**over), query, ranking=Bm25())
    return [each.memory_id for each in result.records]


async def keys(world: RecallWorld, part: str) -> list[bytes]:
    return [key async for key in world.redis.scan_iter(match=f"{world.prefix()}{part}*", count=500)]


async def test_a_forgotten_subject_is_unreadable_before_anything_is_removed(world: RecallWorld) -> None:
    theirs = [await world.remember(f"Delivery number {at}", whom="anna") for at in range(30)]
    mine = await world.remember("Some quite long statement that mentions the delivery in passing", whom="boris")
    about = await world.remember("Delivery to the sister of Boris", whom="boris", about=("anna",))
    assert len(await found(world)) == 10
    await world.forget("anna")
    assert len(await keys(world, "d:")) == 32  # all still there
    result = await world.reader.search(world.scope(), "delivery")
    assert [each.memory_id for each in result.records] == [mine]
    assert (result.excluded, result.examined) == ({}, 1)  # no count tells that there was somebody
    assert await found(world, subject="anna") == []
    for memory_id in (theirs[0], about):
        assert await world.reader.get(world.scope(), memory_id) is None


async def test_erasure_does_not_rest_on_the_keys_alone(world: RecallWorld) -> None:
    """The body could still be opened here: it is the index that refuses."""
    await world.remember("Delivery in the evening", whom="boris", about=("anna",))
    assert len(await found(world)) == 1
    await world.forget("anna")
    assert await found(world) == []


async def test_removal_goes_in_small_steps_and_leaves_nothing(world: RecallWorld) -> None:
    for at in range(25):
        await world.remember(f"Delivery number {at}", whom="anna", visibility=Visibility.SHARED)
    await world.remember("Delivery to the sister of Boris", whom="boris", about=("anna",))
    stays = await world.remember("Delivery in the evening", whom="boris")
    await world.forget("anna")
    steps = 0
    while await world.model.tend(world.prefix(), records=10):
        steps += 1
        assert await found(world) == [stays]
    assert steps >= 2
    assert await world.model.tend(world.prefix()) is False
    assert len(await keys(world, "d:")) == 1
    for part in ("x", "a:"):
        assert await keys(world, part) == []
    result = await world.reader.search(world.scope(), "delivery")
    assert result.examined == 1


async def test_readmitting_starts_anew(world: RecallWorld) -> None:
    await world.remember("Delivery in the morning", whom="anna")
    await world.forget("anna")
    await world.readmit("anna")
    new = await world.remember("Delivery in the evening", whom="anna")
    assert await found(world) == [new]
    assert await found(world, subject="anna") == [new]
    while await world.model.tend(world.prefix()):
        pass
    assert await found(world, subject="anna") == [new]


async def test_a_record_of_a_closed_generation_is_not_indexed_on_replay(world: RecallWorld) -> None:
    draft = await world.draft("Delivery in the evening", whom="anna")
    await world.forget("anna")
    world.keyring.clear()
    await world.happens(sample_accepted(draft))
    assert await keys(world, "d:") == []


async def test_unknown_is_not_taken_for_erased(world: RecallWorld) -> None:
    draft = await world.draft("Delivery in the evening")
    lost = sample_accepted(draft)
    world.keys.destroy(draft.key_id)
    world.keyring.clear()
    with pytest.raises(KeyStillUnknown):
        await world.write(SAMPLE_TENANT, [sample_event(lost)])
    assert world.passed.waits == 1  # it looked again after keys and subjects had passed
    assert await keys(world, "d:") == []


async def test_a_reader_that_misses_a_key_stops_with_an_error(world: RecallWorld) -> None:
    draft = await world.draft("Delivery in the evening")
    await world.happens(sample_accepted(draft))
    assert len(await found(world)) == 1
    world.keys.destroy(draft.key_id)
    world.keyring.clear()
    with pytest.raises(BeingFilled, match="keys is being rebuilt"):  # Redis has nothing of the model `keys`
        await found(world)
    await world.keys_are_filled()
    with pytest.raises(KeyStillUnknown) as missing:
        await found(world)
    assert missing.value.key_id == draft.key_id != KeyId(new_id())


async def test_a_body_moved_to_another_record_does_not_open(world: RecallWorld) -> None:
    one, two = await world.draft("Delivery in the evening"), await world.draft("Delivery in the morning")
    with pytest.raises(SealBroken):
        await world.happens(sample_accepted(structs.replace(two, body=one.body)))


async def test_a_closed_generation_takes_no_record_whatever_the_keys_say(world: RecallWorld) -> None:
    whom = await world.pseudonym(SAMPLE_TENANT, "anna")
    await world.remember("Delivery in the morning", whom="anna")
    ref = SubjectRef(subject=whom, generation=1)
    draft = await world.draft("Delivery to the sister of Boris", whom="boris", about=(whom,))
    await world.happens(SubjectForgotten(subject=whom, generation=1, records=1))  # keys do not know of it
    while await world.model.tend(world.prefix()):
        pass
    await world.happens(sample_accepted(draft, about=(ref,)))
    assert await found(world) == []
    assert await keys(world, "d:") == []
    later = await world.draft("Delivery to the sister of Boris", whom="boris", about=(whom,))
    await world.happens(sample_accepted(later, about=(SubjectRef(subject=whom, generation=2),)))
    assert await found(world) == [later.memory_id]
