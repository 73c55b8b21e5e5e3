"""What `export_delete_policy` leaves to the person: to have it handed out and forgotten without an officer (C46)."""

from typing import Any

import pytest

from eunoe.schemas.events import ExportRecorded, MemoryForgotten, Reason
from eunoe.schemas.values import ExportDeletePolicy
from unit.domain.samples import (
    AGENT,
    ALICE,
    BOB,
    MONTH,
    OFFICER,
    PORTAL,
    draft,
    export,
    forget,
    forget_subject,
    hold,
    memory,
    remember,
)
from unit.domain.scenario import Refused, Scenario, replayed

SAID = "passport, seen by M. Huber"
LEFT: dict[str, Any] = {"export_delete_policy": ExportDeletePolicy.USER_VISIBLE}


def told() -> Scenario:
    """Alice's: ``hers`` is left to her, ``kept`` is not, ``shared`` is about Bob too."""
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("hers", key, **LEFT)), remember(draft("kept", key)))
    own = scenario.key(ALICE, memory("shared"))  # type: ignore[arg-type]  # a bucket of its own is named by its record
    return scenario.given(remember(draft("shared", own, about=(BOB,), **LEFT)))


def test_who_acts_for_the_person_forgets_what_was_left_to_them() -> None:
    scenario = told()
    scenario.when(forget("hers", ALICE), by=PORTAL, signed=False).then(
        MemoryForgotten(memory_id=memory("hers"), version=2)
    )
    assert replayed(scenario.events) == scenario.store


@pytest.mark.parametrize(
    ("name", "subject", "reason", "field"),
    [
        ("kept", ALICE, Reason.NOT_ALLOWED, "export_delete_policy"),
        ("shared", ALICE, Reason.NOT_ALLOWED, "export_delete_policy"),
        ("hers", None, Reason.NOT_ALLOWED, "subject"),
        ("hers", BOB, Reason.NOT_FOUND, "subject"),
    ],
)
def test_and_nothing_else(name: str, subject: Any, reason: Reason, field: str) -> None:
    told().when(forget(name, subject), by=PORTAL, signed=False).then(Refused(reason=reason, field=field))


def test_it_is_a_right_of_its_own_and_an_officer_needs_none_of_it() -> None:
    scenario = told()
    scenario.when(forget("hers", ALICE), by=AGENT, signed=False).then(Refused(reason=Reason.NOT_ALLOWED, field="erase"))
    scenario.when(forget_subject(), by=PORTAL, signed=False).then(Refused(reason=Reason.NOT_ALLOWED))
    scenario.when(forget("kept", BOB)).then(Refused(reason=Reason.NOT_FOUND, field="subject"))
    scenario.when(forget("kept", ALICE), by=OFFICER).then(MemoryForgotten(memory_id=memory("kept"), version=2))


def test_a_legal_hold_stands_against_it() -> None:
    scenario = told().given(hold())
    scenario.when(forget("hers", ALICE), by=PORTAL, signed=False).then(Refused(reason=Reason.ON_HOLD))


def test_who_acts_for_the_person_has_what_was_left_to_them_handed_out() -> None:
    scenario = told()
    recorded = ExportRecorded(subject=ALICE, generation=1, records=3, identity_check=SAID, user_visible_only=True)
    scenario.when(export(), by=PORTAL, signed=False).then(recorded)
    scenario.when(export(None), by=PORTAL, signed=False).then(Refused(reason=Reason.NOT_ALLOWED, field="export"))
