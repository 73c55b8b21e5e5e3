"""Nobody reads who may not, here, now, for this: each refusal by its code."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from eunoe.client.gate import ControlGate
from eunoe.client.simulating import may_simulate
from eunoe.crypto.secrets import secret_line
from eunoe.crypto.signatures import Algorithm as SecretAlgorithm
from eunoe.crypto.signatures import Ed25519Signer, HmacSecret, Secret
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.readmodels.tenants import TenantStanding
from eunoe.runtime.control_state import ControlState
from eunoe.runtime.principals import sample_development_policy
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import Switch
from eunoe.schemas.ids import AgentId, Offset, PrincipalName, SecretId, TenantId
from eunoe.schemas.policy import Policy, PrincipalRule
from eunoe.schemas.values import Action, Sensitivity

AGENT = PrincipalName("dev-agent")
ACME = TenantId("acme")
SECRET = HmacSecret(SecretId("dev-agent-1"), b"a" * 32)
POLICY = sample_development_policy()
SCOPE = ReadScope(tenant=ACME, agent=AgentId("bot"), purpose="support", principal=AGENT)


@dataclass(frozen=True)
class Standing:
    state: ControlState


def gate(policy: Policy | None = POLICY, secret: Secret = SECRET, **switches: Switch) -> ControlGate:
    names: Mapping[str, Switch] = MappingProxyType(
        {name.replace("every", "*"): each for name, each in switches.items()}
    )
    return ControlGate(Standing(ControlState(policy=policy, switches=names, offset=Offset(7))), AGENT, (secret,))


def with_agent(**changes: Any) -> Policy:
    rule: PrincipalRule = replace(POLICY.principals[AGENT], **changes)
    return replace(POLICY, principals={**POLICY.principals, AGENT: rule})


def test_who_may_read_is_admitted_with_what_the_policy_allows() -> None:
    admitted = gate().admit(SCOPE)
    assert (admitted.max_sensitivity, admitted.control_offset) == (Sensitivity.RESTRICTED, 7)
    narrow = gate(with_agent(max_sensitivity=Sensitivity.INTERNAL)).admit(SCOPE)
    assert narrow.max_sensitivity is Sensitivity.INTERNAL


@pytest.mark.parametrize(
    ("refusing", "reason"),
    [
        (gate(policy=None), "no_policy"),
        (gate(replace(POLICY, principals={})), "not_authenticated"),
        (gate(secret=HmacSecret(SecretId("retired"), b"a" * 32)), "not_authenticated"),
        (gate(secret=Ed25519Signer(SecretId("dev-agent-1"), b"a" * 32)), "not_authenticated"),
        (gate(with_agent(tenants=frozenset({TenantId("acme-2")}))), "foreign_tenant"),
        (gate(with_agent(actions=frozenset({Action.WRITE}))), "not_allowed"),
        (gate(replace(POLICY, purposes={})), "unknown_purpose"),
        (gate(with_agent(purposes=frozenset({"billing"}))), "forbidden_purpose"),
        (gate(with_agent(agents=frozenset({AgentId("other")}))), "foreign_agent"),
        (gate(acme=Switch(reads=False)), "reads_off"),
        (gate(every=Switch(reads=False)), "reads_off"),
    ],
)
def test_each_refusal_has_its_code(refusing: ControlGate, reason: str) -> None:
    with pytest.raises(ReadRefused) as caught:
        refusing.admit(SCOPE)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("tenants", "standing", "reason"),
    [
        (None, TenantStanding(incarnation=3, closed=2), None),
        ({"acme"}, TenantStanding(), None),
        ({"acme"}, TenantStanding(incarnation=2, closed=1), "foreign_tenant"),
        ({"acme#2"}, TenantStanding(incarnation=2, closed=1), None),
        ({"acme#2"}, TenantStanding(), "foreign_tenant"),
        (None, TenantStanding(closed=1), "tenant_forgotten"),
        (None, TenantStanding(asked=True), "tenant_restricted"),
    ],
)
def test_which_of_those_that_had_the_name_may_be_read(
    tenants: set[str] | None, standing: TenantStanding, reason: str | None
) -> None:
    named = None if tenants is None else frozenset(TenantId(each) for each in tenants)
    asked = gate(with_agent(tenants=named))
    assert asked.admit(SCOPE), "whether one of them may be read is all that is known before its standing is"
    if reason is None:
        return asked.enter(ACME, standing)
    with pytest.raises(ReadRefused) as caught:
        asked.enter(ACME, standing)
    assert caught.value.reason == reason


def test_who_is_kept_to_purposes_and_agents_reads_for_those() -> None:
    kept = with_agent(purposes=frozenset({"support"}), agents=frozenset({AgentId("bot")}))
    assert gate(kept).admit(SCOPE)
    assert gate(kept).allows(ACME, kept.principals[AGENT], "support", Sensitivity.PUBLIC)
    assert not gate(kept).allows(ACME, kept.principals[AGENT], "billing", Sensitivity.PUBLIC)


def test_one_principal_does_not_read_in_the_name_of_another() -> None:
    with pytest.raises(ReadRefused, match="not_authenticated"):
        gate().admit(replace(SCOPE, principal=PrincipalName("dev-officer")))


def test_a_switch_of_another_tenant_or_for_writing_stops_no_reader() -> None:
    assert gate(other=Switch(reads=False), acme=Switch(writes=False)).admit(SCOPE)


def test_a_signer_is_known_by_its_public_key_and_not_by_its_id_alone() -> None:
    officer = PrincipalName("dev-officer")
    signer = Ed25519Signer(SecretId("dev-officer-1"), b"o" * 32)
    public = signer.verifier().reference.rpartition(":")[2]
    ref = replace(POLICY.principals[officer].secrets[0], reference=public)
    rule = replace(POLICY.principals[officer], secrets=(ref,))
    state = ControlState(policy=replace(POLICY, principals={officer: rule}), offset=Offset(7))
    scope = replace(SCOPE, principal=officer)
    assert ControlGate(Standing(state), officer, (signer,)).admit(scope)
    impostor = Ed25519Signer(SecretId("dev-officer-1"), b"x" * 32)
    with pytest.raises(ReadRefused, match="not_authenticated"):
        ControlGate(Standing(state), officer, (impostor,)).admit(scope)


def test_what_is_switched_off_says_what_to_do_without_memory() -> None:
    switched = MappingProxyType({"acme/support": Switch(reads=False)})
    off = ControlGate(Standing(ControlState(policy=POLICY, switches=switched, offset=Offset(7))), AGENT, (SECRET,))
    with pytest.raises(ReadRefused) as caught:
        off.admit(SCOPE)
    assert (caught.value.reason, caught.value.fallback) == ("reads_off", "answer without memory")
    assert off.admit(replace(SCOPE, purpose="billing")).policy_version == POLICY.version
    assert (off.fallback("support"), gate(policy=None).fallback("support")) == ("answer without memory", None)


def test_a_record_is_shown_for_a_purpose_as_far_as_the_policy_protects_it() -> None:
    rule = POLICY.principals[AGENT]
    assert gate().allows(ACME, rule, "support", Sensitivity.RESTRICTED)
    assert not gate(acme=Switch(reads=False)).allows(ACME, rule, "support", Sensitivity.PUBLIC)
    assert not gate(replace(POLICY, purposes={})).allows(ACME, rule, "support", Sensitivity.PUBLIC)
    narrow = replace(rule, max_sensitivity=Sensitivity.INTERNAL)
    assert not gate().allows(ACME, narrow, "support", Sensitivity.PERSONAL)


@dataclass(frozen=True)
class Tenants:
    """All stand as they were made."""

    async def standing(self, tenant: TenantId) -> TenantStanding:
        return TenantStanding()


@pytest.mark.parametrize(
    ("actions", "tenants", "every", "one"),
    [
        ({Action.OPERATE}, None, True, True),
        ({Action.REVIEW}, None, False, True),
        ({Action.OPERATE}, frozenset({ACME}), False, True),
        ({Action.REVIEW}, frozenset({ACME}), False, True),
        ({Action.OPERATE, Action.REVIEW}, frozenset({TenantId("other")}), False, False),
        ({Action.READ, Action.WRITE}, None, False, False),
    ],
)
async def test_a_policy_is_tried_on_the_log_by_who_may_see_what_was_decided(
    tmp_path: Path, actions: set[Action], tenants: frozenset[TenantId] | None, every: bool, one: bool
) -> None:
    secret = tmp_path / "dev-agent.secret"
    secret.write_text(secret_line(SecretAlgorithm.HMAC_SHA256, SECRET.secret_id, b"a" * 32) + "\n")
    secret.chmod(0o600)
    settings = Settings(principal=AGENT, secret_file=secret)
    control = Standing(ControlState(policy=with_agent(actions=frozenset(actions), tenants=tenants)))

    async def may(tenant: TenantId | None) -> bool:
        try:
            await may_simulate(control, settings, Tenants(), tenant)  # type: ignore[arg-type]  # all that is asked
        except ReadRefused:
            return False
        return True

    assert (await may(None), await may(ACME)) == (every, one)
