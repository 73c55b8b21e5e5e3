"""What the ``review`` model keeps of a record, decoded, and what a reader asks of it."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from eunoe.readmodels.review_items import (
    CONFLICT,
    SUSPENDED,
    Conflict,
    Item,
    Suspended,
    Waiting,
    unpacked,
    unpacked_sent_back,
)
from eunoe.readmodels.store import text
from eunoe.schemas.events import SubjectRef
from eunoe.schemas.ids import Pseudonym
from eunoe.schemas.values import SourceKind

FIELDS: Final = ("state", "version", "refs", "claim", "alike", "record", "confirmed")
"""Of the hash of a record, in the order in which `kept_of` takes them."""
_AGAIN: Final = "s"


class Wanted(Struct, frozen=True, kw_only=True):
    """Which items. ``reason``: one of `Reason`, or ``conflict``. ``min_age`` in ms. ``subject``: or about it.

    A conflict has no source, and of what was sent back the queue knows none: with ``source`` neither is listed.
    """

    source: SourceKind | None = None
    reason: str | None = None
    min_age: int = 0
    subject: Pseudonym | None = None

    def fits(self, item: Item, subjects: frozenset[Pseudonym]) -> bool:
        if self.subject is not None and self.subject not in subjects:
            return False
        if isinstance(item, Conflict):
            return self.source is None and self.reason in (None, CONFLICT)
        if isinstance(item, Suspended):
            return self.source is None and self.reason in (None, SUSPENDED)
        return self.source in (None, item.source_kind) and (self.reason is None or self.reason in item.reasons)


class Kept(Struct, frozen=True, kw_only=True):
    """The hash of a record, decoded."""

    state: str
    version: int
    refs: tuple[SubjectRef, ...]
    claim: str
    alike: str
    waiting: Waiting | None
    suspended: Suspended | None = None

    @property
    def subjects(self) -> frozenset[Pseudonym]:
        return frozenset(each.subject for each in self.refs)


def kept_of(values: Sequence[bytes | None]) -> Kept:
    state, version, refs, claim, alike, record, confirmed = values
    assert state is not None
    assert refs is not None
    number = int(version or 0)
    again = text(state) == _AGAIN
    return Kept(
        state=text(state),
        version=number,
        refs=tuple(_ref(each) for each in text(refs).split()),
        claim=text(claim or b""),
        alike=text(alike or b""),
        waiting=None if record is None or again else unpacked(record, number, confirmed is not None),
        suspended=unpacked_sent_back(record, number) if again and record is not None else None,
    )


def _ref(value: str) -> SubjectRef:
    subject, _, generation = value.partition(":")
    return SubjectRef(subject=Pseudonym(subject), generation=int(generation))
