"""Who may read: the policy and the switches as they are now, asked before every read (`ReadGate`)."""

from typing import Final, Protocol

from eunoe.crypto.signatures import Ed25519Signer, Secret
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.readmodels.tenants import TenantsReader, TenantStanding
from eunoe.runtime.control_state import ControlState
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.policy import Policy, PrincipalRule, SecretRef
from eunoe.schemas.values import Action, Algorithm, Sensitivity

NO_POLICY: Final = "no_policy"
READS_OFF: Final = "reads_off"
NOT_ALLOWED: Final = "not_allowed"
FOREIGN_TENANT: Final = "foreign_tenant"
TENANT_FORGOTTEN: Final = "tenant_forgotten"
TENANT_RESTRICTED: Final = "tenant_restricted"
NOT_AUTHENTICATED: Final = "not_authenticated"
UNKNOWN_PURPOSE: Final = "unknown_purpose"
FORBIDDEN_PURPOSE: Final = "forbidden_purpose"
FOREIGN_AGENT: Final = "foreign_agent"
_LEVELS: Final = tuple(Sensitivity)


class InForce(Protocol):
    """The follower of ``memory-control``."""

    @property
    def state(self) -> ControlState: ...


class ControlGate:
    """Lets ``principal`` read as the policy says, if one of ``secrets`` is one of those that the policy names.

    Inside the trust domain this keeps honest programs apart, and stops a retired secret; what opens a record is the
    KEK that its machine holds. Agents outside go through the gateway.
    """

    def __init__(self, follower: InForce, principal: PrincipalName, secrets: tuple[Secret, ...]) -> None:
        self._follower = follower
        self._principal = principal
        self._secrets = secrets

    def admit(self, scope: ReadScope) -> Admission:
        """Raises `ReadRefused`."""
        state = self._follower.state
        rule = self.check(scope.tenant, state, scope.purpose)
        if scope.principal != self._principal:
            raise ReadRefused(NOT_AUTHENTICATED, scope.tenant)
        if not rule.speaks_for(scope.agent):
            raise ReadRefused(FOREIGN_AGENT, scope.tenant)
        if not rule.serves(scope.purpose):
            raise ReadRefused(FORBIDDEN_PURPOSE, scope.tenant)
        assert state.policy is not None
        purpose = state.policy.purpose(scope.purpose)
        if purpose is None:
            raise ReadRefused(UNKNOWN_PURPOSE, scope.tenant)
        allowed = min(rule.max_sensitivity, purpose.max_sensitivity, key=_LEVELS.index)
        return Admission(
            max_sensitivity=allowed,
            control_offset=state.offset,
            policy_version=state.policy.version,
            policy_hash=state.policy.hash,
        )

    def check(self, tenant: TenantId, state: ControlState | None = None, purpose: str | None = None) -> PrincipalRule:
        """The caller's rule, if it may read this tenant now. Raises `ReadRefused`."""
        state = state or self._follower.state
        rule = self.belongs(tenant, state)
        if not rule.may(Action.READ, tenant):
            raise ReadRefused(NOT_ALLOWED, tenant)
        self.check_switch(tenant, purpose, state)
        return rule

    def check_switch(self, tenant: TenantId, purpose: str | None = None, state: ControlState | None = None) -> None:
        """Whether reads are on. Raises `ReadRefused`."""
        if not (state or self._follower.state).reads_allowed(tenant, purpose):
            raise ReadRefused(READS_OFF, tenant, self.fallback(purpose))

    def belongs(self, tenant: TenantId, state: ControlState | None = None) -> PrincipalRule:
        """The caller's rule, if it is who it says and has to do with this tenant at all: enough to ask what became of
        a command, for who may only write must be able to. Raises `ReadRefused`."""
        policy = (state or self._follower.state).policy
        if policy is None:
            raise ReadRefused(NO_POLICY, tenant)
        rule = self._authenticated(policy)
        if rule is None:
            raise ReadRefused(NOT_AUTHENTICATED, tenant)
        if not rule.concerns(tenant):
            raise ReadRefused(FOREIGN_TENANT, tenant)
        return rule

    def enter(self, tenant: TenantId, standing: TenantStanding) -> None:
        """`belongs` was asked, and this is how the tenant stands: it may be read, and is the one the policy means.

        Raises `ReadRefused`.
        """
        if standing.forgotten:
            raise ReadRefused(TENANT_FORGOTTEN, tenant)
        if standing.asked:
            raise ReadRefused(TENANT_RESTRICTED, tenant)
        if not self.belongs(tenant).enters(tenant, standing.incarnation):
            raise ReadRefused(FOREIGN_TENANT, tenant)

    def fallback(self, purpose: str | None) -> str | None:
        """What the policy says an agent does without memory for this purpose; None where it says nothing."""
        policy = self._follower.state.policy
        rule = None if policy is None or purpose is None else policy.purpose(purpose)
        return None if rule is None else rule.fallback

    def allows(self, tenant: TenantId, rule: PrincipalRule, purpose: str, sensitivity: Sensitivity) -> bool:
        """Whether ``rule`` may see what is so protected and serves this purpose, by the policy and switches now."""
        state = self._follower.state
        found = None if state.policy is None else state.policy.purpose(purpose)
        if found is None or not rule.serves(purpose) or not state.reads_allowed(tenant, purpose):
            return False
        allowed = min(rule.max_sensitivity, found.max_sensitivity, key=_LEVELS.index)
        return _LEVELS.index(sensitivity) <= _LEVELS.index(allowed)

    @property
    def state(self) -> ControlState:
        """What is in force now."""
        return self._follower.state

    def _authenticated(self, policy: Policy) -> PrincipalRule | None:
        rule = policy.principals.get(self._principal)
        if rule is None or not any(_is(secret, ref) for secret in self._secrets for ref in rule.secrets):
            return None
        return rule


async def entered(gate: ControlGate, tenants: TenantsReader, tenant: TenantId) -> TenantStanding:
    """How the tenant stands now, if ``gate`` lets the caller in. Raises `ReadRefused`, `StoreUnavailable`."""
    standing = await tenants.standing(tenant)
    gate.enter(tenant, standing)
    return standing


def _is(secret: Secret, ref: SecretRef) -> bool:
    """Whether the policy's reference is to this secret; of a shared one, only the id can be compared here."""
    if secret.secret_id != ref.secret_id or secret.algorithm.value != ref.algorithm.value:
        return False
    if ref.algorithm is Algorithm.ED25519 and isinstance(secret, Ed25519Signer):
        return secret.verifier().reference.rpartition(":")[2] == ref.reference
    return True
