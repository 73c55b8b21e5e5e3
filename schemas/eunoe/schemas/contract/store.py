"""A store of `MemoryRecord` as a value: for tests, examples and start-up files. The governed store is the log.

It keeps the two promises that matter: nothing of another tenant is ever looked at, and a replaced or quarantined
record is never found, though it stays in `records` with its revision.
"""

import re
from collections.abc import Iterable
from typing import Final

from eunoe.schemas.contract.records import MemoryCandidate, MemoryLookup, MemoryRecord, RevisionMode

_WORD: Final = re.compile(r"\w+")


class MemoryStore:
    """Never changed: `with_candidate` gives another store."""

    __slots__ = ("_records", "_replaced")

    def __init__(self, records: Iterable[MemoryRecord] = (), *, replaced: frozenset[int] = frozenset()) -> None:
        """``replaced``: places in ``records`` of those that gave way. Raises TypeError for any other thing."""
        kept = tuple(records)
        if not all(isinstance(record, MemoryRecord) for record in kept):
            raise TypeError("Memory store records must be MemoryRecord")
        self._records = kept
        self._replaced = replaced

    @property
    def records(self) -> tuple[MemoryRecord, ...]:
        """All of them, in the order they came, replaced and quarantined ones too."""
        return self._records

    def lookup(self, query: str, tenant_id: str, *, limit: int = 3) -> tuple[MemoryRecord, ...]:
        """The tenant's records in use that share a word with the query: most words first, then most confident."""
        asked = MemoryLookup(query=query, tenant_id=tenant_id, limit=limit)
        words = _words(asked.query)
        found = [
            (len(words & _words(record.content)), record)
            for place, record in enumerate(self._records)
            if record.tenant_id == asked.tenant_id and record.usable and place not in self._replaced
        ]
        ranked = sorted((each for each in found if each[0]), key=lambda each: (-each[0], -each[1].confidence))
        return tuple(record for _, record in ranked[: asked.limit])

    def with_candidate(self, candidate: MemoryCandidate) -> "MemoryStore":
        """This store and the candidate as its last record.

        ``append``: at revision 1, beside the others. ``replace``: in place of the latest of the same tenant, class and
        kind, at the next revision; but one that waits for a review puts nothing out of use. Raises TypeError.
        """
        if not isinstance(candidate, MemoryCandidate):
            raise TypeError("Memory store candidate must be MemoryCandidate")
        latest = self._latest(candidate) if candidate.revision_mode == RevisionMode.REPLACE else None
        revision = 1 if latest is None else self._records[latest].revision + 1
        record = candidate.as_record(self._next_id(), revision)
        gone = {latest} if latest is not None and record.usable else set()
        return MemoryStore((*self._records, record), replaced=self._replaced | gone)

    def _latest(self, candidate: MemoryCandidate) -> int | None:
        places = [place for place, record in enumerate(self._records) if _slot(record) == _slot(candidate)]
        return max(places, key=lambda place: (self._records[place].revision, place), default=None)

    def _next_id(self) -> str:
        taken = {record.memory_id for record in self._records}
        number = len(self._records) + 1
        while f"mem-{number:03d}" in taken:
            number += 1
        return f"mem-{number:03d}"


def _slot(record: MemoryRecord | MemoryCandidate) -> tuple[str, str, str]:
    return record.tenant_id, record.memory_class, record.kind


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))
