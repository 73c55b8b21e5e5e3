"""Reading timelines from the ``history`` model."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from redis.asyncio import Redis

from eunoe.readmodels.history import NAME, HistoryNames, Stored, change, closing
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.store import answers, ask, text
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.events import Reason, SubjectRef
from eunoe.schemas.ids import MemoryId, Millis, Offset, TenantId


class Entry(Stored, frozen=True, kw_only=True, omit_defaults=True):
    """One change, at its offset in ``memory-lifecycle``. The forgetting of a subject is an entry of each of its
    records."""

    position: Offset


class History(Struct, frozen=True, kw_only=True):
    """``entries`` in log order; empty where the record is unknown, or was not there as of the time asked for.

    ``position``: how far the model was, comparable with a consistency token's.
    """

    memory_id: MemoryId
    entries: tuple[Entry, ...]
    position: Offset


class HistoryReader:
    """Answers from the model; raises `StoreUnavailable`, `BeingFilled`, or `Undecodable` for another version's entries.

    ``generation``: a certain one; None: the one that serves.
    """

    def __init__(self, redis: Redis, installation: Installation, generation: int | None = None) -> None:
        self._redis = redis
        self._installation = installation
        self._serving = Serving(redis, installation, NAME, generation)

    async def history(self, tenant: TenantId, memory_id: MemoryId, as_of: Millis | None = None) -> History:
        """What happened to the record, up to and including log time ``as_of``."""

        async def reading(prefix: Prefix) -> History:
            await self._serving.filled(prefix)
            return await self._history(HistoryNames(prefix), tenant, memory_id, as_of)

        return await self._serving.read(self._installation.partition_of(tenant), reading)

    async def _history(
        self, names: HistoryNames, tenant: TenantId, memory_id: MemoryId, as_of: Millis | None
    ) -> History:
        with answers("reading a history"):
            position, changes = await ask(
                self._redis,
                ("HGET", names.prefix.watermark, "position"),
                ("HGETALL", names.memory(tenant, memory_id)),
            )
            entries = [_entry(Offset(int(at)), change(value)) for at, value in _pairs(changes).items()]
            entries += await self._closings(names, tenant, entries)
        entries.sort(key=lambda each: each.position)
        return History(
            memory_id=memory_id,
            entries=tuple(each for each in entries if as_of is None or each.decided_at <= as_of),
            position=Offset(int(position or 0)),
        )

    async def _closings(self, names: HistoryNames, tenant: TenantId, entries: Sequence[Entry]) -> list[Entry]:
        """The forgetting of those whom the record is about: it is gone with the first of them.

        Of somebody whom it concerns only because of what it was built on, the entry says so (``lineage``).
        """
        about: Sequence[SubjectRef] = tuple({ref for entry in entries for ref in entry.subjects})
        if not about:
            return []
        by_lineage = {ref for entry in entries for ref in entry.by_lineage}
        asked = [("HGET", names.closed(tenant, ref.subject), ref.generation) for ref in about]
        found = zip(about, await ask(self._redis, *asked), strict=True)
        closings = [(ref, *closing(value)) for ref, value in found if value is not None]
        return [
            _entry(position, replace(stored, reasons=(Reason.LINEAGE.value,)) if ref in by_lineage else stored)
            for ref, position, stored in closings
        ]


def _entry(position: Offset, stored: Stored) -> Entry:
    return Entry(position=position, **{name: getattr(stored, name) for name in Stored.__struct_fields__})


def _pairs(answer: Any) -> Mapping[str, bytes]:
    pairs = answer.items() if isinstance(answer, dict) else zip(answer[::2], answer[1::2], strict=True)
    return {text(at): value for at, value in pairs}
