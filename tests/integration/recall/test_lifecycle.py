"""What each fact of a record's life does to what a search finds."""

from typing import Any

import pytest

from eunoe.schemas import events
from eunoe.schemas.events import Fact, SupersededRef
from eunoe.schemas.ids import MemoryId, Millis
from eunoe.schemas.values import Confirmation, Trust
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_event,
    sample_quarantined,
)


async def found(world: RecallWorld, query: str = "delivery", **over: Any) -> list[MemoryId]:
    result = await world.reader.search(world.scope(**over), query)
    return [each.memory_id for each in result.records]


async def keys(world: RecallWorld) -> set[str]:
    prefix = str(world.prefix())
    pattern = prefix + "*"
    return {key.decode("latin-1").removeprefix(prefix) async for key in world.redis.scan_iter(match=pattern, count=500)}


async def test_quarantine_is_absent_until_promoted(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    new = await world.remember("Delivery in the evening", quarantined=True)
    assert await found(world) == [old]
    assert await world.reader.get(world.scope(), new) is None
    supersedes = SupersededRef(memory_id=old, version=2)
    await world.happens(events.MemoryPromoted(memory_id=new, version=2, trust=Trust.VERIFIED, supersedes=supersedes))
    assert await found(world) == [new]
    promoted = await world.reader.get(world.scope(), new)
    assert promoted is not None
    assert (promoted.trust, promoted.version) == (Trust.VERIFIED, 2)
    assert await found(world, trust_min=Trust.VERIFIED) == [new]


def sent_back(memory_id: MemoryId, version: int) -> events.MemorySuspended:
    return events.MemorySuspended(
        memory_id=memory_id,
        version=version,
        reasons=("sent_back",),
        subject=SAMPLE_SUBJECT,
        generation=1,
        expires_at=Millis(SAMPLE_TIME * 2),
    )


async def test_what_was_sent_back_is_found_by_nobody_until_it_is_promoted_again(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening")
    before = await keys(world)
    for version in (2, 4):
        await world.happens(sent_back(memory_id, version))
        assert await found(world) == []
        assert await world.reader.get(world.scope(), memory_id) is None
        assert await keys(world) != before, "no posting is left"
        await world.happens(events.MemoryPromoted(memory_id=memory_id, version=version + 1, trust=Trust.VERIFIED))
        assert await found(world) == [memory_id]
        assert await keys(world) == before


async def test_superseding_takes_the_old_one_out_in_the_same_step(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    draft = await world.draft("Delivery in the evening")
    await world.happens(sample_accepted(draft, supersedes=SupersededRef(memory_id=old, version=2)))
    assert await found(world) == [draft.memory_id]
    assert await found(world, "morning") == []


@pytest.mark.parametrize(
    "ended",
    [
        lambda memory_id: events.MemoryRetracted(memory_id=memory_id, version=2),
        lambda memory_id: events.MemoryExpired(memory_id=memory_id, version=2),
        lambda memory_id: events.MemoryForgotten(memory_id=memory_id, version=2),
        lambda memory_id: events.MemoryRejected(memory_id=memory_id, version=2, reason="wrong"),
    ],
    ids=["retracted", "expired", "forgotten", "rejected"],
)
async def test_what_has_ended_leaves_nothing_behind(world: RecallWorld, ended: Any) -> None:
    stays = await world.remember("Delivery by bicycle")
    before = await keys(world)
    waits = isinstance(ended(MemoryId("")), events.MemoryRejected)
    goes = await world.remember("Delivery by train", quarantined=waits, about=("friend",))
    assert await keys(world) != before
    fact: Fact = ended(goes)
    await world.happens(fact)
    assert await found(world) == [stays]
    assert await found(world, "train") == []
    assert await world.reader.get(world.scope(), goes) is None
    assert await keys(world) == before


async def test_a_confirmation_changes_the_record_and_not_its_place(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening")
    score = (await world.reader.search(world.scope(), "delivery")).records[0].score
    await world.happens(events.MemoryConfirmed(memory_id=memory_id, version=2))
    record = (await world.reader.search(world.scope(), "delivery")).records[0]
    assert (record.confirmation, record.version, record.score) == (Confirmation.CONFIRMED, 2, score)


async def test_a_record_stands_in_every_purpose_it_names(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening", purposes=("support", "billing"))
    assert await found(world, purpose="support") == [memory_id]
    assert await found(world, purpose="billing") == [memory_id]


async def test_events_in_one_batch_and_one_by_one_give_the_same(world: RecallWorld) -> None:
    drafts = [await world.draft(f"Delivery number {at}") for at in range(4)]
    waiting = await world.draft("Delivery by boat")
    facts: list[Fact] = [
        *(sample_accepted(draft) for draft in drafts),
        sample_quarantined(waiting),
        events.MemoryRetracted(memory_id=drafts[0].memory_id, version=2),
        events.MemoryPromoted(memory_id=waiting.memory_id, version=2, trust=Trust.ASSERTED),
        events.MemoryConfirmed(memory_id=drafts[1].memory_id, version=2),
        events.MemoryForgotten(memory_id=drafts[2].memory_id, version=2),
    ]
    await world.write(SAMPLE_TENANT, [sample_event(fact) for fact in facts])
    assert set(await found(world)) == {drafts[1].memory_id, drafts[3].memory_id, waiting.memory_id}


async def test_an_operation_that_comes_again_changes_nothing(world: RecallWorld) -> None:
    drafts = [await world.draft(f"Delivery number {at}") for at in range(3)]
    batch = [sample_event(sample_accepted(draft)) for draft in drafts]
    batch.append(sample_event(events.MemoryConfirmed(memory_id=drafts[0].memory_id, version=2)))
    await world.write(SAMPLE_TENANT, batch)
    before = await everything(world)
    prefix = world.prefix()
    # A Redis that lost its last seconds: the watermark is back, part of the data is not.
    await world.redis.hset(prefix.watermark, "position", 0)
    world.rewind(SAMPLE_TENANT)
    await world.write(SAMPLE_TENANT, batch)
    assert await everything(world) == before


async def everything(world: RecallWorld) -> dict[str, Any]:
    contents: dict[str, Any] = {}
    for key in await keys(world):
        contents[key] = await world.redis.dump(world.prefix().key(key).encode("latin-1"))
    return contents
