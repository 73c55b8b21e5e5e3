"""Records that contradict each other and both stay: every reader of one is told of the other, and of nothing else."""

from typing import Any

from msgspec.structs import replace

from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.schemas.events import ConflictRef, ConflictResolved, MemoryPromoted, MemoryRetracted, SupersededRef
from eunoe.schemas.ids import MemoryId, Millis
from eunoe.schemas.values import Confirmation, Sensitivity, Trust, Visibility
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import sample_accepted

QUERY = "delivery"


async def found(world: RecallWorld, **scope: Any) -> dict[MemoryId, RecalledMemory]:
    result = await world.reader.search(world.scope(**scope), QUERY)
    return {each.memory_id: each for each in result.records}


async def contest(world: RecallWorld, statement: str, *others: tuple[MemoryId, int], **over: Any) -> MemoryId:
    draft = await world.draft(statement, **over)
    refs = tuple(ConflictRef(memory_id=each, version=version) for each, version in others)
    await world.happens(replace(sample_accepted(draft), conflicts_with=refs))
    return draft.memory_id


async def test_both_sides_of_a_conflict_name_the_other_in_searches_and_exact_reads(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    other = await world.remember("Delivery of the newspaper")
    new = await contest(world, "Delivery in the evening", (old, 2))
    records = await found(world)
    assert (records[old].conflicts, records[new].conflicts, records[other].conflicts) == ((new,), (old,), ())
    assert (records[old].version, records[new].version) == (2, 1)
    exact = await world.reader.get(world.scope(), old)
    assert exact is not None
    assert exact.conflicts == (new,)


async def test_an_answered_conflict_leaves_one_record_without_a_mark(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    new = await contest(world, "Delivery in the evening", (old, 2))
    third = await contest(world, "Delivery at noon", (old, 3), (new, 2))
    assert set((await found(world))[old].conflicts) == {new, third}
    gone = (SupersededRef(memory_id=old, version=4), SupersededRef(memory_id=third, version=2))
    await world.happens(ConflictResolved(memory_id=new, version=3, superseded=gone))
    records = await found(world)
    assert set(records) == {new}
    assert (records[new].conflicts, records[new].version) == ((), 3)
    assert [each async for each in world.redis.scan_iter(match=f"{world.prefix().key('r:')}*")] == []
    assert not await world.redis.exists(world.prefix().key(f"w:{world.scope().tenant}"))


async def test_a_side_that_leaves_or_expires_is_no_conflict_any_more(world: RecallWorld) -> None:
    soon = Millis(world.now + 1_000)
    old = await world.remember("Delivery in the morning", expires_at=soon)
    new = await contest(world, "Delivery in the evening", (old, 2))
    third = await contest(world, "Delivery at noon", (old, 3), (new, 2))
    world.now = soon
    assert (await found(world))[new].conflicts == (third,)
    await world.happens(MemoryRetracted(memory_id=third, version=2))
    assert (await found(world))[new].conflicts == ()


async def test_a_promoted_record_brings_its_conflicts_with_it(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    waiting = await world.remember("Delivery in the evening", quarantined=True)
    assert (await found(world))[old].conflicts == ()
    refs = (ConflictRef(memory_id=old, version=2),)
    await world.happens(MemoryPromoted(memory_id=waiting, version=2, trust=Trust.VERIFIED, conflicts_with=refs))
    records = await found(world)
    assert (records[old].conflicts, records[waiting].conflicts) == ((waiting,), (old,))
    assert (records[old].version, records[waiting].version) == (2, 2)


async def test_nobody_is_told_of_a_conflict_outside_their_scope(world: RecallWorld) -> None:
    shared = await world.remember(
        "Delivery in the morning", visibility=Visibility.SHARED, purposes=("support", "billing")
    )
    own = await contest(world, "Delivery in the evening", (shared, 2))
    secret = await contest(
        world, "Delivery at night", (shared, 3), (own, 2), sensitivity=Sensitivity.RESTRICTED, agent="night-bot"
    )
    assert set((await found(world))[shared].conflicts) == {own}  # the control: in scope it is told
    assert (await found(world, agent="other-bot"))[shared].conflicts == ()
    assert (await found(world, purpose="billing"))[shared].conflicts == ()
    assert (await found(world, agent="night-bot"))[shared].conflicts == (secret,)
    assert (await found(world, agent="night-bot", max_sensitivity=Sensitivity.PERSONAL))[shared].conflicts == ()


async def test_what_the_caller_left_out_by_choice_contradicts_all_the_same(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning")
    world.now = Millis(world.now + 10_000)
    new = await contest(world, "Delivery in the evening", (old, 2))
    records = await found(world, max_age=5_000)
    assert set(records) == {new}
    assert records[new].conflicts == (old,)


async def test_forgetting_a_person_ends_the_conflict_at_once(world: RecallWorld) -> None:
    old = await world.remember("Delivery in the morning", whom="anna")
    new = await contest(world, "Delivery in the evening", (old, 2), whom="boris")
    assert (await found(world))[new].conflicts == (old,)
    await world.forget("anna")
    assert (await found(world))[new].conflicts == ()
    while await world.model.tend(world.prefix()):
        pass
    assert (await found(world))[new].conflicts == ()


async def test_what_is_proposed_is_never_returned_as_confirmed(world: RecallWorld) -> None:
    draft = await world.draft("Delivery in the morning")
    await world.happens(sample_accepted(draft))
    assert (await found(world))[draft.memory_id].confirmation is Confirmation.PROPOSED
    await contest(world, "Delivery in the evening", (draft.memory_id, 2))
    assert {each.confirmation for each in (await found(world)).values()} == {Confirmation.PROPOSED}
