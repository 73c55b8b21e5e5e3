"""One item for all that wait with the same words, however many sources sent them.

Each stays a record of its own with its own source, and is decided about by its own id: what one sender does to theirs
touches nobody else's. Shown is the oldest that fits what is asked for, with the others beside it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from eunoe.readmodels.review_items import Contested, Quarantined
from eunoe.schemas.events import MemoryQuarantined
from eunoe.schemas.ids import MemoryId

MOST: Final = 32
"""Of one group at most so many are told of; whoever sends more hides nobody's words, and costs no reviewer a page."""
_BYTES: Final = 12


def alike_of(fact: MemoryQuarantined) -> str:
    """The group of those that say the same of one person to the same readers; empty where its words are not known."""
    draft = fact.draft
    if not fact.content_hash:
        return ""
    scope = (draft.subject, draft.generation, draft.agent, draft.visibility.value, sorted(draft.purposes))
    named = msgspec.msgpack.encode((fact.content_hash, fact.claim_ref, fact.supersedes, scope))
    return hashlib.sha256(named).digest()[:_BYTES].hex()


def beside(item: Quarantined, group: Mapping[MemoryId, Quarantined], total: int) -> Quarantined:
    """``item`` with those that wait with its words. ``total``: of the group, whether they may be told or not."""
    others = tuple(
        Contested(memory_id=each.memory_id, version=each.version)
        for each in _ordered(group)
        if each.memory_id != item.memory_id
    )
    return item if not others else replace(item, alike=others, alike_total=max(total, len(others) + 1))


def is_told(item: Quarantined, fitting: Mapping[MemoryId, Quarantined]) -> bool:
    """Whether it stands for its group: no older one of ``fitting`` does."""
    return not any(_place(each) < _place(item) for each in fitting.values())


def _ordered(group: Mapping[MemoryId, Quarantined]) -> Sequence[Quarantined]:
    return sorted(group.values(), key=_place)


def _place(item: Quarantined) -> tuple[int, MemoryId]:
    return item.queued_at, item.memory_id
