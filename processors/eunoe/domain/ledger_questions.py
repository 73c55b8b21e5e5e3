"""What a command asks of the ledger, and the answers put into `Known`.

`wanted` is asked again with what was loaded until it wants nothing more: the first answer is what the command itself
names, a later one what a loaded entry names in turn (the subjects of a record, the record it would replace). Two rounds
do for most commands. Ending a record on which others were built takes three, and so do promoting and resolving; four,
where the claim or the words are those of other records: the record, its indexes, who is in them, whom that concerns.
"""

from msgspec.structs import replace

from eunoe.domain import rates
from eunoe.domain.entries import (
    DayKey,
    IdempotencyEntry,
    KeyState,
    LedgerKey,
    Quota,
    RateState,
    SubjectState,
    TenantState,
    bucket_key,
    command_key,
    day_key,
    idempotency_key,
    key_key,
    memory_key,
    quota_key,
    rate_key,
    subject_key,
    tenant_key,
    words_key,
)
from eunoe.domain.known import Digests, Known
from eunoe.domain.ledger_indexes import of_claim, of_index, readable, rivals
from eunoe.domain.ledger_records import (
    Entries,
    dependents,
    find,
    of_record,
    of_sources,
    record,
    record_closed,
    sources_of,
    standing_on,
    subjects_of,
    words_of,
)
from eunoe.domain.memory import MemoryState
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
from eunoe.schemas.ids import CommandId, MemoryId, is_uuid

RecordCommand = (
    PromoteMemory
    | RejectMemory
    | ConfirmMemory
    | ResolveConflict
    | RetractMemory
    | SuspendMemory
    | ExpireMemory
    | ForgetMemory
)
PersonCommand = (
    RecordExport | ForgetSubject | ReadmitSubject | WithdrawForgetting | CompleteForgetting | HoldSubject | LiftHold
)
TenantCommand = ForgetTenant | CompleteTenantForgetting | ReadmitTenant


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
    if isinstance(command, RememberMemory):
        return bool(command.draft.derived_from)
    return not isinstance(command, PersonCommand | TenantCommand)


def _named(command_id: CommandId, command: Command) -> list[LedgerKey]:
    tenant = command.tenant
    keys = [command_key(tenant, command_id), tenant_key(tenant)]
    idempotency = idempotency_of(command)
    if idempotency is not None:
        keys.append(idempotency_key(tenant, idempotency))
    if rates.measured(command):
        keys.append(rate_key(tenant))
    match command:
        case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
            keys += (
                memory_key(tenant, draft.memory_id),
                subject_key(tenant, draft.subject),
                key_key(tenant, draft.key_id),
            )
            keys += [subject_key(tenant, each) for each in draft.about]
            keys += [memory_key(tenant, each.memory_id) for each in draft.derived_from]
            if isinstance(command, CorrectMemory):
                keys.append(memory_key(tenant, command.supersedes))
        case IssueKey(subject=subject, bucket=bucket):
            if subject is not None and bucket is not None:
                # Nearly every subject is in its first generation: asking at once saves the second round.
                keys += (subject_key(tenant, subject), bucket_key(tenant, subject, 1, bucket))
                keys += () if (alone := _served_alone(command)) is None else (alone,)
            elif bucket is not None:
                keys.append(day_key(tenant, bucket))
        case (
            ForgetSubject(subject=subject)
            | ReadmitSubject(subject=subject)
            | WithdrawForgetting(subject=subject)
            | CompleteForgetting(subject=subject)
            | HoldSubject(subject=subject)
            | LiftHold(subject=subject)
        ):
            keys += (subject_key(tenant, subject), quota_key(tenant))
        case RestoreMemory():
            keys += _named_by_restored(command)
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            keys.append(quota_key(tenant))
        case RecordExport(subject=subject):
            keys += () if subject is None else (subject_key(tenant, subject),)
        case _:
            keys.append(memory_key(tenant, command.memory_id))
            if isinstance(command, ForgetMemory):
                keys.append(quota_key(tenant))
    return keys


def _implied(command: Command, entries: Entries) -> list[LedgerKey]:
    """What the loaded entries name in turn."""
    tenant = command.tenant
    match command:
        case RememberMemory(draft=draft):
            return of_sources(draft, tenant, entries)
        case ForgetSubject() | ReadmitSubject() | WithdrawForgetting() | CompleteForgetting():
            return []
        case HoldSubject() | LiftHold() | RecordExport():
            return []
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            return []
        case RestoreMemory():
            found = (find(entries, key, MemoryState) for key in _records_of(command) if key in entries)
            keys = [key for each in found for key in of_record(each, entries)]
            return keys + ([] if command.draft is None else of_sources(command.draft, tenant, entries))
        case IssueKey():
            key, alone = _bucket_asked_for(command, entries), _served_alone(command)
            served = None if alone is None else find(entries, alone, MemoryState)
            return ([] if key is None else [key]) + of_record(served, entries)
        case CorrectMemory(draft=draft, supersedes=old):
            replaced = find(entries, memory_key(tenant, old), MemoryState)
            # A correction that names no claim makes that of the record it replaces.
            claim = [] if replaced is None else of_claim(tenant, replaced.claim_ref, entries)
            return of_record(replaced, entries) + claim + of_sources(draft, tenant, entries)
        case _:
            named = find(entries, memory_key(tenant, command.memory_id), MemoryState)
            keys = of_record(named, entries)
            if named is not None and isinstance(command, ForgetMemory):
                keys.append(key_key(tenant, named.key_id))
            if named is not None and isinstance(command, PromoteMemory | ResolveConflict):
                keys += of_claim(tenant, named.claim_ref, entries)
            if named is not None and isinstance(command, PromoteMemory):
                for index in words_of(named):
                    keys += of_index(tenant, index, entries)
                keys += [memory_key(tenant, each) for each in named.sources]
            if named is not None and named.supersedes is not None:
                old_key = memory_key(tenant, named.supersedes)
                keys.append(old_key)
                if old_key in entries:
                    keys += of_record(find(entries, old_key, MemoryState), entries)
            return keys


def _bucket_asked_for(command: IssueKey, entries: Entries) -> LedgerKey | None:
    tenant, subject, bucket = command.tenant, command.subject, command.bucket
    if subject is None or bucket is None:
        return None
    state = find(entries, subject_key(tenant, subject), SubjectState)
    return bucket_key(tenant, subject, 1 if state is None else state.generation, bucket)


def _served_alone(command: IssueKey) -> LedgerKey | None:
    """The record that has the bucket for itself."""
    bucket = command.bucket
    return None if bucket is None or not is_uuid(bucket) else memory_key(command.tenant, MemoryId(bucket))


def known(command_id: CommandId, command: Command, entries: Entries) -> Known:
    """What `decide` is told, once `wanted` is empty. For a draft's rivals see `with_rivals`."""
    tenant = command.tenant
    idempotency = idempotency_of(command)
    common = Known(
        seen=entries[command_key(tenant, command_id)] is not None,
        idempotency=None
        if idempotency is None
        else find(entries, idempotency_key(tenant, idempotency), IdempotencyEntry),
        tenant=find(entries, tenant_key(tenant), TenantState),
        rate=find(entries, rate_key(tenant), RateState) if rates.measured(command) else None,
    )
    match command:
        case RememberMemory() | CorrectMemory():
            return _known_of_draft(common, command, entries)
        case IssueKey(subject=None, bucket=day) if day is not None:
            return replace(common, day=find(entries, day_key(tenant, day), DayKey))
        case IssueKey(subject=subject):
            bucket = _bucket_asked_for(command, entries)
            if bucket is None or subject is None:
                return common
            alone = _served_alone(command)
            served = None if alone is None else find(entries, alone, MemoryState)
            return replace(
                common,
                memory=served,
                memory_closed=served is not None and record_closed(served, entries),
                subject=find(entries, subject_key(tenant, subject), SubjectState),
                key=find(entries, bucket, KeyState),
            )
        case (
            ForgetSubject(subject=subject)
            | ReadmitSubject(subject=subject)
            | WithdrawForgetting(subject=subject)
            | CompleteForgetting(subject=subject)
            | HoldSubject(subject=subject)
            | LiftHold(subject=subject)
        ):
            return replace(
                common,
                subject=find(entries, subject_key(tenant, subject), SubjectState),
                quota=find(entries, quota_key(tenant), Quota),
            )
        case RestoreMemory():
            return _known_of_restored(common, command, entries)
        case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
            return replace(common, quota=find(entries, quota_key(tenant), Quota))
        case RecordExport(subject=subject):
            of = None if subject is None else find(entries, subject_key(tenant, subject), SubjectState)
            return replace(common, subject=of)
        case _:
            return _known_of_record(common, command, entries)


def _known_of_draft(common: Known, command: RememberMemory | CorrectMemory, entries: Entries) -> Known:
    tenant, draft = command.tenant, command.draft
    old = record(entries, tenant, command.supersedes) if isinstance(command, CorrectMemory) else None
    return replace(
        common,
        subject=find(entries, subject_key(tenant, draft.subject), SubjectState),
        about=tuple(find(entries, subject_key(tenant, each), SubjectState) for each in draft.about),
        memory=record(entries, tenant, draft.memory_id),
        superseded=old,
        superseded_closed=old is not None and record_closed(old, entries),
        rivals=() if old is None else rivals(tenant, old.claim_ref, entries, {draft.memory_id, old.memory_id}),
        key=find(entries, key_key(tenant, draft.key_id), KeyState),
        sources=sources_of(draft, tenant, entries),
    )


def _named_by_restored(command: RestoreMemory) -> list[LedgerKey]:
    tenant, draft = command.tenant, command.draft
    keys = _records_of(command)
    if draft is not None:
        keys += (subject_key(tenant, draft.subject), key_key(tenant, draft.key_id))
        keys += [subject_key(tenant, each) for each in draft.about]
    return keys


def _records_of(command: RestoreMemory) -> list[LedgerKey]:
    restored = command.restored
    would_replace = () if restored.supersedes is None else (restored.supersedes,)
    named = (command.memory_id, *restored.superseded, *restored.contested, *would_replace)
    return [memory_key(command.tenant, each) for each in named]


def _known_of_restored(common: Known, command: RestoreMemory, entries: Entries) -> Known:
    tenant, draft = command.tenant, command.draft
    own, *others = (find(entries, key, MemoryState) for key in _records_of(command))
    open_ = tuple(each for each in others if each is not None and not record_closed(each, entries))
    known = replace(
        common,
        memory=own,
        memory_closed=own is not None and record_closed(own, entries),
        others=open_,
        dependents=dependents((own, *open_), entries),
    )
    if draft is None:
        return known
    return replace(
        known,
        subject=find(entries, subject_key(tenant, draft.subject), SubjectState),
        about=tuple(find(entries, subject_key(tenant, each), SubjectState) for each in draft.about),
        key=find(entries, key_key(tenant, draft.key_id), KeyState),
        sources=sources_of(draft, tenant, entries),
    )


def _known_of_record(common: Known, command: RecordCommand, entries: Entries) -> Known:
    tenant = command.tenant
    named = record(entries, tenant, command.memory_id)
    if named is None:
        return common
    old = None if named.supersedes is None else record(entries, tenant, named.supersedes)
    contested = isinstance(command, PromoteMemory | ResolveConflict)
    forgetting = isinstance(command, ForgetMemory)
    others = {named.memory_id} if named.supersedes is None else {named.memory_id, named.supersedes}
    against = rivals(tenant, named.claim_ref, entries, others) if contested else ()
    words = words_of(named) if isinstance(command, PromoteMemory) else ()
    twins = tuple(each for index in words for each in readable(tenant, index, entries, others))
    return replace(
        common,
        memory=named,
        memory_closed=record_closed(named, entries),
        memory_held=any(each.review_at is not None for each in _people_of(named, entries)),
        memory_restricted=any(each.restricted for each in _people_of(named, entries)),
        quota=find(entries, quota_key(tenant), Quota) if forgetting else None,
        key=find(entries, key_key(tenant, named.key_id), KeyState) if forgetting else None,
        superseded=old,
        superseded_closed=old is not None and record_closed(old, entries),
        rivals=against,
        twins=twins,
        sources=standing_on(named, entries) if isinstance(command, PromoteMemory) else (),
        dependents=dependents((named, old, *against, *twins), entries),
    )


def with_rivals(known: Known, command: Command, digests: Digests | None, entries: Entries) -> Known:
    """``known`` with the records on the claim and in the words of the draft that was opened meanwhile."""
    if isinstance(command, RestoreMemory) and command.draft is not None and digests is not None:
        # It ends none of them: what it replaced where it comes from is named.
        own = {command.draft.memory_id}
        return replace(known, rivals=rivals(command.tenant, digests.claim_ref, entries, own))
    if digests is None or not isinstance(command, RememberMemory | CorrectMemory):
        return known
    without = {command.draft.memory_id}
    if isinstance(command, CorrectMemory):
        without.add(command.supersedes)
    tenant = command.tenant
    if digests.content_hash:
        known = replace(known, twins=readable(tenant, words_key(tenant, digests.content_hash), entries, without))
    if digests.claim_ref is not None:
        known = replace(known, rivals=rivals(tenant, digests.claim_ref, entries, without))
    may_end = (known.superseded, *known.twins, *known.rivals)
    return replace(known, dependents=dependents(may_end, entries)) if any(may_end) else known


def _people_of(named: MemoryState, entries: Entries) -> list[SubjectState]:
    states = (find(entries, key, SubjectState) for key in subjects_of(named))
    return [each for each in states if each is not None]
