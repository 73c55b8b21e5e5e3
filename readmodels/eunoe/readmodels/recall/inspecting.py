"""Looking at what is held: records newest first, with provenance, revision, trust, confirmation and expiry (C29).

A look ranks nothing, counts nothing and changes nothing (M87). Here are records that can still be read: in use, over
but not swept yet, and waiting for review; of those that ended otherwise, `history` tells. Small steps, so that a look
at a large tenant holds up no search (M74).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.asking import Place
from eunoe.readmodels.recall.candidates import Hit, Refused
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.opening import open_body, recalled, record_of
from eunoe.readmodels.recall.record import StoredRecord
from eunoe.readmodels.recall.result import Freshness, RecalledMemory
from eunoe.readmodels.store import answers, ask, text
from eunoe.schemas.ids import MemoryId, Offset, TenantId
from eunoe.schemas.values import MemoryClass, Visibility

if TYPE_CHECKING:
    from eunoe.readmodels.recall.reader import MemoryReader

_SCAN: Final = 500
_LOOK: Final = 50


class Status(StrEnum):
    """What becomes of a record now if somebody asks for it."""

    ACTIVE = "active"
    EXPIRED = "expired"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Which records to show; None: any. ``may_see``: what policy and rights say of a record to this caller.

    ``agent``: those that it wrote, with ``shared`` also those that every agent may use.
    """

    tenant: TenantId
    may_see: Callable[[StoredRecord, Status], bool]
    agent: str | None = None
    shared: bool = False
    purpose: str | None = None
    subject: str | None = None
    classes: frozenset[MemoryClass] | None = None
    kinds: frozenset[str] | None = None
    statuses: frozenset[Status] | None = None

    def wants(self, record: StoredRecord, status: Status) -> bool:
        return (
            (self.statuses is None or status in self.statuses)
            and self._is_of_agent(record)
            and (self.purpose is None or self.purpose in record.purposes)
            and (self.classes is None or record.memory_class in self.classes)
            and (self.kinds is None or record.kind in self.kinds)
            and self.may_see(record, status)
        )

    def _is_of_agent(self, record: StoredRecord) -> bool:
        if self.agent is None or record.agent == self.agent:
            return True
        return self.shared and record.visibility is Visibility.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """One record as it stands. ``record.version`` is its revision."""

    status: Status
    record: RecalledMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """Newest first. ``more``: there is another that this caller would be shown."""

    records: tuple[Inspected, ...]
    more: bool
    freshness: Freshness


@dataclass(slots=True, kw_only=True)
class Inspecting:
    """One look under way."""

    reader: "MemoryReader"
    look: Look
    least: Offset
    timeout: float

    async def result(self, limit: int) -> Inspection:
        """At most ``limit`` records. Raises as `MemoryReader.search`."""
        found: list[Inspected] = []
        numbers, freshness = await self._numbers()
        looked = 0
        while looked < len(numbers) and len(found) <= limit:
            chunk = numbers[looked : looked + _LOOK]
            looked += len(chunk)
            hits, freshness = await self._look(chunk)
            for hit in hits:
                shown = await self._shown(hit)
                if shown is not None:
                    found.append(shown)
        return Inspection(records=tuple(found[:limit]), more=len(found) > limit, freshness=freshness)

    async def _shown(self, hit: Hit) -> Inspected | None:
        record = record_of(hit.document, hit.head)
        status = self._status(hit, record)
        if not self.look.wants(record, status):
            return None
        body = await open_body(self.reader.keyring, record)
        if body is None:
            return None
        return Inspected(status=status, record=recalled(hit.head, record, body, None, self._rivals(hit)))

    def _rivals(self, hit: Hit) -> tuple[MemoryId, ...]:
        found = []
        for document in hit.rivals:
            rival = Hit.of(document)
            record = record_of(rival.document, rival.head)
            if self._status(rival, record) is Status.ACTIVE and self.look.may_see(record, Status.ACTIVE):
                found.append(record.memory_id)
        return tuple(sorted(found))

    def _status(self, hit: Hit, record: StoredRecord) -> Status:
        if hit.head.state == names.WAITING:
            return Status.QUARANTINED
        return Status.EXPIRED if record.expires_at <= self.reader.clock() else Status.ACTIVE

    async def _numbers(self) -> tuple[Sequence[bytes], Freshness]:
        """The numbers of the tenant's records, or of the subject's, newest first."""

        async def call(place: Place) -> tuple[Mapping[str, str], Place] | Refused:
            found = await candidates.look(
                self.reader.redis, self.reader.functions, place.keys, self.look.tenant, place.index, (), place.least
            )
            return found if isinstance(found, Refused) else (found[0], place)

        asker, look = self.reader.asker, self.look
        while True:
            marks, place = await asker.ask(look.tenant, look.subject, call, self.least, self.timeout)
            freshness = self.reader.freshness(look.tenant, marks)
            if place.index is None or (look.subject is not None and place.subject is None):
                return (), freshness
            with answers("listing records"):
                numbers = {number async for number in self._scanned(place)}
            if await asker.serves(place):
                return sorted(numbers, key=int, reverse=True), freshness

    async def _scanned(self, place: Place) -> AsyncIterator[bytes]:
        redis, tenant = self.reader.redis, self.look.tenant
        command, key, step = "HSCAN", place.prefix.key(names.records_key(tenant)), 2
        if place.subject is not None:
            opened = await redis.hget(place.prefix.key(names.opened_key(tenant)), place.subject)
            generation = 1 if opened is None else int(text(opened))
            command, step = "SSCAN", 1
            key = place.prefix.key(names.subject_key(tenant, place.subject, generation))
        cursor = 0
        while True:
            following, found = (await ask(redis, (command, key, cursor, "COUNT", _SCAN)))[0]
            if isinstance(found, dict):
                found = [part for pair in found.items() for part in pair]
            for number in list(found)[step - 1 :: step]:
                yield number
            cursor = int(following)
            if cursor == 0:
                return

    async def _look(self, numbers: Sequence[bytes]) -> tuple[Sequence[Hit], Freshness]:
        reader, tenant = self.reader, self.look.tenant

        async def call(place: Place) -> tuple[Mapping[str, str], Sequence[Hit]] | Refused:
            return await candidates.look(
                reader.redis, reader.functions, place.keys, tenant, place.index, numbers, place.least
            )

        marks, hits = await reader.asker.ask(tenant, None, call, self.least, self.timeout)
        return hits, reader.freshness(tenant, marks)


def check_limit(limit: int) -> None:
    if isinstance(limit, bool) or not 0 <= limit <= 1_000:
        raise BadScope("limit", "not between 0 and 1000")


__all__ = ["Inspected", "Inspecting", "Inspection", "Look", "Status", "check_limit"]
