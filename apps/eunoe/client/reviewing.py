"""The reviewing half of `Memory`: the queue, and one item with all that a decision needs. For the right ``review``.

The list holds no content and is there whatever the switches say, so that what waits can be cleaned up while memory is
off; a text is shown only where the reviewer may read it now.
"""

from dataclasses import dataclass, replace
from typing import Final

from eunoe.client.asking import well_asked
from eunoe.client.gate import entered
from eunoe.client.reading import Reading
from eunoe.client.review_gate import ReviewGate
from eunoe.client.review_shown import (
    Compared,
    Member,
    Relation,
    Shown,
    ShownConflict,
    ShownQuarantined,
    ShownSuspended,
    Withheld,
    diff_of,
    named,
    remaining,
)
from eunoe.crypto.errors import KeyClosed, KeyUnknown
from eunoe.readmodels.recall.errors import BadScope, KeyStillUnknown
from eunoe.readmodels.recall.reader import MemoryReader
from eunoe.readmodels.recall.record import StoredRecord
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.readmodels.review import NAME
from eunoe.readmodels.review_beside import Beside
from eunoe.readmodels.review_items import CONFLICT, SUSPENDED, Conflict, Page, Quarantined, Suspended, Waiting
from eunoe.readmodels.review_kept import Wanted
from eunoe.readmodels.review_reader import ReviewReader
from eunoe.readmodels.subjects import SubjectsReader
from eunoe.readmodels.tenants import TenantsReader
from eunoe.readmodels.waiting import wait_until
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import MemoryId, Pseudonym, TenantId, is_uuid
from eunoe.schemas.outcomes import Token
from eunoe.schemas.values import SourceKind, Visibility

MOST: Final = 200
"""Items of one page at most."""
_BESIDE: Final = 5
_NOBODY: Final = Pseudonym("")
_REASONS: Final = frozenset({CONFLICT, SUSPENDED, *(each.value for each in Reason)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewing:
    """Reviews as one principal. Made by `Memory.connect`."""

    gate: ReviewGate
    queue: ReviewReader
    reader: MemoryReader
    tenants: TenantsReader

    @property
    def subjects(self) -> SubjectsReader:
        return SubjectsReader(self.reader.redis, self.reader.installation)

    @well_asked
    async def reviews(
        self,
        tenant: str,
        *,
        source: SourceKind | None = None,
        reason: str | None = None,
        min_age: int = 0,
        subject: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
        after: str | None = None,
        timeout: float = 5.0,
    ) -> Page:
        """What waits for a person, oldest first, without any content. ``min_age`` in ms, ``subject`` the plain name.

        ``cursor``: of the page before. ``after``: a consistency token, waited for at most ``timeout`` seconds. Raises
        `ReadRefused` without the right to review, `BadScope`, `TooStale`, `StoreUnavailable`, or as `wait_until`.
        """
        of = TenantId(tenant)
        self.gate.check(of)
        await entered(self.gate.control, self.tenants, of)
        if isinstance(limit, bool) or not 1 <= limit <= MOST:
            raise BadScope("limit", f"not between 1 and {MOST}")
        if reason is not None and reason not in _REASONS:
            raise BadScope("reason", "is none for which anything waits")
        if min_age < 0:
            raise BadScope("min_age", "is negative")
        await self._passed(after, timeout)
        whom = None if subject is None else await self._pseudonym(of, subject)
        wanted = Wanted(source=source, reason=reason, min_age=min_age, subject=whom)
        return await self.queue.page(of, wanted, limit, cursor)

    @well_asked
    async def review(
        self, memory_id: str, tenant: str, *, after: str | None = None, timeout: float = 5.0
    ) -> Shown | None:
        """The item with all that a decision needs; None where nothing of this id waits. Raises as `reviews`."""
        of, which = TenantId(tenant), MemoryId(memory_id)
        self.gate.check(of)
        await entered(self.gate.control, self.tenants, of)
        if not is_uuid(memory_id):
            raise BadScope("memory_id", "is no canonical UUID")
        await self._passed(after, timeout)
        waiting = await self.queue.waiting(of, which)
        if waiting is not None:
            return await self._quarantined(of, waiting)
        suspended = await self.queue.suspended(of, which)
        if suspended is not None:
            return await self._suspended(of, suspended)
        conflict = await self.queue.conflict(of, which)
        return None if conflict is None else await self._conflict(of, conflict)

    async def _quarantined(self, tenant: TenantId, waiting: Waiting) -> ShownQuarantined:
        item, now = waiting.item, self.reader.clock()
        withheld = self.gate.withholds(tenant, item.purposes, item.sensitivity)
        whom = (item.subject, *(each.subject for each in item.about))
        if withheld is None and await self.subjects.restricted(tenant, *whom):
            withheld = Withheld.UNAVAILABLE
        body = None if withheld is not None else await self._opened(tenant, waiting)
        corroborating: tuple[RecalledMemory, ...] = ()
        if body is not None:
            corroborating = await self._beside(tenant).corroborating(tenant, item, body.statement, _BESIDE)
        return ShownQuarantined(
            item=item,
            body=body,
            withheld=withheld or (Withheld.UNAVAILABLE if body is None else None),
            compared=await self._compared(tenant, item, None if body is None else body.statement, item),
            corroborating=corroborating,
            age=max(0, now - item.queued_at),
            wait=remaining(item, now),
            decide=named(item.memory_id, item.version),
        )

    async def _suspended(self, tenant: TenantId, item: Suspended) -> ShownSuspended | None:
        """None where its time is over, or nothing is left of it."""
        found = await self._beside(tenant).sent_back(tenant, item.memory_id)
        if found is None:
            return None
        return ShownSuspended(
            item=item,
            record=found.record,
            compared=await self._compared(
                tenant, item, None if found.record is None else found.record.statement, found.record
            ),
            age=max(0, self.reader.clock() - item.queued_at),
            wait=remaining(item, self.reader.clock()),
            decide=named(item.memory_id, item.version),
        )

    async def _compared(
        self,
        tenant: TenantId,
        item: Quarantined | Suspended,
        statement: str | None,
        side: Quarantined | RecalledMemory | None,
    ) -> tuple[Compared, ...]:
        """What it would replace or contradict, as far as that is in use now, whenever it came. ``side``: its scope."""
        waits = item if isinstance(item, Quarantined) else None
        replaced = () if waits is None or waits.supersedes is None else (waits.supersedes,)
        contradicted = () if waits is None else waits.conflicts_with
        found = []
        for memory_id in dict.fromkeys((*replaced, *contradicted, *item.met)):
            old = None if memory_id == item.memory_id else await self._beside(tenant).in_use(tenant, memory_id)
            told = memory_id in (*replaced, *contradicted)
            if old is not None and (told or _stands_against(side, statement, old.record)):
                found.append(
                    Compared(
                        relation=Relation.REPLACES if memory_id in replaced else Relation.CONTRADICTS,
                        memory_id=memory_id,
                        version=old.version,
                        record=old.record,
                        replace=named(memory_id, old.version),
                        diff=()
                        if statement is None or old.record is None
                        else diff_of(old.record.statement, statement),
                    )
                )
        return tuple(found)

    async def _conflict(self, tenant: TenantId, conflict: Conflict) -> ShownConflict:
        members: list[Member] = []
        first: RecalledMemory | None = None
        for each in conflict.members:
            record = await self._beside(tenant).in_use(tenant, each.memory_id)
            text = None if record is None else record.record
            differs = text is not None and first is not None
            members.append(
                Member(
                    memory_id=each.memory_id,
                    version=each.version,
                    keep=named(each.memory_id, each.version),
                    record=text,
                    diff=diff_of(first.statement, text.statement) if differs and first and text else (),
                )
            )
            first = first or text
        return ShownConflict(
            item=conflict, members=tuple(members), age=max(0, self.reader.clock() - conflict.queued_at)
        )

    async def _opened(self, tenant: TenantId, waiting: Waiting) -> MemoryBody | None:
        """The body; None where it is erased. Raises `KeyStillUnknown`."""
        item = waiting.item
        try:
            cipher = await self.reader.keyring.data_cipher(
                tenant, waiting.key_id, item.subject, item.generation, item.expires_at
            )
        except KeyClosed:
            return None
        except KeyUnknown as error:
            raise KeyStillUnknown(tenant, waiting.key_id) from error
        return BODIES.decode(cipher.open(item.memory_id, waiting.body_version, waiting.body))

    def _beside(self, tenant: TenantId) -> Beside:
        def may_see(record: StoredRecord) -> bool:
            return self.gate.withholds(tenant, record.purposes, record.sensitivity) is None

        return Beside(reader=self.reader, principal=self.gate.principal, may_see=may_see)

    async def _pseudonym(self, tenant: TenantId, subject: str) -> Pseudonym:
        """Of a tenant that has no keys (any more) nothing waits, whoever is asked for."""
        try:
            return (await self.reader.keyring.tenant(tenant)).pseudonym(subject)
        except KeyClosed:
            return _NOBODY
        except KeyUnknown as error:
            if (await self.queue.page(tenant, Wanted(), 1)).items:
                raise KeyStillUnknown(tenant, None) from error  # it has had one, and nothing says that it is gone
            return _NOBODY

    async def _passed(self, after: str | None, timeout: float) -> None:
        """Both models have what the token asks for: the queue, and what stands beside."""
        if after is None:
            return
        token = Token.parse(after)
        for model in (NAME, "recall"):
            await wait_until(self.reader.redis, self.reader.installation, model, token, timeout=timeout)


def _stands_against(
    side: Quarantined | RecalledMemory | None, statement: str | None, other: RecalledMemory | None
) -> bool:
    """Whether what came into use on the claim says otherwise to a reader of ``side``; what is withheld may."""
    if side is None or other is None:
        return True
    shared = Visibility.SHARED in (side.visibility, other.visibility)
    read_by_one = (shared or side.agent == other.agent) and not set(side.purposes).isdisjoint(other.purposes)
    return read_by_one and other.statement != statement


def make_reviewing(reading: Reading) -> Reviewing:
    """Reviews as the principal of ``reading``, by its gate and with its keys."""
    gate = ReviewGate(reading.gate, reading.principal)
    reader = replace(reading.reader, gate=gate)
    queue = ReviewReader(reader.redis, reader.installation, reader.clock, max_lag=reader.settings.max_lag)
    return Reviewing(gate=gate, queue=queue, reader=reader, tenants=reading.tenants)
