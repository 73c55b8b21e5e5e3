"""Commands about a whole tenant: forget it, and let its name stand for a new one. Each by two people.

A tenant has incarnations as a person has generations, with one difference: nothing of an earlier one is left in the
ledger, for its tenant key, under which people and requests are named, is destroyed. So a later one starts empty, and
whatever was sealed, hashed or asked for under an earlier one is refused as ``tenant_forgotten``.

A legal hold on anybody in it defers all of it: then it is only requested, nobody reads or adds to the tenant, and it
runs when the last hold is lifted.
"""

from eunoe.domain.entries import TenantState
from eunoe.domain.identity import entitled, gate, within_limit
from eunoe.domain.known import Case, Refusal
from eunoe.schemas.commands import CompleteTenantForgetting, ForgetTenant, ReadmitTenant
from eunoe.schemas.events import (
    Fact,
    Reason,
    TenantActionProposed,
    TenantForgettingRequested,
    TenantForgotten,
    TenantReadmitted,
)
from eunoe.schemas.values import Action, Writing

FORGET_TENANT = "forget_tenant"
READMIT_TENANT = "readmit_tenant"


def forget_tenant(case: Case, command: ForgetTenant) -> Fact | Refusal:
    """A repetition finds the tenant forgotten and is refused as that: only the fact that ended it is a yes."""
    objection = entitled(case, Action.ERASE, command.tenant)
    if objection is not None:
        return objection
    state = _named(case, command.incarnation)
    if isinstance(state, Refusal):
        return state
    if state.closed:
        return Refusal(reason=Reason.TENANT_FORGOTTEN, field="tenant")
    if state.request is not None:
        return Refusal(reason=Reason.WRONG_STATE, field="tenant")
    objection = within_limit(case)
    if objection is not None:
        return objection
    first = _second(case, state, FORGET_TENANT)
    if first is not None:
        return first
    if state.holds:
        return TenantForgettingRequested(incarnation=state.incarnation, holds=state.holds)
    return TenantForgotten(incarnation=state.incarnation, key_id=state.key_id)


def complete_tenant_forgetting(case: Case, command: CompleteTenantForgetting) -> Fact | Refusal:
    """The sweeper's proposal: a request that still stands, and that no hold defers any more."""
    objection = gate(case, Action.EXPIRE, command.tenant)
    if objection is not None:
        return objection
    state = case.known.tenant
    if state is None or state.request is None:
        return Refusal(reason=Reason.WRONG_STATE, field="tenant")
    if state.holds:
        return Refusal(reason=Reason.NOT_DUE, field="tenant")
    return TenantForgotten(incarnation=state.incarnation, key_id=state.key_id)


def readmit_tenant(case: Case, command: ReadmitTenant) -> Fact | Refusal:
    """The name stands for a new tenant that starts empty. Nothing old comes back."""
    objection = entitled(case, Action.READMIT, command.tenant)
    if objection is None and case.writing is Writing.OFF:
        objection = Refusal(reason=Reason.WRITES_OFF)
    if objection is not None:
        return objection
    state = _named(case, command.incarnation)
    if isinstance(state, Refusal):
        return state
    if not state.closed:
        return Refusal(reason=Reason.WRONG_STATE, field="tenant")
    return _second(case, state, READMIT_TENANT) or TenantReadmitted(incarnation=state.incarnation + 1)


def _named(case: Case, incarnation: int) -> TenantState | Refusal:
    """A second word that comes late must not end a tenant that began meanwhile."""
    state = case.known.tenant
    if state is None:
        return Refusal(reason=Reason.NOT_FOUND, field="tenant")
    if incarnation == state.incarnation:
        return state
    earlier = incarnation < state.incarnation
    return Refusal(
        reason=Reason.TENANT_FORGOTTEN if earlier else Reason.INVALID_FIELD,
        field="tenant" if earlier else "incarnation",
    )


def _second(case: Case, state: TenantState, action: str) -> TenantActionProposed | Refusal | None:
    """None where one is enough, or where this is the second of two people of different owners."""
    rules = case.policy.erasure
    if not rules.two_people:
        return None
    owner, found = case.policy.principals[case.opened.principal].owner, state.proposal
    if found is None or found.action != action or case.now - found.at > rules.proposal:
        return TenantActionProposed(incarnation=state.incarnation, action=action, owner=owner)
    if owner == found.owner or case.opened.principal == found.principal:
        return Refusal(reason=Reason.SAME_OWNER, field=action)
    return None
