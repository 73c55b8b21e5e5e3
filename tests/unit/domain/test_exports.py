"""Who may have handed out what is held, and that it is on the log before anything is read."""

from dataclasses import replace
from typing import Any

import pytest

from eunoe.schemas.events import CommandDuplicate, ExportRecorded, Reason
from eunoe.schemas.ids import AgentId, PrincipalName
from eunoe.schemas.values import Sensitivity
from unit.domain.samples import (
    ALICE,
    BOB,
    EXPORTER,
    MONTH,
    OFFICER,
    POLICY,
    ROBOT_EXPORTER,
    draft,
    export,
    forget_subject,
    hold,
    readmit,
    remember,
)
from unit.domain.scenario import Refused, Scenario, replayed

SAID = "passport, seen by M. Huber"
RECORDED = ExportRecorded(subject=ALICE, generation=1, records=1, identity_check=SAID)


def told() -> Scenario:
    """One record on Alice."""
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    return scenario.given(remember(draft("tea", key)))


def test_an_export_is_recorded_with_its_check_and_count_and_changes_nothing() -> None:
    scenario = told()
    before = scenario.subject(ALICE)
    scenario.when(export()).then(RECORDED)
    scenario.when(export(None)).then(ExportRecorded(identity_check=SAID))
    assert scenario.subject(ALICE) == before
    assert replayed(scenario.events) == scenario.store


@pytest.mark.parametrize(
    ("by", "signed", "field", "reason"),
    [
        (OFFICER, True, "export", Reason.NOT_ALLOWED),
        (ROBOT_EXPORTER, True, "export", Reason.NOT_ALLOWED),
        (EXPORTER, False, "export", Reason.SIGNATURE_REQUIRED),
    ],
)
def test_the_right_is_granted_by_itself_to_people_who_sign(
    by: PrincipalName, signed: bool, field: str, reason: Reason
) -> None:
    told().when(export(), by=by, signed=signed).then(Refused(reason=reason, field=field))


@pytest.mark.parametrize(
    ("limit", "field"),
    [
        ({"max_sensitivity": Sensitivity.PERSONAL}, "max_sensitivity"),
        ({"purposes": frozenset({"support"})}, "purposes"),
        ({"agents": frozenset({AgentId("support-bot")})}, "agent"),
    ],
)
def test_whoever_would_see_only_a_part_exports_nothing(limit: dict[str, Any], field: str) -> None:
    scenario = told()
    limited = replace(POLICY.principals[EXPORTER], **limit)
    scenario.policy = replace(POLICY, principals={**POLICY.principals, EXPORTER: limited})
    scenario.when(export()).then(Refused(reason=Reason.NOT_ALLOWED, field=field))


def test_a_forgotten_person_is_erased_and_a_stranger_was_never_here() -> None:
    scenario = told().given(forget_subject())
    scenario.when(export()).then(Refused(reason=Reason.ERASED, field="subject"))
    scenario.given(readmit()).when(export()).then(
        ExportRecorded(subject=ALICE, generation=2, records=0, identity_check=SAID)
    )
    scenario.when(export(BOB)).then(Refused(reason=Reason.NOT_FOUND, field="subject"))
    Scenario().when(export()).then(Refused(reason=Reason.TENANT_NOT_OPEN))


def test_a_legal_hold_does_not_keep_from_a_person_what_is_held_on_them() -> None:
    told().given(hold()).when(export()).then(RECORDED)


def test_while_reads_are_off_nothing_goes_out() -> None:
    told().when(export(), reading=False).then(Refused(reason=Reason.READS_OFF))


@pytest.mark.parametrize("said", ["", "  ", "x" * 201, "two\nlines"])
def test_how_who_asks_was_checked_must_be_said(said: str) -> None:
    told().when(export(said=said)).then(Refused(reason=Reason.INVALID_FIELD, field="identity_check"))


def test_the_same_request_again_is_a_duplicate() -> None:
    scenario, once = told(), export()
    scenario.given(once).when(once)
    assert isinstance(scenario.events[-1].fact, CommandDuplicate)
