"""What is in force: the fold of ``memory-control``, pure.

A record counts only if one of the installation's control signers signed it for this log, and if it was made against
what is in force now: it names the offset of the record it replaces (-1 for the first of its name). Of two that replace
the same one, the first wins in every process; the other is stale, is ignored everywhere, and is told to its author.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

import msgspec

from eunoe.crypto.signatures import Ed25519Verifier
from eunoe.runtime.agreement import missing_for_policy
from eunoe.runtime.kek_rotation import check_step
from eunoe.runtime.setting_values import ControlSigner
from eunoe.schemas.control import (
    GENERATION_PREFIX,
    KEK,
    POLICY,
    SWITCH_PREFIX,
    ControlRecord,
    GenerationChange,
    KekRotation,
    RotationStage,
    Switch,
    signed_control_bytes,
)
from eunoe.schemas.ids import LogId, Offset, TenantId, is_name
from eunoe.schemas.policy import Policy
from eunoe.schemas.policy_file import PolicyError, read_policy
from eunoe.schemas.values import Writing

NOTHING: Final = Offset(-1)
EVERY_TENANT: Final = "*"


@dataclass(frozen=True, slots=True)
class Adopted:
    """The record in force under one name."""

    offset: Offset
    record: ControlRecord


@dataclass(frozen=True, slots=True)
class Ignored:
    """A record that changes nothing, and why."""

    offset: Offset
    name: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlState:
    """A snapshot; it never changes. ``offset`` is the last record read, whether it counted or not."""

    policy: Policy | None = None
    switches: Mapping[str, Switch] = field(default_factory=lambda: MappingProxyType({}))
    generations: Mapping[str, GenerationChange] = field(default_factory=lambda: MappingProxyType({}))
    """By read model, the last change of what readers are answered from. What serves, Redis says."""
    rotation: KekRotation | None = None
    """The last step of the last rotation of the key-encryption key."""
    destroyed: frozenset[str] = frozenset()
    """The key-encryption keys of all rotations that ended. None of them comes back."""
    adopted: Mapping[str, Adopted] = field(default_factory=lambda: MappingProxyType({}))
    offset: Offset = NOTHING

    def in_force(self, name: str) -> Offset:
        """The offset of the record in force under ``name``: what the next one must say that it replaces."""
        found = self.adopted.get(name)
        return NOTHING if found is None else found.offset

    def reads_allowed(self, tenant: TenantId, purpose: str | None = None) -> bool:
        return all(each.reads for each in self._switches(tenant, () if purpose is None else (purpose,)))

    def writing(self, tenant: TenantId, purposes: Sequence[str] = ()) -> Writing:
        """What may be written for these purposes: the strictest of the switches that speak of them."""
        found = self._switches(tenant, purposes)
        if not all(each.writes for each in found):
            return Writing.OFF
        return Writing.OBSERVE if any(each.observe for each in found) else Writing.ON

    def _switches(self, tenant: TenantId, purposes: Sequence[str]) -> list[Switch]:
        if not self.switches:
            return []
        names = [of for each in (EVERY_TENANT, tenant) for of in (each, *(f"{each}/{purpose}" for purpose in purposes))]
        return [self.switches[name] for name in names if name in self.switches]


def signers_of(signers: tuple[ControlSigner, ...]) -> Mapping[str, Ed25519Verifier]:
    """What checks a control record, by the signer it names."""
    return {each.signer: Ed25519Verifier(each.public_key, each.signer) for each in signers}


def after(
    state: ControlState,
    offset: Offset,
    record: ControlRecord,
    log_id: LogId,
    signers: Mapping[str, Ed25519Verifier],
) -> ControlState | Ignored:
    """The state once the record at ``offset`` is read, or why it changes nothing."""
    signer = signers.get(record.signer)
    if signer is None or not signer.verify(signed_control_bytes(record, log_id), record.signature):
        return Ignored(offset, record.name, "not signed by one of control_signers")
    current = state.in_force(record.name)
    if record.replaces != current:
        return Ignored(offset, record.name, f"stale: made against offset {record.replaces}, but {current} is in force")
    adopted = MappingProxyType({**state.adopted, record.name: Adopted(offset, record)})
    try:
        return _adopt(replace(state, adopted=adopted, offset=offset), record, log_id)
    except (PolicyError, ValueError) as error:
        return Ignored(offset, record.name, str(error))


def _adopt(state: ControlState, record: ControlRecord, log_id: LogId) -> ControlState:
    if record.name == POLICY:
        policy = read_policy(record.body, "the policy on memory-control")
        if missing := missing_for_policy(record.approvals, record.body, record.replaces, state.policy, policy, log_id):
            raise ValueError(missing)
        return replace(state, policy=policy)
    if record.name == KEK:
        step = msgspec.json.decode(record.body, type=KekRotation)
        check_step(state.rotation, step, state.policy, log_id, state.destroyed)
        over = {step.retires} if step.stage is RotationStage.DESTROYED else set[str]()
        return replace(state, rotation=step, destroyed=state.destroyed | over)
    model = record.name.removeprefix(GENERATION_PREFIX)
    if model != record.name and is_name(model):
        change = msgspec.json.decode(record.body, type=GenerationChange)
        return replace(state, generations=MappingProxyType({**state.generations, model: change}))
    of = record.name.removeprefix(SWITCH_PREFIX)
    tenant, slash, purpose = of.partition("/")
    known = (tenant == EVERY_TENANT or is_name(tenant)) and (is_name(purpose) if slash else True)
    if of == record.name or not known:
        raise ValueError("no such kind of control record")
    switch = msgspec.json.decode(record.body, type=Switch)
    return replace(state, switches=MappingProxyType({**state.switches, of: switch}))


def switch_body(switch: Switch) -> bytes:
    """A switch as the body of its record."""
    return msgspec.json.encode(switch)
