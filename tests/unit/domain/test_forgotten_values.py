"""What was forgotten by itself is not taken again in the same words, whatever its id, while the person's key lives."""

import pytest

from eunoe.schemas.events import MemoryAccepted, MemoryForgotten, Reason
from eunoe.schemas.ids import Bucket
from unit.domain.samples import (
    ALICE,
    BOB,
    MONTH,
    confirm,
    correct,
    draft,
    forget,
    forget_subject,
    memory,
    promote,
    readmit,
    remember,
    resolve,
    retract,
)
from unit.domain.scenario import Refused, Scenario, replayed


@pytest.fixture
def scenario() -> Scenario:
    """Tea and milk are known of Alice; tea was forgotten."""
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("tea", key)), text="tea").given(remember(draft("milk", key)), text="milk")
    return scenario.given(forget("tea"))


def test_the_same_value_is_refused_under_another_id_and_as_a_correction(scenario: Scenario) -> None:
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("again", key)), text="tea").then(Refused(reason=Reason.ERASED, field="statement"))
    scenario.when(correct(draft("again", key), "milk", 1), text="tea").then(
        Refused(reason=Reason.ERASED, field="statement")
    )
    assert isinstance(scenario.ask(remember(draft("rum", key)), text="rum"), MemoryAccepted)
    assert isinstance(
        scenario.ask(remember(draft("milk for sale", key, purposes=("sales",))), text="milk"), MemoryAccepted
    )
    assert replayed(scenario.events) == scenario.store


def test_the_same_id_and_every_command_about_it_is_refused_as_erased(scenario: Scenario) -> None:
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("tea", key)), text="rum").then(Refused(reason=Reason.ERASED, field="memory_id"))
    for command in (promote("tea", 2), confirm("tea", 2), resolve("tea", 2), retract("tea", 2), forget("tea")):
        scenario.when(command).then(Refused(reason=Reason.ERASED))


def test_only_the_person_it_was_said_of_is_meant(scenario: Scenario) -> None:
    key = scenario.key(BOB, MONTH)
    assert isinstance(scenario.ask(remember(draft("bobs", key, subject=BOB)), text="tea"), MemoryAccepted)


def test_after_readmission_the_value_is_new(scenario: Scenario) -> None:
    scenario.given(forget_subject(), readmit())
    assert scenario.subject(ALICE).forgotten_values == 0
    key = scenario.key(ALICE, MONTH)
    assert isinstance(scenario.ask(remember(draft("new", key, generation=2)), text="tea"), MemoryAccepted)


def test_a_record_with_a_key_of_its_own_says_that_it_is_destroyed(scenario: Scenario) -> None:
    own = scenario.key(ALICE, Bucket(memory("ill")))
    scenario.given(remember(draft("ill", own, kind="diagnosis")), text="ill")
    scenario.when(forget("ill"), forget("milk")).then(
        MemoryForgotten(memory_id=memory("ill"), version=2, own_key=True),
        MemoryForgotten(memory_id=memory("milk"), version=2),
    )
