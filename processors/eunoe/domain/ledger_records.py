"""What a loaded record names in turn: whom it concerns, where it is found, what it was built on and what on it.

Lineage is kept flat: a record holds the ids of everything it stands on and of everything that stands on it, through
whatever lies between. So what goes with a record is told by that record alone, in one more round, however long the
chain is; and both lists are bounded (`eunoe.domain.lineage.MOST`), for one fact names all that goes.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from eunoe.domain.admission import generation_closed
from eunoe.domain.entries import (
    Entry,
    LedgerKey,
    SubjectState,
    claim_key,
    memory_key,
    subject_key,
    words_key,
)
from eunoe.domain.known import Source
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Draft
from eunoe.schemas.ids import MemoryId, TenantId

Entries = Mapping[LedgerKey, Entry | None]
"""What was loaded; None: looked for and not there."""

_E = TypeVar("_E", bound=Entry)


def find(entries: Entries, key: LedgerKey, kind: type[_E]) -> _E | None:
    """The loaded entry. ``KeyError`` where it was not loaded: nothing is judged on a ledger that was not read."""
    entry = entries[key]
    if entry is None or isinstance(entry, kind):
        return entry
    raise TypeError(f"{key} holds a {type(entry).__name__}")


def record(entries: Entries, tenant: TenantId, memory_id: MemoryId) -> MemoryState | None:
    return find(entries, memory_key(tenant, memory_id), MemoryState)


def indexes_of(record: MemoryState) -> list[LedgerKey]:
    """The claim and the words under which it is found while it is active."""
    words = words_of(record)
    return words if record.claim_ref is None else [claim_key(record.tenant, record.claim_ref), *words]


def words_of(record: MemoryState) -> list[LedgerKey]:
    """The index of what says the same; none where nothing is known of its words."""
    return [words_key(record.tenant, record.content_hash)] if record.content_hash else []


def subjects_of(record: MemoryState) -> list[LedgerKey]:
    """The entries of everybody whose forgetting makes the record unreadable."""
    tenant = record.tenant
    return [subject_key(tenant, record.subject), *(subject_key(tenant, each.subject) for each in record.about)]


def record_closed(record: MemoryState, entries: Entries) -> bool:
    """Whether the record counts as forgotten because its subject, or anyone it is about, was forgotten."""
    tenant = record.tenant
    return generation_closed(
        find(entries, subject_key(tenant, record.subject), SubjectState), record.generation
    ) or any(
        generation_closed(find(entries, subject_key(tenant, each.subject), SubjectState), each.generation)
        for each in record.about
    )


def of_record(found: MemoryState | None, entries: Entries) -> list[LedgerKey]:
    """Who may have it forgotten, the indexes it will leave when it ends, and the same of what goes with it."""
    if found is None:
        return []
    keys = subjects_of(found) + indexes_of(found)
    for each in found.derived:
        key = memory_key(found.tenant, each)
        keys.append(key)
        built_on_it = find(entries, key, MemoryState) if key in entries else None
        keys += [] if built_on_it is None else subjects_of(built_on_it) + indexes_of(built_on_it)
    return keys


def of_sources(draft: Draft, tenant: TenantId, entries: Entries) -> list[LedgerKey]:
    """What the draft was built on, whom that concerns, and what that was built on in turn."""
    keys = []
    for each in draft.derived_from:
        key = memory_key(tenant, each.memory_id)
        keys.append(key)
        source = find(entries, key, MemoryState) if key in entries else None
        keys += [] if source is None else [*subjects_of(source), *(memory_key(tenant, one) for one in source.sources)]
    return keys


def sources_of(draft: Draft, tenant: TenantId, entries: Entries) -> tuple[Source, ...]:
    """What is known of each record in ``draft.derived_from``, once `of_sources` is loaded."""
    found = (record(entries, tenant, each.memory_id) for each in draft.derived_from)
    return tuple(Source() if each is None else _source(each, entries) for each in found)


def standing_on(named: MemoryState, entries: Entries) -> tuple[Source, ...]:
    """All that a record stands on, once it is loaded. Whom that concerns, the record concerns too."""
    return tuple(Source(record=record(entries, named.tenant, each)) for each in named.sources)


def _source(found: MemoryState, entries: Entries) -> Source:
    people = [find(entries, each, SubjectState) for each in subjects_of(found)]
    return Source(
        record=found,
        closed=record_closed(found, entries),
        restricted=any(each is not None and each.restricted for each in people),
    )


def lineage_of(draft: Draft, tenant: TenantId, entries: Entries) -> tuple[MemoryId, ...]:
    """Everything the draft stands on, each once, in an order that follows from the log alone."""
    found: dict[MemoryId, None] = {}
    for each in draft.derived_from:
        source = record(entries, tenant, each.memory_id)
        found |= dict.fromkeys((each.memory_id, *(() if source is None else source.sources)))
    return tuple(found)


def dependents(records: Iterable[MemoryState | None], entries: Entries) -> tuple[MemoryState, ...]:
    """What stands on any of ``records`` and is not gone with a person already."""
    found: dict[MemoryId, MemoryState] = {}
    for each in records:
        for memory_id in () if each is None else each.derived:
            one = record(entries, each.tenant, memory_id) if each is not None else None
            if one is not None and not record_closed(one, entries):
                found[memory_id] = one
    return tuple(found.values())
