"""Whether read models hold what they should: their digests, and `recall` what `history` tells of a record (M38)."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.operations.doctor_finding import Checked, Finding
from eunoe.readmodels import history
from eunoe.readmodels.history import HistoryNames, Stored, change
from eunoe.readmodels.rebuild.content import Content, content_of, counting, items_of, recounted
from eunoe.readmodels.recall import keys as recall
from eunoe.readmodels.recall.record import RECORDS
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Step, Watermark
from eunoe.schemas.ids import MemoryId, Partition, TenantId
from eunoe.schemas.values import Confirmation

_TRIES: Final = 5
_ROUNDS: Final = 20
_PAUSE_S: Final = 0.25
_GONE: Final = frozenset(
    {
        *("MemoryRejected", "MemoryRetracted", "MemoryExpired", "MemoryForgotten"),
        *(history.SUPERSEDED, history.WITHDRAWN),
    }
)
"""After an entry of these kinds a record is no longer in `recall`."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What both models know of a record that is there."""

    active: bool
    version: int
    trust: str
    confirmation: str


async def check_digests(redis: Redis, installation: Installation, libraries: Mapping[str, FunctionLibrary]) -> Checked:
    """Counts every generation anew. One that moves on all the while is left out: it cannot be counted at one offset."""
    examined, found = 0, []
    for name, library in libraries.items():
        functions = library.load()
        for number in range(installation.partitions):
            generations = await GenerationStore(redis).of(model := Prefix(installation.log_id, Partition(number), name))
            found += [_left_finding(model.of(each)) for each in generations.retiring]
            for prefix in map(model.of, generations.all):
                counted = await _counted(redis, prefix, functions)
                examined += counted is not None
                if counted is not None and not counted[1].same_as(counted[0]):
                    found.append(_digest_finding(prefix, counted[0].items, counted[1].items))
    name = "every read model holds what its digest says"
    return Checked(name=name, examined=examined, things="generations", findings=tuple(found))


async def _counted(redis: Redis, prefix: Prefix, functions: LoadedFunctions) -> tuple[Content, Content] | None:
    """What the digest says and what is there, at one offset; None where it moved on in each try, or where workers of
    another version counted."""
    for _ in range(_TRIES):
        before = await content_of(redis, prefix)
        if before.rules not in ("", await counting(redis, prefix, functions)):
            return None
        counted = recounted(await items_of(redis, prefix, functions), before.position)
        if await content_of(redis, prefix) == before:
            return before, counted
    return None


async def recount(redis: Redis, installation: Installation, model: str, library: FunctionLibrary) -> None:
    """Set the digests of ``model`` to what is there, once that was compared with the log and repaired.

    A generation that moves on meanwhile keeps its own: it is for the next look.
    """
    functions = library.load()
    for number in range(installation.partitions):
        generations = await GenerationStore(redis).of(first := Prefix(installation.log_id, Partition(number), model))
        for prefix in map(first.of, generations.all):
            before, rules = await content_of(redis, prefix), await counting(redis, prefix, functions)
            counted = recounted(await items_of(redis, prefix, functions), before.position, rules)
            if counted.same_as(before) or await content_of(redis, prefix) != before:
                continue
            marks: dict[str, str | int] = {"digest": counted.digest, "items": counted.items, "rules": rules}
            # By the library that keeps none: it takes these as they are.
            with contextlib.suppress(WatermarkMismatch):
                await Watermark(redis, prefix).move([Step(before.position, before.position, (), marks)])


def _digest_finding(prefix: Prefix, said: int, counted: int) -> Finding:
    return Finding(
        where=f"{prefix.model}[{prefix.partition}] generation {prefix.generation}",
        what=f"its digest speaks of {said} items, and {counted} others are there",
        todo=f"somebody wrote past the projector: `eunoe rebuild {prefix.model} --accept-difference`",
    )


def _left_finding(prefix: Prefix) -> Finding:
    return Finding(
        where=f"{prefix.model}[{prefix.partition}] generation {prefix.generation}",
        what="it is retired, and was not removed to its end: no erasure is proved until it is",
        todo=f"the next `eunoe rebuild {prefix.model}` removes it",
    )


async def check_histories(redis: Redis, installation: Installation) -> Checked:
    """Whether what `history` tells of each record is what `recall` has of it, field by field."""
    examined, found = 0, []
    for number in range(installation.partitions):
        histories = await _serving(redis, installation, number, history.NAME)
        records = await _serving(redis, installation, number, recall.MODEL)
        there = {key: standing async for key, standing in _in_recall(redis, records)}
        suspect = []
        async for key, told in _in_history(redis, histories):
            examined += 1
            if there.pop(key, None) != told:
                suspect.append(key)
        differing = await _differing(redis, histories, records, [*suspect, *there])
        found += [_history_finding(records, memory_id) for _, memory_id in differing]
    name = "every record is in recall what its history says"
    return Checked(name=name, examined=examined, things="histories", findings=tuple(found))


async def _differing(redis: Redis, histories: Prefix, records: Prefix, suspect: "Sequence[_Key]") -> "Sequence[_Key]":
    """Those that stay different: the two are projected apart, and what is forgotten goes in small steps."""
    for _ in range(_ROUNDS):
        if not suspect:
            break
        suspect = [key for key in suspect if await _told(redis, histories, *key) != await _held(redis, records, *key)]
        if suspect:
            await asyncio.sleep(_PAUSE_S)
    return suspect


def _history_finding(prefix: Prefix, memory_id: MemoryId) -> Finding:
    return Finding(
        where=f"recall[{prefix.partition}]",
        what=f"{memory_id} differs from the last entries of its history",
        todo="`eunoe rebuild recall` and `eunoe rebuild history` tell which of the two the log is with",
    )


async def _serving(redis: Redis, installation: Installation, number: int, model: str) -> Prefix:
    return await GenerationStore(redis).serving(Prefix(installation.log_id, Partition(number), model))


_Key = tuple[TenantId, MemoryId]


async def _in_recall(redis: Redis, prefix: Prefix) -> AsyncIterator[tuple[_Key, Standing]]:
    client: Any = redis
    async for name in client.scan_iter(match=prefix.key("d:*"), count=1_000):
        document = await client.get(name)
        if document is not None:
            record = RECORDS.decode(document[recall.Head.unpack(document).record_at :])
            yield (record.tenant, record.memory_id), _standing_of(document)


def _standing_of(document: bytes) -> Standing:
    head = recall.Head.unpack(document)
    grades = head.member.grades
    return Standing(head.state == recall.ACTIVE, head.version, grades.trust.value, grades.confirmation.value)


async def _in_history(redis: Redis, prefix: Prefix) -> AsyncIterator[tuple[_Key, Standing | None]]:
    client: Any = redis
    stem = prefix.key("memory:")
    async for name in client.scan_iter(match=f"{stem}*", count=1_000):
        tenant, _, memory_id = name.decode()[len(stem) :].rpartition(":")
        key = TenantId(tenant), MemoryId(memory_id)
        yield key, await _told(redis, prefix, *key)


async def _told(redis: Redis, prefix: Prefix, tenant: TenantId, memory_id: MemoryId) -> Standing | None:
    """What the entries come to; None where the record is gone, or about somebody who is forgotten."""
    client: Any = redis
    names = HistoryNames(prefix)
    found = await client.hgetall(names.memory(tenant, memory_id))
    entries = [change(found[at]) for at in sorted(found, key=int)]
    if not entries or entries[-1].kind in _GONE:
        return None
    for ref in entries[0].subjects:
        if await client.hexists(names.closed(tenant, ref.subject), str(ref.generation)):
            return None
    return _come_to(entries)


def _come_to(entries: list[Stored]) -> Standing:
    first, active, version = entries[0], entries[0].kind == "MemoryAccepted", 1
    trust, confirmation = first.trust, first.confirmation
    for each in entries[1:]:
        active = each.kind == "MemoryPromoted" or (active and each.kind != "MemorySuspended")
        version = each.version or version
        trust = each.trust or trust
        confirmation = each.confirmation or confirmation
        if each.kind == "MemoryConfirmed":
            confirmation = Confirmation.CONFIRMED
    assert trust is not None
    assert confirmation is not None
    return Standing(active, version, trust.value, confirmation.value)


async def _held(redis: Redis, prefix: Prefix, tenant: TenantId, memory_id: MemoryId) -> Standing | None:
    client: Any = redis
    number = await client.hget(prefix.key(recall.records_key(tenant)), uuid.UUID(memory_id).bytes)
    document = None if number is None else await client.get(prefix.key(f"d:{int(number)}"))
    return None if document is None else _standing_of(document)
