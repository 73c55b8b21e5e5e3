"""Who may try a policy on the log: what it would have decided names the memories of everybody in it, and why."""

from eunoe.client.gate import NOT_ALLOWED, ControlGate, InForce, entered
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.tenants import TenantsReader
from eunoe.runtime.control_state import EVERY_TENANT
from eunoe.runtime.principals import secrets_of
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.ids import TenantId
from eunoe.schemas.values import Action


async def may_simulate(control: InForce, settings: Settings, tenants: TenantsReader, tenant: TenantId | None) -> None:
    """The caller may operate on every tenant, or, of one ``tenant``, operate on it or review it, as with its decisions.

    Raises `SettingsError` where nobody calls, `ReadRefused`, `StoreUnavailable`.
    """
    if settings.principal is None:
        raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who calls (--as NAME)"),))
    of = TenantId(EVERY_TENANT) if tenant is None else tenant
    gate = ControlGate(control, settings.principal, secrets_of(settings, settings.principal))
    rule = gate.belongs(of)
    if Action.OPERATE in rule.actions and rule.tenants is None:
        return
    if tenant is None or not (rule.may(Action.OPERATE, tenant) or rule.may(Action.REVIEW, tenant)):
        raise ReadRefused(NOT_ALLOWED, of)
    await entered(gate, tenants, tenant)
