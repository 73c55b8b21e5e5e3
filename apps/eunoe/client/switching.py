"""Turning memory off and on: reads and writes apart, for a tenant, a purpose, or everything (B67, B69).

A switch is a record of ``memory-control``, signed with the installation's control key; its body names the principal
that asked for it, which must have the right ``operate`` there, and its reason says why. It is in force in every process
as soon as each has read it: `eunoe.runtime.control` follows within two seconds, whatever the backlog of commands is.
"""

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace
from redis.exceptions import RedisError

from eunoe.client.gate import NOT_ALLOWED, UNKNOWN_PURPOSE, ControlGate
from eunoe.crypto.errors import CryptoError, KeyClosed
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import ControlFollower, following_control, publish_control
from eunoe.runtime.control_state import EVERY_TENANT, ControlState, switch_body
from eunoe.runtime.errors import CallerFault, WorldFault
from eunoe.runtime.installation import read_installation
from eunoe.runtime.principals import control_signer, secrets_of
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.control import SWITCH_PREFIX, Switch
from eunoe.schemas.ids import Millis, Offset, PrincipalName, SecretId, TenantId
from eunoe.schemas.values import Action, Writing

NO_REASON: Final = "no_reason"


@dataclass(eq=False)
class SwitchRefused(CallerFault):
    """The principal may not set this switch. ``reason`` is a code."""

    of: str
    reason: str

    def __str__(self) -> str:
        return f"setting the switch of {self.of} is refused: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSubject:
    """What a switch speaks of. ``tenant`` None: every tenant; ``purpose`` None: every purpose."""

    tenant: TenantId | None = None
    purpose: str | None = None

    @property
    def of(self) -> str:
        """Its name without the prefix: ``acme``, ``*``, ``acme/support``."""
        tenant = EVERY_TENANT if self.tenant is None else self.tenant
        return tenant if self.purpose is None else f"{tenant}/{self.purpose}"

    @staticmethod
    def parse(of: str) -> "SwitchSubject":
        tenant, _, purpose = of.partition("/")
        return SwitchSubject(tenant=None if tenant == EVERY_TENANT else TenantId(tenant), purpose=purpose or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchInForce:
    """``by`` asked, ``signer`` is the control key that signed; ``offset`` is the record's on ``memory-control``."""

    subject: SwitchSubject
    switch: Switch
    by: PrincipalName | None
    signer: SecretId
    reason: str | None
    made_at: Millis
    offset: Offset

    @property
    def writes(self) -> Writing:
        if not self.switch.writes:
            return Writing.OFF
        return Writing.OBSERVE if self.switch.observe else Writing.ON


def switches_in_force(state: ControlState) -> tuple[SwitchInForce, ...]:
    """Every switch that was ever set, as it is now, in the order of their names."""
    return tuple(_in_force(state, of) for of in sorted(state.switches))


async def read_switches(settings: Settings) -> tuple[SwitchInForce, ...]:
    """What is in force now. Raises what reading ``memory-control`` raises."""
    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        return switches_in_force(follower.state)


async def set_switch(
    settings: Settings, subject: SwitchSubject, *, reads: bool | None, writes: Writing | None, reason: str
) -> SwitchInForce:
    """Put it in force; what is None stays as it is. Returns once ``memory-control`` has it and it was adopted.

    Raises `SwitchRefused` before anything is written; `SettingsError`, ``SecretUnusable``, and as `publish_control`.
    """
    if settings.control_key is None:
        raise SettingsError((SettingProblem("EUNOE_CONTROL_KEY", "must name the key that signs control records"),))
    if settings.principal is None:
        raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who calls (--as NAME)"),))
    if not reason.strip():
        raise SwitchRefused(subject.of, NO_REASON)
    signer = control_signer(settings.control_key)
    installation = await read_installation(settings.brokers, settings.topics)
    async with following_control(settings.brokers, installation, settings.control_signers) as follower:
        may_operate(follower, settings, settings.principal, subject)
        before = follower.state.switches.get(subject.of, Switch())
        switch = replace(
            before,
            reads=before.reads if reads is None else reads,
            writes=before.writes if writes is None else writes is not Writing.OFF,
            observe=before.observe if writes is None else writes is Writing.OBSERVE,
            by=settings.principal,
        )
        state = await publish_control(
            settings.brokers,
            follower,
            installation,
            signer=signer,
            clock=SystemClock(),
            name=f"{SWITCH_PREFIX}{subject.of}",
            body=switch_body(switch),
            reason=reason,
        )
        return _in_force(state, subject.of)


async def tenant_known(settings: Settings, tenant: TenantId) -> bool | None:
    """Whether any command of the tenant was ever let in; None where Redis does not say. A misspelt one is not."""
    installation = await read_installation(settings.brokers, settings.topics)
    try:
        redis = await connect(settings.redis)
        try:
            return await RedisKeySource(redis, installation).tenant(tenant) is not None
        finally:
            await redis.aclose()
    except KeyClosed:
        return True
    except (WorldFault, CryptoError, RedisError):
        return None


def may_operate(
    follower: ControlFollower,
    settings: Settings,
    principal: PrincipalName,
    subject: SwitchSubject = SwitchSubject(),  # a frozen value
) -> None:
    """The caller is who it says and has the right, for all tenants where it is about all. Raises `SwitchRefused`."""
    state = follower.state
    tenant = TenantId(EVERY_TENANT) if subject.tenant is None else subject.tenant
    try:
        rule = ControlGate(follower, principal, secrets_of(settings, principal)).belongs(tenant, state)
    except ReadRefused as refused:
        raise SwitchRefused(subject.of, refused.reason) from None
    if not rule.may(Action.OPERATE, tenant):
        raise SwitchRefused(subject.of, NOT_ALLOWED)
    # A misspelt purpose would be a switch that nobody ever meets, in the hour when somebody counts on it.
    if subject.purpose is not None and (state.policy is None or state.policy.purpose(subject.purpose) is None):
        raise SwitchRefused(subject.of, UNKNOWN_PURPOSE)


def _in_force(state: ControlState, of: str) -> SwitchInForce:
    adopted, switch = state.adopted[f"{SWITCH_PREFIX}{of}"], state.switches[of]
    return SwitchInForce(
        subject=SwitchSubject.parse(of),
        switch=switch,
        by=switch.by,
        signer=adopted.record.signer,
        reason=adopted.record.reason,
        made_at=adopted.record.made_at,
        offset=adopted.offset,
    )
