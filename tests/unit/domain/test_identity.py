"""Who may do what, in which tenant, and what the write switch holds up."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from eunoe.schemas.commands import Command, IssueKey
from eunoe.schemas.events import CommandRejected, Reason
from eunoe.schemas.ids import AgentId, KeyId, TenantId
from eunoe.schemas.values import SourceKind, Writing
from unit.domain.samples import (
    ACME,
    AGENT,
    ALICE,
    BOB,
    FOREIGNER,
    IN_A_MONTH,
    MONTH,
    OFFICER,
    SECOND_REVIEWER,
    STRANGER,
    SWEEPER,
    confirm,
    correct,
    draft,
    expire,
    forget,
    forget_subject,
    promote,
    readmit,
    reject,
    remember,
    retract,
)
from unit.domain.scenario import Refused, Scenario

NO_KEY = KeyId("k")
ALL: list[Command] = [
    IssueKey(tenant=ACME),
    remember(draft("m", NO_KEY)),
    correct(draft("m", NO_KEY), "old", 1),
    promote("m"),
    reject("m"),
    confirm("m"),
    retract("m"),
    expire("m"),
    forget("m"),
    forget_subject(),
    readmit(),
]


def _name(command: Command) -> str:
    return type(command).__name__


@pytest.mark.parametrize("command", ALL, ids=_name)
def test_a_stranger_may_nothing(command: Command) -> None:
    Scenario().when(command, by=STRANGER, signed=True).then(Refused(reason=Reason.NOT_ALLOWED, field="principal"))


@pytest.mark.parametrize("command", ALL, ids=_name)
def test_all_rights_in_another_tenant_are_none_here(command: Command) -> None:
    Scenario().when(command, by=FOREIGNER, signed=True).then(Refused(reason=Reason.FOREIGN_TENANT, field="tenant"))
    at_home = structs.replace(command, tenant=TenantId("acme-2"))
    fact = Scenario().ask(at_home, by=FOREIGNER, signed=True)
    assert not isinstance(fact, CommandRejected) or fact.reason is not Reason.FOREIGN_TENANT


@pytest.mark.parametrize(
    ("right", "commands"),
    [
        ("write", ALL[:3]),
        ("review", ALL[3:6]),
        ("expire", ALL[7:8]),
        ("erase", ALL[8:10]),
        ("readmit", ALL[10:]),
    ],
)
def test_a_right_is_granted_separately(right: str, commands: list[Command]) -> None:
    holders = {"write": AGENT, "review": SECOND_REVIEWER, "expire": SWEEPER, "erase": OFFICER, "readmit": OFFICER}
    for command in commands:
        for principal in {AGENT, SECOND_REVIEWER, SWEEPER, OFFICER} - {holders[right]}:
            Scenario().when(command, by=principal, signed=True).then(Refused(reason=Reason.NOT_ALLOWED, field=right))
        fact = Scenario().ask(command, by=holders[right], signed=True)
        assert not isinstance(fact, CommandRejected) or fact.reason is not Reason.NOT_ALLOWED


@pytest.mark.parametrize("tenant", ["", "a b", "a:b", "a/b", "{a}", "ä", "a" * 65, "acme\n"])
@pytest.mark.parametrize("command", ALL, ids=_name)
def test_a_tenant_is_named_by_the_allowed_characters(command: Command, tenant: str) -> None:
    Scenario().when(structs.replace(command, tenant=TenantId(tenant))).then(
        Refused(reason=Reason.INVALID_FIELD, field="tenant")
    )


def test_a_source_the_principal_may_not_speak_for_is_refused() -> None:
    scenario = Scenario()
    inferring = replace(scenario.policy.principals[AGENT], source_kinds=frozenset({SourceKind.INFERRED}))
    scenario.policy = replace(scenario.policy, principals={**scenario.policy.principals, AGENT: inferring})
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("m", key))).then(Refused(reason=Reason.SOURCE_NOT_ALLOWED, field="source_kind"))
    scenario.given(remember(draft("m", key, source_kind=SourceKind.INFERRED)))


@pytest.mark.parametrize(
    ("kept", "field", "allowed"),
    [
        ({"agents": frozenset({AgentId("other")})}, "agent", {"agent": AgentId("other")}),
        ({"purposes": frozenset({"sales"})}, "purposes", {"purposes": ("sales",)}),
    ],
)
def test_who_is_kept_to_agents_and_purposes_writes_for_those(
    kept: dict[str, Any], field: str, allowed: dict[str, Any]
) -> None:
    scenario = Scenario()
    rule = replace(scenario.policy.principals[AGENT], **kept)
    scenario.policy = replace(scenario.policy, principals={**scenario.policy.principals, AGENT: rule})
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("m", key))).then(Refused(reason=Reason.NOT_ALLOWED, field=field))
    scenario.given(remember(draft("m", key, **allowed)))


def test_the_write_switch_holds_up_what_adds_and_never_what_takes_away() -> None:
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    scenario.key(BOB, MONTH)
    scenario.given(forget_subject(BOB))
    for name in ("rejected", "waiting"):
        scenario.given(remember(draft(name, key, source_kind=SourceKind.THIRD_PARTY)))
    for name in ("used", "retracted", "expired", "forgotten"):
        scenario.given(remember(draft(name, key, source_kind=SourceKind.INFERRED)), text=name)
    held_up: list[Command] = [
        IssueKey(tenant=ACME),
        remember(draft("m", key)),
        correct(draft("n", key), "used", 1),
        promote("waiting"),
        confirm("used"),
        readmit(BOB),
    ]
    for command in held_up:
        scenario.when(command, writing=Writing.OFF).then(Refused(reason=Reason.WRITES_OFF))
    for command in (reject("rejected"), retract("retracted"), forget("forgotten")):
        scenario.given(command, writing=Writing.OFF)
    for command in held_up[:4]:
        scenario.given(command)
    scenario.now = IN_A_MONTH
    scenario.given(expire("expired"), forget_subject(), writing=Writing.OFF)
