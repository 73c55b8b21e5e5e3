"""Who may review, and which texts a reviewer is shown: the policy and the switches as they are now."""

from dataclasses import dataclass
from typing import Final

from eunoe.client.gate import NOT_ALLOWED, READS_OFF, UNKNOWN_PURPOSE, ControlGate
from eunoe.client.review_shown import Withheld
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.readmodels.tenants import TenantStanding
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.policy import PrincipalRule
from eunoe.schemas.values import Action, Sensitivity

_LEVELS: Final = tuple(Sensitivity)


@dataclass(frozen=True, slots=True)
class ReviewGate:
    """What a reviewer may see: as `ControlGate`, by the right to review instead of that to read."""

    control: ControlGate
    principal: PrincipalName

    def check(self, tenant: TenantId) -> PrincipalRule:
        """The caller's rule, if it may review this tenant. Raises `ReadRefused`."""
        rule = self.control.belongs(tenant)
        if not rule.may(Action.REVIEW, tenant):
            raise ReadRefused(NOT_ALLOWED, tenant)
        return rule

    def admit(self, scope: ReadScope) -> Admission:
        """For what stands beside an item. Raises `ReadRefused`."""
        rule, state = self.check(scope.tenant), self.control.state
        purpose = None if state.policy is None else state.policy.purpose(scope.purpose)
        if state.policy is None or purpose is None:
            raise ReadRefused(UNKNOWN_PURPOSE, scope.tenant)
        if not state.reads_allowed(scope.tenant, scope.purpose):
            raise ReadRefused(READS_OFF, scope.tenant)
        return Admission(
            max_sensitivity=min(rule.max_sensitivity, purpose.max_sensitivity, key=_LEVELS.index),
            control_offset=state.offset,
        )

    def enter(self, tenant: TenantId, standing: TenantStanding) -> None:
        """As `ControlGate.enter`."""
        self.control.enter(tenant, standing)

    def withholds(self, tenant: TenantId, purposes: tuple[str, ...], sensitivity: Sensitivity) -> Withheld | None:
        """Why a text that serves these purposes is not shown; None where it may be seen for one of them."""
        rule, state = self.check(tenant), self.control.state
        if not any(state.reads_allowed(tenant, each) for each in purposes):
            return Withheld.READS_OFF
        if any(self.control.allows(tenant, rule, each, sensitivity) for each in purposes):
            return None
        return Withheld.SENSITIVITY
