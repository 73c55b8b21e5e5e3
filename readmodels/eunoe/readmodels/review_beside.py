"""What a reviewer looks at beside an item: records in use that it would replace, that say otherwise, or the same.

Read from `recall`, whatever their scope is: a shared memory may contradict one that another agent keeps to itself. What
the reviewer may see is asked for each record before it is opened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Struct

from eunoe.readmodels.recall import candidates
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.asking import KnownSubject, Place
from eunoe.readmodels.recall.candidates import Hit, Refused
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.readmodels.recall.opening import open_body, recalled, record_of
from eunoe.readmodels.recall.reader import MemoryReader
from eunoe.readmodels.recall.record import StoredRecord
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.readmodels.review_items import Quarantined
from eunoe.schemas.ids import MemoryId, Offset, PrincipalName, TenantId

_LONGEST_QUERY = 2_000
"""Characters of a statement that are searched for: the analyser clips a query long before."""


class InUse(Struct, frozen=True, kw_only=True):
    """A record that is or was in use. ``record`` None: the reviewer may not see it; id and version are told anyway."""

    memory_id: MemoryId
    version: int
    record: RecalledMemory | None


@dataclass(slots=True, kw_only=True)
class Beside:
    """Asks `recall`. ``reader``'s gate is the reviewer's; ``may_see`` says whether it may see a stored record.

    Raises as `MemoryReader.get`.
    """

    reader: MemoryReader
    principal: PrincipalName
    may_see: Callable[[StoredRecord], bool]
    timeout: float = 5.0

    async def in_use(self, tenant: TenantId, memory_id: MemoryId) -> InUse | None:
        """The record as it is; None where it is not active, or erased."""
        return await self._found(tenant, memory_id, names.ACTIVE)

    async def sent_back(self, tenant: TenantId, memory_id: MemoryId) -> InUse | None:
        """The record that was in use and waits; None where it does not, or is erased."""
        return await self._found(tenant, memory_id, names.WAITING)

    async def _found(self, tenant: TenantId, memory_id: MemoryId, state: int) -> InUse | None:
        reader = self.reader

        async def call(place: Place) -> tuple[Mapping[str, str], Hit | None] | Refused:
            return await candidates.fetch(
                reader.redis, reader.functions, place.keys, tenant, place.index, memory_id, place.least, state
            )

        marks, hit = await reader.asker.ask(tenant, None, call, Offset(0), self.timeout)
        reader.freshness(tenant, marks)
        if hit is None:
            return None
        record = record_of(hit.document, hit.head)
        if record.expires_at <= reader.clock():
            return None
        if not self.may_see(record):
            return InUse(memory_id=memory_id, version=hit.head.version, record=None)
        body = await open_body(reader.keyring, record)
        if body is None:
            return None
        return InUse(memory_id=memory_id, version=hit.head.version, record=recalled(hit.head, record, body, None))

    async def corroborating(
        self, tenant: TenantId, item: Quarantined, statement: str, limit: int
    ) -> tuple[RecalledMemory, ...]:
        """The best active records of the item's subject and scope for its words, best first. Those that it replaces or
        contradicts are none of them. Whether they bear it out is for a person to say."""
        others = {item.memory_id, item.supersedes, *item.conflicts_with}
        found: dict[MemoryId, RecalledMemory] = {}
        for purpose in item.purposes:
            scope = ReadScope(
                tenant=tenant,
                agent=item.agent,
                purpose=purpose,
                principal=self.principal,
                subject=KnownSubject(item.subject),
            )
            try:
                result = await self.reader.search(scope, statement[:_LONGEST_QUERY], limit=limit + len(others))
            except ReadRefused:
                continue
            for each in result.records:
                if each.memory_id not in others:
                    found.setdefault(each.memory_id, each)
        ranked = sorted(found.values(), key=lambda each: (-each.score, each.memory_id))
        return tuple(ranked[:limit])
