"""`decide`: one command, what is known, the time and the policy in; exactly one fact out. No I/O, clock or chance.

Every command is judged in the same order: who asks, the switches, whether it was asked before, then the rules of the
command: keys and closed subjects, fields, expiry, version, scope. (Remember and correct look at closed subjects before
asking whether it was asked before, for what would tell dies with the subject.) A refusal is a fact like any other.
"""

from typing import assert_never

from eunoe.domain import (
    decide_approvals,
    decide_erasure,
    decide_exports,
    decide_imports,
    decide_records,
    decide_subjects,
    decide_tenants,
    decide_writes,
)
from eunoe.domain.known import Case, Known, Opened, Refusal
from eunoe.schemas.commands import (
    Command,
    CompleteForgetting,
    CompleteTenantForgetting,
    ConfirmMemory,
    CorrectMemory,
    ExpireMemory,
    ForgetMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    PromoteMemory,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RejectMemory,
    RememberMemory,
    ResolveConflict,
    RestoreMemory,
    RetractMemory,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.events import CommandRejected, Fact
from eunoe.schemas.ids import MemoryId, Millis, is_uuid
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Writing

__all__ = ["Known", "Opened", "decide"]


def decide(
    opened: Opened, known: Known, now: Millis, policy: Policy, writing: Writing, *, reading: bool
) -> tuple[Fact, ...]:
    """The outcome of the command: one fact, or none where this command id has its outcome already.

    ``now`` is log time: max(the command's append time, the partition's last decided time). ``writing``
    and ``reading`` are what the switches allow (see `Case`).
    """
    if known.seen:
        return ()
    case = Case(opened=opened, known=known, now=now, policy=policy, writing=writing, reading=reading)
    answer = _judge(case)
    return (_rejected(opened.command, answer) if isinstance(answer, Refusal) else answer,)


def _judge(case: Case) -> Fact | Refusal:  # noqa: PLR0911, PLR0912 - one line per command
    match case.opened.command:
        case RememberMemory() as command:
            return decide_writes.remember(case, command)
        case IssueKey() as command:
            return decide_subjects.issue_key(case, command)
        case CorrectMemory() as command:
            return decide_writes.correct(case, command)
        case PromoteMemory() as command:
            return decide_approvals.promote(case, command)
        case RejectMemory() as command:
            return decide_records.reject(case, command)
        case ConfirmMemory() as command:
            return decide_records.confirm(case, command)
        case ResolveConflict() as command:
            return decide_records.resolve(case, command)
        case RetractMemory() as command:
            return decide_records.retract(case, command)
        case SuspendMemory() as command:
            return decide_records.suspend(case, command)
        case ExpireMemory() as command:
            return decide_records.expire(case, command)
        case ForgetMemory() as command:
            return decide_records.forget(case, command)
        case ForgetSubject() as command:
            return decide_erasure.forget_subject(case, command)
        case ReadmitSubject() as command:
            return decide_erasure.readmit_subject(case, command)
        case WithdrawForgetting() as command:
            return decide_erasure.withdraw(case, command)
        case CompleteForgetting() as command:
            return decide_erasure.complete_forgetting(case, command)
        case HoldSubject() as command:
            return decide_erasure.hold(case, command)
        case LiftHold() as command:
            return decide_erasure.lift(case, command)
        case RecordExport() as command:
            return decide_exports.record_export(case, command)
        case RestoreMemory() as command:
            return decide_imports.restore(case, command)
        case ForgetTenant() as command:
            return decide_tenants.forget_tenant(case, command)
        case CompleteTenantForgetting() as command:
            return decide_tenants.complete_tenant_forgetting(case, command)
        case ReadmitTenant() as command:
            return decide_tenants.readmit_tenant(case, command)
        case unreachable:
            assert_never(unreachable)


def _rejected(command: Command, refusal: Refusal) -> CommandRejected:
    return CommandRejected(
        command=type(command).__name__,
        reason=refusal.reason,
        memory_id=refusal.memory_id or _named(command),
        field=refusal.field,
        current_version=refusal.current_version,
        findings=refusal.findings,
    )


def _named(command: Command) -> MemoryId | None:
    """The record a command names. Text that is no id is not repeated: the event is kept for ever."""
    match command:
        case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
            memory_id = draft.memory_id
        case IssueKey() | ForgetSubject() | ReadmitSubject() | WithdrawForgetting() | CompleteForgetting():
            return None
        case HoldSubject() | LiftHold() | RecordExport():
            return None
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            return None
        case _:
            memory_id = command.memory_id
    return memory_id if is_uuid(memory_id) else None
