"""`recall` compared with the log: documents without a record, and entries of indexes without a document.

What is looked at while a projector moves is judged by the positions before and after: only what was wrong in all of
that time is found. Repairs take the projection's own way (`Watermark.move`), so they cannot cross a projector's step.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgpack
from redis.asyncio import Redis

from eunoe.operations.doctor_finding import Checked, Finding, some
from eunoe.operations.doctor_log import Facts, KeyTopic
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.keys import ACTIVE, HEAD_BYTES, MODEL, Head, Member
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation, Step, Watermark
from eunoe.schemas.ids import Partition

_COUNT: Final = 1_000
_TRIES: Final = 20
Kind = Literal["zset", "set", "hash"]
_FAMILIES: Final[Mapping[bytes, Kind]] = {
    b"t:": "zset",
    **dict.fromkeys((b"s:", b"a:", b"w:", b"r:"), "set"),
    b"i:": "hash",
}
"""What the names of indexes start with, and what each holds: see `eunoe.readmodels.recall.keys`."""
_REMOVE: Final = {"zset": "ZREM", "set": "SREM", "hash": "HDEL"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A member of an index, and the number of the record that it stands for."""

    kind: Kind
    key: bytes
    member: bytes
    number: int


@dataclass(frozen=True, slots=True)
class Document:
    """``memory``: its id, 16 bytes. ``scopes``: the names of those it counts in; none while it waits for a reviewer."""

    tenant: bytes
    memory: bytes
    scopes: tuple[bytes, ...]


@dataclass(slots=True)
class Inventory:
    """One partition of `recall`. ``before`` and ``after``: its position around the look. ``documents`` by number.
    ``scopes``: by tenant and name, its number; ``counts``: by that number, how many records Redis says it has.
    ``sweeping``: forgotten people whose records are being removed."""

    partition: Partition
    prefix: Prefix
    before: int = 0
    after: int = 0
    documents: dict[int, Document] = field(default_factory=dict)
    scopes: dict[tuple[bytes, bytes], bytes] = field(default_factory=dict)
    counts: dict[bytes, int] = field(default_factory=dict)
    entries: int = 0
    loose: list[Entry] = field(default_factory=list)
    sweeping: set[tuple[str, ...]] = field(default_factory=set)


async def take_inventory(redis: Redis, installation: Installation) -> tuple[Inventory, ...]:
    """Every generation in every partition that is kept like the serving one. Reads all they hold, in small steps."""
    found = []
    for number in range(installation.partitions):
        model = Prefix(installation.log_id, Partition(number), MODEL)
        generations = await GenerationStore(redis).of(model)
        found += [
            await _one(redis, Inventory(model.partition, model.of(number)))
            for number in generations.all
            if number not in generations.frozen
        ]
    return tuple(found)


async def _one(redis: Any, inventory: Inventory) -> Inventory:
    prefix = str(inventory.prefix).encode()
    mark = Watermark(redis, inventory.prefix)
    inventory.before = await mark.position()
    # Read after the position: who was forgotten below it is in here, or gone from the documents already.
    inventory.sweeping = {tuple(each.decode().split(" ")) for each in await redis.smembers(inventory.prefix.key("x"))}
    entries: list[Entry] = []
    async for key in redis.scan_iter(match=prefix + b"*", count=_COUNT):
        rest = key[len(prefix) :]
        if rest.startswith(b"d:"):
            document = await redis.get(key)
            if document is not None:
                inventory.documents[int(rest[2:])] = _document(document)
        elif rest.startswith(b"n:"):
            inventory.counts[rest[2:]] = int(await redis.get(key) or 0)
        elif rest.startswith(b"scopes:"):
            for name, number in (await redis.hgetall(key)).items():
                inventory.scopes[rest[len(b"scopes:") :], name] = number
        elif rest[:2] in _FAMILIES:
            async for entry in _entries(redis, _FAMILIES[rest[:2]], key):
                inventory.entries += 1
                if entry.number not in inventory.documents:
                    entries.append(entry)
    inventory.loose = [each for each in entries if await _loose(redis, inventory.prefix, each)]
    inventory.after = await mark.position()
    return inventory


def _document(content: bytes) -> Document:
    head = Head.unpack(content)
    start = HEAD_BYTES + head.guards
    tenant, memory, _, _, scopes = msgpack.unpackb(content[start : start + head.postings], raw=True)
    return Document(tenant, memory, tuple(name for name, _ in scopes) if head.state == ACTIVE else ())


async def _entries(redis: Any, kind: Kind, key: bytes) -> AsyncIterator[Entry]:
    match kind:
        case "zset":
            async for member, _ in redis.zscan_iter(key, count=_COUNT):
                yield Entry(kind, key, member, Member.unpack(member).number)
        case "set":
            async for member in redis.sscan_iter(key, count=_COUNT):
                yield Entry(kind, key, member, int(member))
        case "hash":
            async for name, value in redis.hscan_iter(key, count=_COUNT):
                yield Entry(kind, key, name, int(value))


async def _loose(redis: Any, prefix: Prefix, entry: Entry) -> bool:
    """Whether the entry is there and its document is not, before and after: a record comes and goes in one step."""
    document = prefix.key(f"d:{entry.number}")
    for _ in range(2):
        if await redis.exists(document):
            return False
        match entry.kind:
            case "zset":
                there = await redis.zscore(entry.key, entry.member) is not None
            case "set":
                there = bool(await redis.sismember(entry.key, entry.member))
            case "hash":
                there = bool(await redis.hexists(entry.key, entry.member))
        if not there:
            return False
    return True


def orphans(inventory: Inventory, facts: Facts) -> tuple[int, ...]:
    """Numbers of documents that the log made no record for, or ended before the look began."""
    return tuple(sorted(number for number in inventory.documents if _orphan(inventory, number, facts)))


def _orphan(inventory: Inventory, number: int, facts: Facts) -> bool:
    record = facts.records.get((inventory.partition, number))
    if record is None:
        return True
    if record.ended is not None and record.ended < inventory.before:
        return True
    pending = {each for each in record.whom if (each[0], each[1], str(each[2])) in inventory.sweeping}
    return facts.closed_before(record.whom - pending, inventory.before) and not pending


def counts(inventory: Inventory, facts: Facts) -> Mapping[bytes, int]:
    """By scope number, how many records it has where Redis says otherwise: the weight of a word depends on it.

    Known only where nothing moved meanwhile, and once no orphan is left.
    """
    if inventory.before != inventory.after or orphans(inventory, facts):
        return {}
    held = Counter((each.tenant, scope) for each in inventory.documents.values() for scope in each.scopes)
    right = {number: held[scope] for scope, number in inventory.scopes.items()}
    return {number: count for number, count in right.items() if inventory.counts.get(number, 0) != count}


def wanted(inventory: Inventory, facts: Facts, keys: KeyTopic) -> frozenset[int]:
    """Numbers of records that are alive, can be opened, and were folded before the look began."""
    return frozenset(
        number
        for (partition, number), record in facts.records.items()
        if partition == inventory.partition
        and number < inventory.before
        and record.ended is None
        and record.key_id in keys.held
        and not any(each in facts.closed for each in record.whom)
    )


def check_recall(inventories: Iterable[Inventory], facts: Facts, keys: KeyTopic) -> tuple[Checked, ...]:
    """Documents, entries, and records that lack a document."""
    kept = tuple(inventories)
    alive = {each.partition: wanted(each, facts, keys) for each in kept}
    return (
        _checked(
            "every document in recall has a live record",
            sum(len(each.documents) for each in kept),
            "documents",
            ((each, orphans(each, facts)) for each in kept),
            ("documents without one", "run `eunoe doctor --repair`: it removes them as the projector would"),
        ),
        _checked(
            "every entry of recall's indexes has its document",
            sum(each.entries for each in kept),
            "entries",
            ((each, [entry.number for entry in each.loose]) for each in kept),
            ("entries without one, of records", "run `eunoe doctor --repair`: it removes them"),
        ),
        _checked(
            "every scope of recall counts its records",
            sum(len(each.scopes) for each in kept if each.before == each.after),
            "scopes",
            ((each, map(int, counts(each, facts))) for each in kept),
            ("scopes that count wrong", "run `eunoe doctor --repair`: it counts anew"),
        ),
        _checked(
            "every live record is in recall",
            sum(map(len, alive.values())),
            "records",
            ((each, alive[each.partition] - each.documents.keys()) for each in kept),
            ("records not in it", "Redis lost data: flush this Redis, and everything is folded again from the log"),
        ),
    )


def _checked(
    name: str, examined: int, things: str, found: Iterable[tuple[Inventory, Iterable[int]]], said: tuple[str, str]
) -> Checked:
    findings = [
        Finding(where=f"recall[{each.partition}]", what=f"{said[0]}: {some(numbers)}", todo=said[1])
        for each, numbers in ((each, tuple(numbers)) for each, numbers in found)
        if numbers
    ]
    return Checked(name=name, examined=examined, things=things, findings=tuple(findings))


async def repair_recall(redis: Redis, inventories: Iterable[Inventory], facts: Facts) -> int:
    """Remove orphans and loose entries, correct counts. Returns how many.

    Raises `WatermarkMismatch` where a projector never rests.
    """
    repaired = 0
    for inventory in inventories:
        steps = [_dropping(inventory, number) for number in orphans(inventory, facts)]
        steps += [((_REMOVE[each.kind], each.key, each.member),) for each in inventory.loose]
        for operations in steps:
            await _apply(redis, inventory.prefix, operations)
        recounted = [
            ("SET", inventory.prefix.key(f"n:{int(number)}"), count)
            for number, count in counts(inventory, facts).items()
        ]
        if recounted:  # right for this position alone: where it has moved on, the next look counts again
            with suppress(WatermarkMismatch):
                step = Step(start=inventory.after, to=inventory.after, operations=recounted)
                await Watermark(redis, inventory.prefix, RECALL.load()).move([step])
        repaired += len(steps) + len(recounted)
    return repaired


def _dropping(inventory: Inventory, number: int) -> tuple[Operation, ...]:
    """What finds a document by its memory id may be what is broken: that is set right first, then all of it goes.

    Where another document has the same id, only this one goes; its entries are loose then, for the next look.
    """
    gone = inventory.documents[number]
    if sum((each.tenant, each.memory) == (gone.tenant, gone.memory) for each in inventory.documents.values()) > 1:
        return (("UNLINK", inventory.prefix.key(f"d:{number}")),)
    found: Operation = ("HSET", inventory.prefix.key(f"i:{gone.tenant.decode()}"), gone.memory, number)
    return (found, ("recall.drop", gone.tenant, gone.memory))


async def _apply(redis: Redis, prefix: Prefix, operations: Sequence[Operation]) -> None:
    """In one step that leaves the position where it is."""
    mark = Watermark(redis, prefix, RECALL.load())
    for attempt in range(_TRIES):
        position = await mark.position()
        try:
            await mark.move([Step(start=position, to=position, operations=operations)])
        except WatermarkMismatch:
            if attempt == _TRIES - 1:
                raise
        else:
            return
