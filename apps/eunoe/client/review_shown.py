"""What a reviewer is shown of an item: the opened text, what stands beside it, and what a decision would mean."""

import difflib
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.review_items import Conflict, Quarantined, Suspended
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import MemoryId, Millis

NOTICE: Final = (
    "You decide about a lasting change of memory, not about one tool call: what you approve is given to agents as "
    "verified, in every later conversation of its scope, until it expires or is taken back."
)
"""M63: a reviewer must know that this is not one more confirmation of a step."""
CONFLICT_NOTICE: Final = (
    "You decide about a lasting change of memory, not about one tool call: the memory you keep stays in use, and the "
    "others are taken out of use for good."
)
_WORD: Final = re.compile(r"\s*\S+|\s+$")


class Withheld(StrEnum):
    """Why a text is not shown."""

    SENSITIVITY = "sensitivity"
    """The reviewer may not read what is so protected, or the policy knows none of its purposes."""
    READS_OFF = "reads_off"
    """Reads are switched off for every purpose it has."""
    UNAVAILABLE = "unavailable"
    """Nobody may read it, now or any more. Whether somebody was forgotten, asked for it or is under a hold is no matter
    of a review."""


class Changed(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Change(Struct, frozen=True, kw_only=True):
    """A run of words. Those that are the same or removed give the text in use; same and added, the new one."""

    change: Changed
    text: str


class Relation(StrEnum):
    REPLACES = "replaces"
    CONTRADICTS = "contradicts"


class Compared(Struct, frozen=True, kw_only=True):
    """A record in use beside the new one. ``record`` None: its text is withheld, and there is no ``diff``.

    ``replace``: ``<memory id>@<version>``, which an approval has to name for it to give way.
    """

    relation: Relation
    memory_id: MemoryId
    version: int
    replace: str
    record: RecalledMemory | None
    diff: tuple[Change, ...] = ()


class ShownQuarantined(Struct, frozen=True, kw_only=True):
    """``decide``: ``<memory id>@<version>``, which is what an approval or rejection has to name.

    ``body`` None: see ``withheld``. ``age`` and ``wait`` in ms: since when it waits, and until nobody may approve it.
    """

    item: Quarantined
    body: MemoryBody | None
    withheld: Withheld | None
    compared: tuple[Compared, ...]
    corroborating: tuple[RecalledMemory, ...]
    age: int
    wait: int
    decide: str
    notice: str = NOTICE


class ShownSuspended(Struct, frozen=True, kw_only=True):
    """``record`` None: it is withheld. ``compared``, ``decide``, ``age`` and ``wait`` as in `ShownQuarantined`."""

    item: Suspended
    record: RecalledMemory | None
    compared: tuple[Compared, ...]
    age: int
    wait: int
    decide: str
    notice: str = NOTICE


class Member(Struct, frozen=True, kw_only=True):
    """One side of a conflict; ``keep`` is what an answer that it holds has to name. ``diff``: from the first side."""

    memory_id: MemoryId
    version: int
    keep: str
    record: RecalledMemory | None
    diff: tuple[Change, ...] = ()


class ShownConflict(Struct, frozen=True, kw_only=True):
    """``members`` as in the item; one without a ``record`` is withheld."""

    item: Conflict
    members: tuple[Member, ...]
    age: int
    notice: str = CONFLICT_NOTICE


Shown = ShownQuarantined | ShownSuspended | ShownConflict


def diff_of(old: str, new: str) -> tuple[Change, ...]:
    """What changes from ``old`` to ``new``, word by word; spaces belong to the word after them.

    >>> [f"{each.change}:{each.text}" for each in diff_of("Prefers tea.", "Prefers green tea.")]
    ['same:Prefers', 'added: green', 'same: tea.']
    """
    before, after = _WORD.findall(old), _WORD.findall(new)
    found: list[Change] = []
    for kind, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            found += _run(Changed.SAME, before[start:end])
        else:
            found += _run(Changed.REMOVED, before[start:end]) + _run(Changed.ADDED, after[first:last])
    return tuple(found)


def _run(change: Changed, words: Sequence[str]) -> list[Change]:
    return [Change(change=change, text="".join(words))] if words else []


def named(memory_id: MemoryId, version: int) -> str:
    """``<memory id>@<version>``: exactly what was looked at."""
    return f"{memory_id}@{version}"


def remaining(item: Quarantined | Suspended, now: Millis) -> int:
    """Milliseconds until somebody may approve it; 0 when that is now."""
    return max(0, item.reviewable_at - now)
