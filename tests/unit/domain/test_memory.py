"""The lifecycle table, and the function that walks it."""

import pytest

from eunoe.domain.memory import (
    TRANSITIONS,
    ImpossibleFact,
    MemoryState,
    Step,
    allowed,
    diagram,
    evolve,
    touches,
)
from eunoe.schemas.events import (
    CommandDuplicate,
    EventHeader,
    Fact,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryRejected,
    MemoryRetracted,
    SupersededRef,
)
from eunoe.schemas.ids import CommandId
from eunoe.schemas.values import Confirmation, Lifecycle, Review, SourceKind, Trust
from unit.domain.samples import ALICE, MONTH, correct, draft, memory, remember
from unit.domain.scenario import Scenario


@pytest.fixture
def quarantined() -> tuple[MemoryState, EventHeader]:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("m", key, source_kind=SourceKind.THIRD_PARTY)))
    return scenario.record(memory("m")), scenario.events[-1].header


def test_every_lifecycle_is_in_the_table_and_reachable() -> None:
    reached = {end for steps in TRANSITIONS.values() for end in steps.values()}
    assert reached == set(Lifecycle) == {start for start in TRANSITIONS if start is not None}


def test_forgetting_is_possible_from_every_state_and_final() -> None:
    for start, steps in TRANSITIONS.items():
        if start not in (None, Lifecycle.FORGOTTEN):
            assert steps[Step.FORGOTTEN] is Lifecycle.FORGOTTEN
    assert TRANSITIONS[Lifecycle.FORGOTTEN] == {}


def test_only_quarantine_leads_to_promotion_and_rejection() -> None:
    for step in (Step.PROMOTED, Step.REJECTED):
        assert [start for start, steps in TRANSITIONS.items() if step in steps] == [Lifecycle.QUARANTINED]


def test_a_promoted_record_is_active_verified_and_reviewed(quarantined: tuple[MemoryState, EventHeader]) -> None:
    state, header = quarantined
    assert (state.lifecycle, state.review, state.version) == (Lifecycle.QUARANTINED, Review.PENDING, 1)
    after = evolve(state, memory("m"), header, MemoryPromoted(memory_id=memory("m"), version=2, trust=Trust.VERIFIED))
    assert (after.lifecycle, after.trust, after.review, after.version) == (
        Lifecycle.ACTIVE,
        Trust.VERIFIED,
        Review.DECIDED,
        2,
    )
    assert after.confirmation is state.confirmation


def test_a_rejected_record_is_rejected_on_every_axis(quarantined: tuple[MemoryState, EventHeader]) -> None:
    state, header = quarantined
    after = evolve(state, memory("m"), header, MemoryRejected(memory_id=memory("m"), version=2, reason="spam"))
    assert (after.lifecycle, after.confirmation, after.review) == (
        Lifecycle.REJECTED,
        Confirmation.REJECTED,
        Review.DECIDED,
    )


@pytest.mark.parametrize(
    ("fact", "end"),
    [
        (MemoryConfirmed(memory_id=memory("m"), version=2), Lifecycle.QUARANTINED),
        (MemoryRetracted(memory_id=memory("m"), version=2), Lifecycle.RETRACTED),
        (MemoryExpired(memory_id=memory("m"), version=2), Lifecycle.EXPIRED),
        (MemoryForgotten(memory_id=memory("m"), version=2), Lifecycle.FORGOTTEN),
    ],
)
def test_each_fact_takes_its_step(quarantined: tuple[MemoryState, EventHeader], fact: Fact, end: Lifecycle) -> None:
    state, header = quarantined
    after = evolve(state, memory("m"), header, fact)
    assert (after.lifecycle, after.version) == (end, 2)
    confirmed = evolve(state, memory("m"), header, MemoryConfirmed(memory_id=memory("m"), version=2))
    with pytest.raises(ImpossibleFact, match="version 2 after 2"):
        evolve(confirmed, memory("m"), header, fact)
    with pytest.raises(ImpossibleFact, match="unknown"):
        evolve(None, memory("m"), header, fact)


def test_a_fact_the_table_does_not_have_is_impossible(quarantined: tuple[MemoryState, EventHeader]) -> None:
    state, header = quarantined
    gone = evolve(state, memory("m"), header, MemoryForgotten(memory_id=memory("m"), version=2))
    assert allowed(gone, Step.CONFIRMED) is None
    with pytest.raises(ImpossibleFact, match="forgotten cannot be confirmed"):
        evolve(gone, memory("m"), header, MemoryConfirmed(memory_id=memory("m"), version=3))


def test_a_record_is_born_once(quarantined: tuple[MemoryState, EventHeader]) -> None:
    scenario = Scenario()
    scenario.given(remember(draft("m", scenario.key(ALICE, MONTH))))
    with pytest.raises(ImpossibleFact, match="there already"):
        evolve(quarantined[0], memory("m"), quarantined[1], scenario.events[-1].fact)


def test_a_fact_about_another_record_is_impossible(quarantined: tuple[MemoryState, EventHeader]) -> None:
    state, header = quarantined
    with pytest.raises(ImpossibleFact, match="nothing of this record"):
        evolve(state, memory("m"), header, CommandDuplicate(first_command_id=CommandId("x")))


def test_a_correction_touches_both_records_in_one_fact() -> None:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("old", key)), correct(draft("new", key), "old", 1))
    assert touches(scenario.events[-1].fact) == (memory("new"), memory("old"))
    assert scenario.record(memory("old")).lifecycle is Lifecycle.SUPERSEDED
    assert scenario.record(memory("old")).version == 2
    promoted = MemoryPromoted(
        memory_id=memory("a"),
        version=2,
        trust=Trust.VERIFIED,
        supersedes=SupersededRef(memory_id=memory("b"), version=4),
    )
    assert touches(promoted) == (memory("a"), memory("b"))


def test_the_diagram_has_a_line_for_each_step() -> None:
    lines = diagram().splitlines()
    assert lines[0] == "stateDiagram-v2"
    assert "    quarantined --> active: promoted" in lines
    assert "    [*] --> quarantined: quarantined" in lines
    assert lines[-1] == "    forgotten --> [*]"
    assert len(lines) == 2 + sum(map(len, TRANSITIONS.values()))
