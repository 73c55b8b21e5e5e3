"""Which keys belong to one generation of a subject, found through the log: what must be destroyed, and proved gone.

The log alone answers: `KeyIssued` names every data key and the subject root. A key of a record about several people
belongs to the generation of its subject; the others' erasure destroys it too, and it is named apart here.
"""

from collections.abc import Iterable

from msgspec import Struct

from eunoe.schemas.events import Event, KeyIssued, MemoryAccepted, MemoryQuarantined, SubjectRef
from eunoe.schemas.ids import KeyId, MemoryId, TenantId, is_uuid


class GenerationKeys(Struct, frozen=True, kw_only=True):
    """``own``: every key of the generation, its root included. ``shared``: keys of other people's single records that
    are about this person too, so that the closing of the generation destroys them."""

    own: frozenset[KeyId]
    shared: frozenset[KeyId]

    @property
    def all(self) -> frozenset[KeyId]:
        return self.own | self.shared


def ids_of(fact: KeyIssued) -> tuple[KeyId, ...]:
    """The keys that the fact names: the one asked for, and the root that it stands under."""
    return (fact.key_id,) if fact.root_key_id is None else (fact.key_id, fact.root_key_id)


def record_of(fact: KeyIssued) -> MemoryId | None:
    """The record that the key serves alone; None for a month's, a day's, a tenant's."""
    return None if fact.subject is None or fact.bucket is None or not is_uuid(fact.bucket) else MemoryId(fact.bucket)


def keys_of_generation(events: Iterable[Event], tenant: TenantId, whom: SubjectRef) -> GenerationKeys:
    """Folds ``events`` (the tenant's partition from offset 0 up to the closing of the generation, in order)."""
    own: set[KeyId] = set()
    single: dict[MemoryId, KeyId] = {}
    shared: set[KeyId] = set()
    for event in events:
        if event.header.tenant != tenant:
            continue
        match event.fact:
            case KeyIssued() as fact:
                if (fact.subject, fact.generation) == (whom.subject, whom.generation):
                    own.update(ids_of(fact))
                if (memory_id := record_of(fact)) is not None:
                    single[memory_id] = fact.key_id
            case MemoryAccepted(draft=draft, about=about) | MemoryQuarantined(draft=draft, about=about):
                if whom in about and draft.memory_id in single:
                    shared.add(single[draft.memory_id])
    return GenerationKeys(own=frozenset(own), shared=frozenset(shared - own))
