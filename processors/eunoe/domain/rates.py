"""How much may be written in a minute: by one principal in a tenant, and in the tenant by all together.

A fixed window of log time, so that replaying decides the same and a backlog is judged by when it was written, not by
when it is read. What was refused for this does not count, so that a flood ends with the minute. Only what adds to
memory is limited: nothing holds up taking back, reviewing or forgetting, or a key for a day's traces. Moving a tenant
here is not held up either, though what it restores counts.
"""

from eunoe.domain.entries import RateState
from eunoe.domain.known import Case, Refusal
from eunoe.schemas.commands import Command, CorrectMemory, IssueKey, RememberMemory, RestoreMemory
from eunoe.schemas.events import (
    CandidateObserved,
    CommandRejected,
    EventHeader,
    Fact,
    KeyIssued,
    MemoryAccepted,
    MemoryQuarantined,
    Reason,
)
from eunoe.schemas.policy import RATE_WINDOW_MS

_LIMITED = (RememberMemory, CorrectMemory, IssueKey)
_NAMES = frozenset(each.__name__ for each in _LIMITED)


def measured(command: Command) -> bool:
    """Whether deciding it needs to know how much was written, be it only to count on."""
    return isinstance(command, (*_LIMITED, RestoreMemory))


def counts(fact: Fact) -> bool:
    """Whether it answers something that is limited. What was asked before and is answered again writes nothing."""
    match fact:
        case MemoryAccepted() | MemoryQuarantined() | CandidateObserved() | KeyIssued():
            return True
        case CommandRejected(command=command, reason=reason):
            return command in _NAMES and reason is not Reason.RATE_LIMITED
        case _:
            return False


def spent(state: RateState | None, header: EventHeader) -> RateState:
    """``state`` after one more."""
    window = header.decided_at // RATE_WINDOW_MS
    used = dict(state.used) if state is not None and state.window == window else {}
    used[header.principal] = used.get(header.principal, 0) + 1
    return RateState(window=window, used=tuple(sorted(used.items())))


def within_rate(case: Case) -> Refusal | None:
    """The principal may write something more in this tenant in this minute. ``field`` says whose limit is reached."""
    rules, state = case.policy.rates, case.known.rate
    if state is None or state.window != case.now // RATE_WINDOW_MS:
        return None
    used = dict(state.used)
    if rules.per_minute is not None and used.get(case.opened.principal, 0) >= rules.per_minute:
        return Refusal(reason=Reason.RATE_LIMITED, field="principal")
    if rules.tenant_per_minute is not None and sum(used.values()) >= rules.tenant_per_minute:
        return Refusal(reason=Reason.RATE_LIMITED, field="tenant")
    return None
