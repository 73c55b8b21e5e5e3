"""What a caller is not cleared for, and whom nobody may read (any more), is outside its scope: no count, reason, score
or order tells that it is there."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.rank_passes import Passes
from eunoe.readmodels.recall.result import SearchResult
from eunoe.readmodels.recall.why import NOT_FOUND
from eunoe.schemas.ids import MemoryId, Millis, new_id
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust, Visibility
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TIME

SECRET = "Leukaemia was diagnosed in March"
QUERY = "leukaemia"
DAY = 86_400_000
PUBLIC: dict[str, Any] = {"sensitivity": Sensitivity.PUBLIC}

Hiding = Callable[[RecallWorld, str], Awaitable[MemoryId]]


async def above_clearance(world: RecallWorld, statement: str, **over: Any) -> MemoryId:
    found = await world.remember(statement, whom="pat1", sensitivity=Sensitivity.RESTRICTED, **over)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    return found


async def forgotten(world: RecallWorld, statement: str, **over: Any) -> MemoryId:
    found = await world.remember(statement, whom="pat1", sensitivity=Sensitivity.PUBLIC, **over)
    await world.forget("pat1")
    return found


async def about_somebody_forgotten(world: RecallWorld, statement: str, **over: Any) -> MemoryId:
    found = await world.remember(statement, whom="boris", about=("pat1",), sensitivity=Sensitivity.PUBLIC, **over)
    await world.forget("pat1")
    return found


HIDINGS = pytest.mark.parametrize("hide", [above_clearance, forgotten, about_somebody_forgotten])


def told(result: SearchResult) -> SearchResult:
    """All that a result says, but how far the model was."""
    return replace(result, freshness=None, token="")  # type: ignore[arg-type]


@HIDINGS
@pytest.mark.parametrize(
    "over",
    [
        {},
        {"subject": "pat1"},
        {"subject": "boris"},
        {"classes": frozenset({MemoryClass.PROFILE})},
        {"trust_min": Trust.VERIFIED},
        {"require_provenance": True},
        {"max_sensitivity": Sensitivity.PUBLIC},
        {"surface": "web"},
        {"max_age": 0},
    ],
)
async def test_a_word_of_a_hidden_record_is_answered_as_any_other_word(
    world: RecallWorld, hide: Any, over: dict[str, Any]
) -> None:
    control = await world.remember(SECRET, whom="pat1", sensitivity=Sensitivity.PUBLIC, agent="control-bot")
    hidden = await hide(world, SECRET, surfaces=("mail",), valid_until=Millis(SAMPLE_TIME + 2 * DAY))
    if hide is above_clearance:
        seen = await world.reader.search(world.scope(agent="control-bot"), QUERY)
        assert [each.memory_id for each in seen.records] == [control], "the word does find what may be read"
    for as_of in (None, Millis(SAMPLE_TIME - 1), Millis(SAMPLE_TIME + 40 * DAY)):
        guess = await world.reader.search(world.scope(**over), QUERY, as_of=as_of)
        other = await world.reader.search(world.scope(**over), "hepatitis", as_of=as_of)
        assert told(guess) == told(other)
        assert (guess.examined, guess.excluded, guess.capped) == (0, {}, False)
        why = await world.reader.why(world.scope(**over), hidden, QUERY, as_of=as_of)
        nothing = await world.reader.why(world.scope(**over), MemoryId(new_id()), QUERY, as_of=as_of)
        assert why.because == NOT_FOUND
        assert replace(why, memory_id=nothing.memory_id) == nothing


async def test_a_narrower_limit_of_the_caller_s_own_is_counted(world: RecallWorld) -> None:
    await world.remember(SECRET, whom="pat1", sensitivity=Sensitivity.PERSONAL)
    narrow = world.scope(max_sensitivity=Sensitivity.PUBLIC)
    result = await world.reader.search(narrow, QUERY)
    assert (result.excluded, result.examined) == ({"sensitivity": 1}, 1)
    world.gate.max_sensitivity = Sensitivity.INTERNAL
    result = await world.reader.search(narrow, QUERY)
    assert (result.excluded, result.examined) == ({}, 0)


async def probed(world: RecallWorld, hide: Any, statement: str, passes: Any) -> SearchResult:
    """What a caller reads off who writes records with the word and looks at their scores, beside a hidden one."""
    for at in range(6):
        shared: dict[str, Any] = {"visibility": Visibility.SHARED} if at % 2 else {}
        await world.remember(f"Leukaemia leaflet number {at} on the shelf", whom=None, **PUBLIC, **shared)
        await world.remember(f"Delivery number {at} stands on the shelf", whom=None, **PUBLIC)
    await hide(world, statement)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    return await world.reader.search(world.scope(), "leukaemia delivery shelf", ranking=passes)


@HIDINGS
@pytest.mark.parametrize("passes", [Bm25(), Passes(neighbours=None), Passes()])
async def test_no_score_and_no_order_tells_a_word_of_a_hidden_record(
    world: RecallWorld, hide: Any, passes: Any
) -> None:
    beside = RecallWorld(redis=world.redis)
    holding = await probed(world, hide, "Leukaemia leukaemia number shelf", passes)
    other = await probed(beside, hide, "Hepatitis hepatitis hospital ward", passes)
    assert len(holding.records) == 10
    assert told(holding) == replace(told(other), trace_id=None)
    world.gate.max_sensitivity = Sensitivity.RESTRICTED
    cleared = await world.reader.search(world.scope(), "leukaemia delivery shelf", ranking=passes)
    if hide is above_clearance:
        assert [each.score for each in cleared.records] != [each.score for each in holding.records], "it does count"


async def test_what_is_above_the_clearance_moves_no_score_at_all(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening", whom=None, **PUBLIC)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    before = await world.reader.search(world.scope(), "delivery")
    await above_clearance(world, "Tea and coffee")
    assert (await world.reader.search(world.scope(), "delivery")).records == before.records


async def test_of_longer_lists_a_score_tells_a_power_of_two(world: RecallWorld) -> None:
    for at in range(70):
        await world.remember(f"Leukaemia leaflet {at}", whom=None, sensitivity=Sensitivity.PUBLIC)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    before = await world.reader.search(world.scope(), QUERY, limit=1)
    await above_clearance(world, SECRET)
    after = await world.reader.search(world.scope(), QUERY, limit=1)
    assert [each.terms for each in after.records] == [each.terms for each in before.records]


async def test_the_counts_go_down_with_the_records(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening", whom=None, sensitivity=Sensitivity.PUBLIC)
    world.gate.max_sensitivity = Sensitivity.PUBLIC
    before = await world.reader.search(world.scope(), "delivery")
    await above_clearance(world, "Delivery at night")
    await world.forget("pat1")
    while await world.model.tend(world.prefix()):
        pass
    after = await world.reader.search(world.scope(), "delivery")
    assert after.records == before.records
    assert len(after.records) == 1
