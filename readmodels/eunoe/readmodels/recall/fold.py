"""`recall` as a fold of ``memory-lifecycle``: what each event does to the read model, as operations of one apply call.

Only accepted and quarantined records are opened, for their terms; everything later is done to what is stored, inside
Redis, without a key. A quarantined record is stored with the postings it would have and stands in no index. An erased
record leaves nothing; a record whose key is unknown stops the fold, after another look.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyClosed, KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DataCipher, TenantKeys
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.errors import KeyStillUnknown
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.index_key import TenantIndex, make_index, open_index, read_several, rules_of, wrapper_in
from eunoe.readmodels.recall.rank import Bm25
from eunoe.readmodels.recall.removing import let_go_records
from eunoe.readmodels.recall.stored import document_of, instant
from eunoe.readmodels.removing import Removal
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.tenants import tenant_writes
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas import events
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.events import Event
from eunoe.schemas.ids import KeyId, MemoryId, TenantId, new_id
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import Confirmation

Draughted = events.MemoryAccepted | events.MemoryQuarantined


class KeysPassed(Protocol):
    """Filled by `apps` from the foundations: the read models `keys` and `subjects`."""

    async def wait(self, tenant: TenantId) -> None:
        """Returns when both have passed the end offsets read after this call. Raises ``KeySourceUnavailable``."""
        ...

    async def is_over(self, tenant: TenantId, incarnation: int) -> bool:
        """Whether the log, as far as it is folded, says that this incarnation was forgotten."""
        ...


def one_analyser(_: TenantId) -> Analyser:
    """English for every tenant."""
    return Analyser()


@dataclass(slots=True, kw_only=True)
class RecallModel:
    """The read model for the projector. One per process: it caches opened index keys, and nothing else.

    ``ranking`` gives the document's side of the score, by which posting lists are ordered; what it changes takes
    effect with a new generation.
    """

    redis: Redis
    keyring: Keyring
    passed: KeysPassed
    analyser: Callable[[TenantId], Analyser] = one_analyser
    ranking: Bm25 = field(default_factory=Bm25)
    make_id: Callable[[], str] = new_id
    functions: LoadedFunctions = field(default_factory=RECALL.load)
    name: str = names.MODEL
    source: Topic = Topic.LIFECYCLE
    folds_ahead: bool = True
    _indexes: dict[tuple[str, TenantId], TenantIndex] = field(default_factory=dict)

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        """The operations of each record, in order. Raises `KeyStillUnknown`, `AnalyserChanged` or a crypto error."""
        # One question for all tenants of the batch: it may hold hundreds, and each round trip is waited for. No batch
        # holds records of two incarnations of one tenant: it is cut where the first ends.
        tenants = {
            each.value.header.tenant: each.value.fact.incarnation
            for each in records
            if isinstance(each.value.fact, Draughted)
        }
        stored = await read_several(self.redis, prefix, tuple(tenants))
        seen = {
            tenant: await self._index(prefix, tenant, incarnation, stored[tenant])
            for tenant, incarnation in tenants.items()
        }
        return [await self._fold_one(prefix, record, seen) for record in records]

    async def let_go(self, removal: Removal) -> None:
        """The index key first: from then on nothing of the tenant is found. Then its records, with their postings and
        what is counted of their scopes."""
        await removal.do(("UNLINK", removal.prefix.key(names.index_key(removal.tenant))))
        self._indexes.pop((str(removal.prefix), removal.tenant), None)
        self.keyring.evict_tenant(removal.tenant)
        await let_go_records(removal)

    async def tend(self, prefix: Prefix, records: int = 20) -> bool:
        """Remove at most ``records`` records of forgotten subjects; True while there are more. Repeat-safe.

        They are unreadable already; this frees what they take. Twenty a call keeps it under 2 ms.
        """
        return bool(await self.functions.call(self.redis, "sweep", (prefix.watermark,), (records,)))

    async def _fold_one(
        self,
        prefix: Prefix,
        record: Positioned[Event],
        seen: dict[TenantId, tuple[TenantIndex | None, list[Operation]]],
    ) -> Sequence[Operation]:
        event = record.value
        fact, tenant = event.fact, event.header.tenant
        if isinstance(fact, Draughted):
            index, first = seen[tenant]
            operations = [*first, *await self._put(record.offset, event, fact, index)]
            first.clear()
            return operations
        if isinstance(fact, events.SubjectForgotten):
            self.keyring.evict_subject(tenant, fact.subject)
        if isinstance(fact, events.TenantForgettingRequested):
            # Nobody reads it any more, and nobody adds to it: what is there waits for its end.
            return (("UNLINK", prefix.key(names.index_key(tenant))), *tenant_writes(prefix, event))
        if isinstance(fact, events.TenantForgotten | events.TenantReadmitted):
            return tenant_writes(prefix, event)
        return change_of(fact, tenant)

    async def _put(self, offset: int, event: Event, fact: Draughted, index: TenantIndex | None) -> Sequence[Operation]:
        operations: list[Operation] = []
        if isinstance(fact, events.MemoryAccepted) and fact.supersedes is not None:
            operations.append(_drop(event.header.tenant, fact.supersedes.memory_id))
            operations += _withdraw(event.header.tenant, fact.withdrawn)
        body = None if index is None else await self._open(event.header.tenant, fact)
        if body is not None and index is not None:
            terms = self.analyser(event.header.tenant).document(body.statement, instant(fact.draft.observed_at))
            document = document_of(offset, event.header, fact, body, terms, index.key, self.ranking)
            operations.append(("recall.put", offset, document))
        if isinstance(fact, events.MemoryAccepted):
            operations += _contests(event.header.tenant, fact.draft.memory_id, fact.conflicts_with)
        return operations

    async def _open(self, tenant: TenantId, fact: Draughted) -> MemoryBody | None:
        """The body; None where it is erased."""
        draft = fact.draft
        cipher = self.keyring.cached_data_cipher(tenant, draft.key_id, draft.subject, draft.generation)
        if cipher is None:
            try:
                cipher = await self._cipher(tenant, fact)
            except KeyClosed:
                return None
        return BODIES.decode(cipher.open(draft.memory_id, draft.body_version, draft.body))

    async def _cipher(self, tenant: TenantId, fact: Draughted) -> DataCipher:
        draft = fact.draft
        claim = (tenant, draft.key_id, draft.subject, draft.generation, draft.expires_at)
        try:
            return await self.keyring.data_cipher(*claim)
        except KeyUnknown:
            await self.passed.wait(tenant)
        try:
            return await self.keyring.data_cipher(*claim)
        except KeyUnknown as error:
            raise KeyStillUnknown(tenant, draft.key_id) from error

    async def _index(
        self, prefix: Prefix, tenant: TenantId, incarnation: int, stored: bytes | None
    ) -> tuple[TenantIndex | None, list[Operation]]:
        """The index key of this incarnation, with the operation that stores it where Redis does not have it (any more).

        What is stored wins, then what this process made for a step that is still on its way; None: it is forgotten.
        """
        try:
            keys = await self._tenant_keys(tenant, incarnation)
        except KeyClosed:
            return None, []
        if keys.incarnation > incarnation:
            return None, []
        rules, known = rules_of(self.analyser(tenant), self.ranking), self._indexes.get((str(prefix), tenant))
        if known is not None and (stored is None or stored == known.stored):
            found: TenantIndex | None = known
        else:
            found = None if stored is None else await self._opened(keys, prefix, stored, rules)
        if found is None or found.key.meta.incarnation != keys.incarnation:
            keys = await self.keyring.wrapper(tenant)
            found = make_index(keys, prefix.log_id, prefix.generation, KeyId(self.make_id()), rules)
        self._indexes[str(prefix), tenant] = found
        if stored == found.stored:
            return found, []
        return found, [("SET", prefix.key(names.index_key(tenant)), found.stored)]

    async def _opened(self, keys: TenantKeys, prefix: Prefix, stored: bytes, rules: str) -> TenantIndex | None:
        if not keys.opens(by := wrapper_in(stored)):
            keys = await self.keyring.opening(keys.tenant, by)
        return open_index(keys, prefix.log_id, stored, rules)

    async def _tenant_keys(self, tenant: TenantId, incarnation: int) -> TenantKeys:
        """Of this incarnation or of a later one. Raises `KeyClosed` or `KeyStillUnknown`."""
        try:
            keys = await self.keyring.tenant(tenant)
        except (KeyUnknown, KeyClosed):
            pass
        else:
            if keys.incarnation >= incarnation:
                return keys
            self.keyring.evict_tenant(tenant)
        # Unknown, closed or an earlier one's: as far as the foundations have come, which may be less than this record.
        await self.passed.wait(tenant)
        try:
            keys = await self.keyring.tenant(tenant)
        except KeyUnknown as error:
            if await self.passed.is_over(tenant, incarnation):
                raise KeyClosed("tenant", tenant, None, None) from error
            raise KeyStillUnknown(tenant, None) from error
        if keys.incarnation < incarnation:
            raise KeyStillUnknown(tenant, None)
        return keys


def _drop(tenant: TenantId, memory_id: MemoryId) -> Operation:
    return ("recall.drop", tenant, names.memory_bytes(memory_id))


def _withdraw(tenant: TenantId, refs: Sequence[events.WithdrawnRef]) -> list[Operation]:
    """What was built on a record that went."""
    return [_drop(tenant, each.memory_id) for each in refs]


def _contests(tenant: TenantId, memory_id: MemoryId, others: Sequence[events.ConflictRef]) -> Sequence[Operation]:
    """The record and each of the others say different things, and all stay."""
    ours = names.memory_bytes(memory_id)
    return [("recall.contest", tenant, ours, names.memory_bytes(each.memory_id), each.version) for each in others]


_ENDS: Final = (
    events.MemoryRejected,
    events.MemoryRetracted,
    events.MemoryExpired,
    events.MemoryForgotten,
)  # fmt: skip
_CONFIRMED: Final = names.confirmation_grade(Confirmation.CONFIRMED)


def change_of(fact: events.Fact, tenant: TenantId) -> Sequence[Operation]:
    """What a fact that brings no record does to those there are. Pure; most facts do nothing here."""
    if isinstance(fact, _ENDS):
        return (_drop(tenant, fact.memory_id), *_withdraw(tenant, getattr(fact, "withdrawn", ())))
    match fact:
        case events.MemoryPromoted(memory_id=memory_id, version=version, trust=trust, supersedes=supersedes):
            put_into_use: Operation = (
                "recall.promote", tenant, names.memory_bytes(memory_id), names.trust_grade(trust), version,
            )  # fmt: skip
            gone: tuple[Operation, ...] = () if supersedes is None else (_drop(tenant, supersedes.memory_id),)
            gone = (*gone, *_withdraw(tenant, fact.withdrawn))
            return (*gone, put_into_use, *_contests(tenant, memory_id, fact.conflicts_with))
        case events.ConflictResolved(memory_id=memory_id, version=version, superseded=superseded):
            held: Operation = ("recall.version", tenant, names.memory_bytes(memory_id), version)
            ended = (*(each.memory_id for each in superseded), *(each.memory_id for each in fact.withdrawn))
            return (*(_drop(tenant, each) for each in ended), held)
        case events.MemorySuspended(memory_id=memory_id, version=version):
            return (("recall.suspend", tenant, names.memory_bytes(memory_id), version),)
        case events.MemoryConfirmed(memory_id=memory_id, version=version):
            return (("recall.confirm", tenant, names.memory_bytes(memory_id), _CONFIRMED, version),)
        case events.SubjectForgotten(subject=subject, generation=generation):
            return (("recall.close", tenant, subject, generation),)
        case events.SubjectReadmitted(subject=subject, generation=generation):
            return (("recall.readmit", tenant, subject, generation),)
        case (
            events.ForgettingRequested(subject=subject, generation=generation)
            | events.SubjectHeld(subject=subject, generation=generation)
        ):
            return (("recall.restrict", tenant, subject, generation),)
        case (
            events.ForgettingWithdrawn(subject=subject, generation=generation, restricted=False)
            | events.HoldLifted(subject=subject, generation=generation, restricted=False)
        ):
            return (("recall.allow", tenant, subject, generation),)
        case _:
            return ()
