"""Why a record was (not) selected: the first filter, or rank and score terms; and nothing outside the scope."""

from typing import Any

import pytest

from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.readmodels.recall.why import BELOW_LIMIT, NO_MATCH, NOT_FOUND, OVER_BUDGET, SELECTED, Why
from eunoe.schemas.ids import MemoryId, Millis, TenantId, new_id
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust
from eunoe.testing.recalling import RecallWorld


async def why(world: RecallWorld, memory_id: MemoryId, query: str = "delivery", **more: Any) -> Why:
    given = {name: more.pop(name) for name in ("limit", "budget") if name in more}
    return await world.reader.why(world.scope(**more), memory_id, query, **given)


async def test_what_was_selected_has_its_rank_and_the_search_s_own_score(world: RecallWorld) -> None:
    for at in range(5):
        await world.remember(f"Delivery note {at} " + "with more words " * at)
    result = await world.reader.search(world.scope(), "delivery note")
    for rank, each in enumerate(result.records, 1):
        told = await why(world, each.memory_id, "delivery note")
        assert (told.selected, told.because, told.rank, told.ranked) == (True, SELECTED, rank, 5)
        assert told.score == each.score
        assert sorted(told.terms) == sorted(each.terms)
        assert each.reasons[0] == "term"
        assert set(each.reasons) == {part.name.partition(":")[0] for part in each.terms}


async def test_of_two_that_are_nearly_equal_the_search_takes_the_one_that_ranks_first(world: RecallWorld) -> None:
    older = await world.remember("Delivery in the evening")
    world.now = Millis(world.now + 500)  # less than Redis tells apart
    newer = await world.remember("Delivery in the morning")
    assert [each.memory_id for each in (await world.reader.search(world.scope(), "delivery")).records] == [newer, older]
    assert (await why(world, newer, limit=1)).because == SELECTED
    told = await why(world, older, limit=1)
    assert (told.because, told.rank) == (BELOW_LIMIT, 2)


async def test_what_was_not_selected_has_the_reason(world: RecallWorld) -> None:
    long = await world.remember("Delivery delivery delivery " + "and so on " * 50)
    records = [await world.remember(f"Delivery delivery {at}") for at in range(3)]
    other = await world.remember("Prefers tea")
    ranks = [(await why(world, each, limit=1)).rank for each in records]
    worst = records[ranks.index(max(rank or 0 for rank in ranks))]
    told = await why(world, worst, limit=1)
    assert (told.selected, told.because) == (False, BELOW_LIMIT)
    assert told.rank is not None
    assert told.rank > 1
    assert (await why(world, long, budget=60)).because == OVER_BUDGET
    told = await why(world, other)
    assert (told.because, told.rank, told.score, told.terms) == (NO_MATCH, None, 0.0, ())
    assert (await why(world, other, "?!")).because == "no_words"


@pytest.mark.parametrize(
    ("over", "scope", "reason"),
    [
        ({"sensitivity": Sensitivity.RESTRICTED}, {"max_sensitivity": Sensitivity.PERSONAL}, "sensitivity"),
        ({}, {"classes": frozenset({MemoryClass.PROFILE})}, "class"),
        ({}, {"trust_min": Trust.VERIFIED}, "trust"),
        ({"surfaces": ("mail",)}, {"surface": "chat"}, "surface"),
        ({}, {"require_provenance": True}, "provenance"),
        ({}, {"subject": "somebody-else"}, "subject"),
    ],
)
async def test_the_first_failing_filter_is_named(
    world: RecallWorld, over: dict[str, Any], scope: dict[str, Any], reason: str
) -> None:
    memory_id = await world.remember("Delivery in the evening", **over)
    told = await why(world, memory_id, **scope)
    assert (told.selected, told.because, told.rank, told.terms) == (False, reason, None, ())


async def test_age_and_expiry_are_named_too(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening", expires_at=Millis(world.now + 50_000))
    world.now = Millis(world.now + 10_000)
    assert (await why(world, memory_id)).because == SELECTED
    assert (await why(world, memory_id, max_age=5_000)).because == "too_old"
    world.now = Millis(world.now + 50_000)
    assert (await why(world, memory_id)).because == "expired"


async def test_outside_the_scope_the_answer_is_that_of_a_record_that_is_not_there(world: RecallWorld) -> None:
    mine = await world.remember("Delivery in the evening")
    waiting = await world.remember("Delivery at noon", quarantined=True)
    theirs = await world.remember("Delivery in the evening", agent="other-bot")
    elsewhere = await world.remember("Delivery in the evening", purposes=("billing",))
    foreign = await world.remember("Delivery in the evening", tenant=TenantId("acme-2"))
    forgotten = await world.remember("Delivery in the evening", whom="anna")
    await world.forget("anna")
    nothing = await why(world, MemoryId(new_id()))
    assert nothing.because == NOT_FOUND
    assert (await why(world, mine)).because == SELECTED
    for each in (waiting, theirs, elsewhere, foreign, forgotten):
        told = await why(world, each)
        assert (told.because, told.rank, told.score, told.terms) == (NOT_FOUND, None, 0.0, ())
        assert told.ranked == nothing.ranked


async def test_it_passes_the_same_gate_and_changes_nothing(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening")
    before = await state(world)
    first = await world.reader.search(world.scope(), "delivery")
    for _ in range(3):
        await why(world, memory_id)
    assert await state(world) == before
    assert (await world.reader.search(world.scope(), "delivery")).records == first.records
    with pytest.raises(BadScope):
        await why(world, MemoryId("not-an-id"))
    world.gate.refusing = "reads_off"
    with pytest.raises(ReadRefused):
        await why(world, memory_id)


async def test_what_is_forbidden_while_it_is_searched_for_is_not_given(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening", sensitivity=Sensitivity.RESTRICTED)
    public = await world.remember("Delivery of the newspaper", sensitivity=Sensitivity.PUBLIC)
    assert len((await world.reader.search(world.scope(), "delivery")).records) == 2
    gate, admit, calls = world.gate, world.gate.admit, []

    def narrowing(scope: Any) -> Any:
        calls.append(scope)
        if len(calls) == 2:
            gate.max_sensitivity = Sensitivity.PERSONAL
        return admit(scope)

    world.reader.gate = type("Gate", (), {"admit": staticmethod(narrowing)})()
    result = await world.reader.search(world.scope(), "delivery")
    assert [each.memory_id for each in result.records] == [public]
    assert (result.excluded, result.examined) == ({}, 1)
    calls.clear()
    gate.max_sensitivity = Sensitivity.RESTRICTED

    def closing(scope: Any) -> Any:
        calls.append(scope)
        if len(calls) == 2:
            gate.refusing = "reads_off"
        return admit(scope)

    world.reader.gate = type("Gate", (), {"admit": staticmethod(closing)})()
    with pytest.raises(ReadRefused):
        await world.reader.search(world.scope(), "delivery")


async def state(world: RecallWorld) -> dict[bytes, bytes | None]:
    return {key: await world.redis.dump(key) async for key in world.redis.scan_iter(match=f"{world.prefix()}*")}
