"""The ledger's entry of a tenant, as facts change it; and what of the ledger goes when a tenant is forgotten."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, assert_never

from msgspec.structs import replace

from eunoe.domain.entries import Entry, LedgerKey, Proposal, Request, TenantState, goes_with, tenant_key
from eunoe.domain.ledger_records import Entries, find
from eunoe.domain.memory import ImpossibleFact
from eunoe.schemas.events import (
    Event,
    EventHeader,
    KeyIssued,
    TenantActionProposed,
    TenantForgettingRequested,
    TenantForgotten,
    TenantReadmitted,
)
from eunoe.schemas.ids import TenantId

T = TypeVar("T")
TenantFact = TenantForgotten | TenantReadmitted | TenantForgettingRequested | TenantActionProposed


def forgets(event: Event) -> TenantId | None:
    """The tenant of which nothing may stay in the ledger but what `changed` makes of it."""
    return event.header.tenant if isinstance(event.fact, TenantForgotten) else None


def cut_after(items: Sequence[T], ends: Callable[[T], bool]) -> list[Sequence[T]]:
    """``items`` in pieces, each but the last with one that ``ends`` at its end; the last may be empty.

    What comes after a tenant's end is looked up only once nothing of it is left to be found.
    """
    found, start = [], 0
    for at, each in enumerate(items):
        if ends(each):
            found.append(items[start : at + 1])
            start = at + 1
    return [*found, items[start:]]


def take(entries: dict[LedgerKey, Entry | None], event: Event, made: Mapping[LedgerKey, Entry]) -> None:
    """Put what the event ``made`` of ``entries`` into them."""
    tenant = forgets(event)
    if tenant is not None:
        entries.update(dict.fromkeys(each for each in entries if goes_with(each, tenant)))
    entries.update(made)


def changed(entries: Entries, header: EventHeader, fact: TenantFact) -> dict[LedgerKey, Entry]:
    """The tenant's entry after the fact. Raises `ImpossibleFact`."""
    key = tenant_key(header.tenant)
    state = find(entries, key, TenantState)
    reopens = isinstance(fact, TenantReadmitted)
    if state is None or fact.incarnation != state.incarnation + reopens:
        raise ImpossibleFact(type(fact).__name__, key, f"incarnation {fact.incarnation} does not follow")
    if state.closed is not reopens and not isinstance(fact, TenantActionProposed):
        raise ImpossibleFact(type(fact).__name__, key, "closed already" if state.closed else "not closed")
    match fact:
        case TenantForgotten():
            return {key: TenantState(incarnation=state.incarnation, key_id=None, closed=True)}
        case TenantReadmitted():
            return {key: TenantState(incarnation=fact.incarnation, key_id=None)}
        case TenantForgettingRequested():
            request = Request(principal=header.principal, due_at=header.decided_at, authorized=True)
            return {key: replace(state, request=request, proposal=None)}
        case TenantActionProposed(action=action, owner=owner):
            proposal = Proposal(action=action, principal=header.principal, owner=owner, at=header.decided_at)
            return {key: replace(state, proposal=proposal)}
        case unreachable:
            assert_never(unreachable)


def opened(entries: Entries, tenant: TenantId, fact: KeyIssued) -> dict[LedgerKey, Entry]:
    """The tenant has its key. Raises `ImpossibleFact`."""
    key = tenant_key(tenant)
    state = find(entries, key, TenantState)
    if state is not None and (state.closed or fact.incarnation != state.incarnation):
        raise ImpossibleFact("KeyIssued", key, f"incarnation {fact.incarnation} is not open")
    if state is None:
        return {key: TenantState(incarnation=fact.incarnation, key_id=fact.key_id)}
    return {key: replace(state, key_id=fact.key_id)}


def held(entries: Entries, tenant: TenantId, more: int) -> dict[LedgerKey, Entry]:
    """So many more people of the tenant are under a legal hold."""
    key = tenant_key(tenant)
    state = find(entries, key, TenantState)
    return {} if state is None or not more else {key: replace(state, holds=state.holds + more)}
