"""The record that a command names, and whether it may take the step that is asked of it."""

from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.schemas.events import Reason
from eunoe.schemas.values import Lifecycle


def erased(record: MemoryState | None, *, closed: bool) -> bool:
    """By itself, or with somebody it is about (``closed``). Whatever touches it is refused as ``erased``; a new record
    about somebody who is closed, as ``subject_closed``."""
    return record is not None and (closed or record.lifecycle is Lifecycle.FORGOTTEN)


def present(case: Case) -> MemoryState | Refusal:
    """The record the command names; one that is erased is gone for every command."""
    record = case.known.memory
    if record is None:
        return Refusal(reason=Reason.NOT_FOUND, field="memory_id")
    if erased(record, closed=case.known.memory_closed):
        return Refusal(reason=Reason.ERASED, current_version=record.version)
    return record


def steps(record: MemoryState, expected: int, step: Step) -> Refusal | None:
    """The record is at the version its caller saw (A20), and the table has the step."""
    if record.version != expected:
        return Refusal(reason=Reason.VERSION_CONFLICT, current_version=record.version)
    return wrong_state(record) if allowed(record, step) is None else None


def wrong_state(record: MemoryState) -> Refusal:
    gone = record.lifecycle is Lifecycle.WITHDRAWN
    reason = Reason.LINEAGE if gone else Reason.WRONG_STATE
    return Refusal(reason=reason, field="lifecycle", current_version=record.version)


def left_without(old: MemoryState) -> Refusal:
    """Some of its readers would have nothing in its place: it can be retracted, but does not give way."""
    return Refusal(reason=Reason.OTHER_SCOPE, memory_id=old.memory_id, current_version=old.version)


def unrestricted(case: Case) -> Refusal | None:
    """Nobody lets in, stands behind or answers for what nobody may look at."""
    return Refusal(reason=Reason.SUBJECT_RESTRICTED) if case.known.memory_restricted else None
