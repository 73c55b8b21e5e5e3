"""What a simulation says: each decision as it was and as it would be, counted, and those that differ."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from eunoe.schemas.commands import (
    Command,
    CompleteForgetting,
    CompleteTenantForgetting,
    CorrectMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RememberMemory,
    WithdrawForgetting,
)
from eunoe.schemas.events import (
    CandidateObserved,
    CommandDuplicate,
    CommandRejected,
    Fact,
    MemoryAccepted,
    MemoryPromoted,
    MemoryQuarantined,
)
from eunoe.schemas.ids import CommandId, MemoryId, Millis, TenantId

DEAD_LETTER: Final = "dead_letter"
REPEATED: Final = "repeated"
"""The command's id had its outcome already."""
NO_OUTCOME: Final = "no_outcome"
"""A dead letter, or a repetition: the log holds no fact for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What matters of a decision. ``outcome`` as callers see it; an observed candidate's says what it would be."""

    outcome: str
    reasons: tuple[str, ...] = ()
    field: str | None = None
    trust: str | None = None
    confirmation: str | None = None
    supersedes: MemoryId | None = None
    conflicts: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One command that would have been decided otherwise. ``at``: its append time, ms."""

    tenant: TenantId
    memory_id: MemoryId | None
    command: str
    command_id: CommandId
    at: Millis
    then: Decision
    now: Decision


@dataclass(slots=True, kw_only=True)
class Simulation:
    """``forgotten`` and ``unreadable`` were not judged: what they say was erased since, or its keys are gone.

    ``missing``: secrets of the policy that cannot be read here, so that whatever they sign counts as a dead letter.
    ``reasons``: by outcome and code; a decision may have several.
    """

    judged: int = 0
    forgotten: int = 0
    unreadable: int = 0
    then: Counter[str] = field(default_factory=Counter)
    now: Counter[str] = field(default_factory=Counter)
    reasons_then: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons_now: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: list[Change] = field(default_factory=list)
    missing: tuple[str, ...] = ()

    def count(self, then: Decision, now: Decision) -> None:
        self.judged += 1
        self.then[then.outcome] += 1
        self.now[now.outcome] += 1
        self.reasons_then.update((then.outcome, each) for each in then.reasons)
        self.reasons_now.update((now.outcome, each) for each in now.reasons)


def decision_of(fact: Fact) -> Decision:
    """What ``fact`` says, as far as a policy decides it."""
    match fact:
        case MemoryAccepted(trust=trust, confirmation=confirmation, supersedes=old, conflicts_with=refs):
            return Decision(
                outcome="accepted",
                trust=trust,
                confirmation=confirmation,
                supersedes=None if old is None else old.memory_id,
                conflicts=tuple(each.memory_id for each in refs),
            )
        case MemoryQuarantined(trust=trust, confirmation=confirmation, reasons=reasons, conflicts_with=ids):
            codes = tuple(each.value for each in reasons)
            return Decision(outcome="quarantined", reasons=codes, trust=trust, confirmation=confirmation, conflicts=ids)
        case CommandRejected(reason=reason, field=named):
            return Decision(outcome="rejected", reasons=(reason.value,), field=named)
        case CandidateObserved(verdict=verdict, reasons=reasons):
            return Decision(outcome=f"observed_{verdict}", reasons=tuple(each.value for each in reasons))
        case CommandDuplicate():
            return Decision(outcome="duplicate")
        case MemoryPromoted(supersedes=old, conflicts_with=refs):
            return Decision(
                outcome="done",
                supersedes=None if old is None else old.memory_id,
                conflicts=tuple(each.memory_id for each in refs),
            )
        case _:
            return Decision(outcome="done")


def memory_of(command: Command) -> MemoryId | None:
    """The record the command is about, or would make."""
    match command:
        case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
            return draft.memory_id
        case IssueKey() | ForgetSubject() | ReadmitSubject() | WithdrawForgetting() | CompleteForgetting():
            return None
        case HoldSubject() | LiftHold() | RecordExport():
            return None
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            return None
        case _:
            return command.memory_id
