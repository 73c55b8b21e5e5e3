"""Where bytes can be: the records of topics, the files of the stack, and every key and value in Redis."""

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time

_CHUNK: Final = 4 << 20
_SCAN: Final = 500


@dataclass(frozen=True, slots=True)
class Chunk:
    """``place``: for people. ``item``: a record, a file, a key; a large one comes in several overlapping chunks."""

    place: str
    item: str
    data: bytes = field(repr=False)


async def records(bootstrap: Bootstrap, counts: Mapping[str, int]) -> AsyncIterator[Chunk]:
    """Key, value and headers of every record in ``counts`` (partitions by topic), decoded from the batches.

    Aborted transactions are read too: their bytes lie in the log like any others.
    """
    async for record in read_topics(bootstrap, counts, "read_uncommitted"):
        yield Chunk(record.topic, f"{record.partition}:{record.offset}", _joined(record))


async def read_topics(bootstrap: Bootstrap, counts: Mapping[str, int], isolation: str) -> AsyncIterator[Any]:
    """aiokafka's ``ConsumerRecord``s from the beginning to the end as it is now, in the order of each partition."""
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        exclude_internal_topics=False,
        fetch_max_wait_ms=50,
    )
    await consumer.start()
    try:
        places = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
        first, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        left = {each for each in places if ends[each] > first[each]}
        if not left:
            return
        consumer.assign(sorted(left))
        await consumer.seek_to_beginning(*left)
        while left:
            for place, batch in (await consumer.getmany(timeout_ms=200)).items():
                for record in batch:
                    if record.offset < ends[place]:
                        yield record
            # Transaction markers are passed without a record: only the position says that the end is reached.
            left -= {each for each in left if await consumer.position(each) >= ends[each]}
    finally:
        await close_in_time(consumer.stop())


def _joined(record: Any) -> bytes:
    """One record's parts, apart by bytes that no text has, so that no match straddles two of them."""
    headers = [part for name, value in record.headers for part in (name.encode(), value or b"")]
    return b"\xff\x00\xff".join([record.key or b"", record.value or b"", *headers])


async def redis_values(redis: Redis, match: str) -> AsyncIterator[Chunk]:
    """Every key that matches, and everything it holds, read by type. ``redis`` answers in bytes."""
    async for key in redis.scan_iter(match=match, count=_SCAN):
        async for data in _held(redis, key):
            yield Chunk("", key.hex(), data)


async def _held(redis: Redis, key: bytes) -> AsyncIterator[bytes]:
    yield key
    client: Any = redis  # its answers are typed as "this or an awaitable of it"
    match (await client.type(key)).decode():
        case "string":
            yield await client.get(key) or b""
        case "hash":
            for name, value in (await client.hgetall(key)).items():
                yield name + b"\xff\x00\xff" + value
        case "list":
            for value in await client.lrange(key, 0, -1):
                yield value
        case "set":
            for value in await client.smembers(key):
                yield value
        case "zset":
            for value in await client.zrange(key, 0, -1):
                yield value
        case "none":  # it went while we looked
            pass
        case _:
            yield await client.dump(key) or b""


def files(folders: Iterable[tuple[str, Path]], overlap: int) -> Iterator[Chunk]:
    """What the files under ``folders`` (or single files) hold, without the holes of sparse files, which hold nothing.

    Chunks of one file overlap by ``overlap`` bytes. The place of a file is its topic where it lies in a segment folder
    (``<topic>-<partition>``), else the name given with its folder.
    """
    for name, folder in folders:
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
            if not path.is_symlink() and path.is_file():
                place = _topic_of(path, folder) or name
                for data in _content(path, overlap):
                    yield Chunk(place, str(path.relative_to(folder)), data)


def _topic_of(path: Path, folder: Path) -> str | None:
    for each in path.relative_to(folder).parts[:-1]:
        topic, _, number = each.rpartition("-")
        if topic and number.isdigit():
            return topic
    return None


def _content(path: Path, overlap: int) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as file:
            for start, end in _extents(file.fileno()):
                at = start
                while at < end:
                    yield os.pread(file.fileno(), min(_CHUNK + overlap, end - at), at)
                    at += _CHUNK
    except FileNotFoundError:  # a segment that was rolled away while we looked; its records were read
        return


def _extents(descriptor: int) -> Iterator[tuple[int, int]]:
    """Where a file has data. Kafka's index files are ten megabytes of hole each."""
    size = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    at = 0
    while at < size:
        try:
            start = os.lseek(descriptor, at, os.SEEK_DATA)
        except OSError:  # no data from here on
            return
        at = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, min(at, size)
