"""What a command asks of the ledger, and the answers put into `Known`.

`wanted` is asked again with what was loaded until it wants nothing more: the first answer is what the command itself
names, a later one what a loaded entry names in turn (the subjects of a record, the record it would replace). Two rounds
do for every command but one: promoting a correction of a record that is about several people takes three.
"""

from collections.abc import Mapping
from typing import TypeVar

from eunoe.domain.admission import generation_closed
from eunoe.domain.entries import (
    Entry,
    IdempotencyEntry,
    KeyState,
    LedgerKey,
    SubjectState,
    TenantState,
    bucket_key,
    command_key,
    idempotency_key,
    key_key,
    memory_key,
    subject_key,
    tenant_key,
)
from eunoe.domain.known import Known
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import (
    Command,
    CorrectMemory,
    ForgetSubject,
    IssueKey,
    ReadmitSubject,
    RememberMemory,
)
from eunoe.schemas.ids import CommandId, MemoryId, TenantId

Entries = Mapping[LedgerKey, Entry | None]
"""What was loaded; None: looked for and not there."""

_E = TypeVar("_E", bound=Entry)


def idempotency_of(command: Command) -> bytes | None:
    """The command's idempotency key, for the event's header; None for the kinds that have none."""
    return getattr(command, "idempotency", None)


def wanted(command_id: CommandId, command: Command, entries: Entries) -> tuple[LedgerKey, ...]:
    """The keys still missing from ``entries`` to judge the command; empty when it can be judged."""
    missing = [key for key in _named(command_id, command) if key not in entries]
    if not missing:
        missing = [key for key in _implied(command, entries) if key not in entries]
    return tuple(missing)


def follows_records(command: Command) -> bool:
    """Whether what `wanted` asks depends on loaded records, which a decision in between may have changed."""
    return not isinstance(command, RememberMemory | ForgetSubject | ReadmitSubject)


def _named(command_id: CommandId, command: Command) -> list[LedgerKey]:
    tenant = command.tenant
    keys = [command_key(tenant, command_id), tenant_key(tenant)]
    idempotency = idempotency_of(command)
    if idempotency is not None:
        keys.append(idempotency_key(tenant, idempotency))
    match command:
        case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
            keys += (
                memory_key(tenant, draft.memory_id),
                subject_key(tenant, draft.subject),
                key_key(tenant, draft.key_id),
            )
            keys += [subject_key(tenant, each) for each in draft.about]
            if isinstance(command, CorrectMemory):
                keys.append(memory_key(tenant, command.supersedes))
        case IssueKey(subject=subject, bucket=bucket):
            if subject is not None and bucket is not None:
                # Nearly every subject is in its first generation: asking at once saves the second round.
                keys += (subject_key(tenant, subject), bucket_key(tenant, subject, 1, bucket))
        case ForgetSubject(subject=subject) | ReadmitSubject(subject=subject):
            keys.append(subject_key(tenant, subject))
        case _:
            keys.append(memory_key(tenant, command.memory_id))
    return keys


def _implied(command: Command, entries: Entries) -> list[LedgerKey]:
    """What the loaded entries name in turn."""
    tenant = command.tenant
    match command:
        case RememberMemory() | ForgetSubject() | ReadmitSubject():
            return []
        case IssueKey():
            key = _bucket_asked_for(command, entries)
            return [] if key is None else [key]
        case CorrectMemory(supersedes=old):
            return _of_record(find(entries, memory_key(tenant, old), MemoryState))
        case _:
            record = find(entries, memory_key(tenant, command.memory_id), MemoryState)
            keys = _of_record(record)
            if record is not None and record.supersedes is not None:
                old_key = memory_key(tenant, record.supersedes)
                keys.append(old_key)
                if old_key in entries:
                    keys += _of_record(find(entries, old_key, MemoryState))
            return keys


def _bucket_asked_for(command: IssueKey, entries: Entries) -> LedgerKey | None:
    tenant, subject, bucket = command.tenant, command.subject, command.bucket
    if subject is None or bucket is None:
        return None
    state = find(entries, subject_key(tenant, subject), SubjectState)
    return bucket_key(tenant, subject, 1 if state is None else state.generation, bucket)


def _of_record(record: MemoryState | None) -> list[LedgerKey]:
    return [] if record is None else subjects_of(record)


def subjects_of(record: MemoryState) -> list[LedgerKey]:
    """The entries of everybody whose forgetting makes the record unreadable."""
    tenant = record.tenant
    return [subject_key(tenant, record.subject), *(subject_key(tenant, each.subject) for each in record.about)]


def find(entries: Entries, key: LedgerKey, kind: type[_E]) -> _E | None:
    """The loaded entry. ``KeyError`` where it was not loaded: nothing is judged on a ledger that was not read."""
    entry = entries[key]
    if entry is None or isinstance(entry, kind):
        return entry
    raise TypeError(f"{key} holds a {type(entry).__name__}")


def known(command_id: CommandId, command: Command, entries: Entries) -> Known:
    """What `decide` is told, once `wanted` is empty."""
    tenant = command.tenant
    seen = entries[command_key(tenant, command_id)] is not None
    opened = find(entries, tenant_key(tenant), TenantState)
    idempotency = idempotency_of(command)
    earlier = None if idempotency is None else find(entries, idempotency_key(tenant, idempotency), IdempotencyEntry)
    match command:
        case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
            old = _record(entries, tenant, command.supersedes) if isinstance(command, CorrectMemory) else None
            return Known(
                seen=seen,
                idempotency=earlier,
                tenant=opened,
                subject=find(entries, subject_key(tenant, draft.subject), SubjectState),
                about=tuple(find(entries, subject_key(tenant, each), SubjectState) for each in draft.about),
                memory=_record(entries, tenant, draft.memory_id),
                superseded=old,
                superseded_closed=old is not None and record_closed(old, entries),
                key=find(entries, key_key(tenant, draft.key_id), KeyState),
            )
        case IssueKey(subject=subject):
            bucket = _bucket_asked_for(command, entries)
            return Known(
                seen=seen,
                tenant=opened,
                subject=None
                if bucket is None or subject is None
                else find(entries, subject_key(tenant, subject), SubjectState),
                key=None if bucket is None else find(entries, bucket, KeyState),
            )
        case ForgetSubject(subject=subject) | ReadmitSubject(subject=subject):
            return Known(
                seen=seen,
                idempotency=earlier,
                tenant=opened,
                subject=find(entries, subject_key(tenant, subject), SubjectState),
            )
        case _:
            record = _record(entries, tenant, command.memory_id)
            pending = None if record is None or record.supersedes is None else record.supersedes
            old = None if pending is None else _record(entries, tenant, pending)
            return Known(
                seen=seen,
                idempotency=earlier,
                tenant=opened,
                memory=record,
                memory_closed=record is not None and record_closed(record, entries),
                superseded=old,
                superseded_closed=old is not None and record_closed(old, entries),
            )


def _record(entries: Entries, tenant: TenantId, memory_id: MemoryId) -> MemoryState | None:
    return find(entries, memory_key(tenant, memory_id), MemoryState)


def record_closed(record: MemoryState, entries: Entries) -> bool:
    """Whether the record counts as forgotten because its subject, or anyone it is about, was forgotten."""
    tenant = record.tenant
    return generation_closed(
        find(entries, subject_key(tenant, record.subject), SubjectState), record.generation
    ) or any(
        generation_closed(find(entries, subject_key(tenant, each.subject), SubjectState), each.generation)
        for each in record.about
    )
