"""Is a plaintext anywhere in Kafka or in Redis? A search that proves that it would have found one.

A control text, made up for this search, is planted in a scratch topic (as key, value and headers, in four forms) and in
a scratch Redis key, and must be found in every kind of place that is searched; a search that misses it proves nothing
and is not `clean`. Both are removed afterwards. Findings name places, kinds and forms, never a text.
"""

import base64
import hashlib
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis

from eunoe.operations.byte_patterns import LEAST_BYTES, Patterns, Wanted
from eunoe.operations.byte_places import Chunk, files, records, redis_values
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.kafka import topic_admin
from eunoe.runtime.lane import heed_cancellation

RECORDS: Final = "records of topics"
SEGMENTS: Final = "segment files"
BROKER_FILES: Final = "other files of the broker"
REDIS: Final = "Redis keys and values"
REDIS_FILES: Final = "Redis files"
OTHER_FILES: Final = "other files"
GROUPS: Final = (RECORDS, SEGMENTS, BROKER_FILES, REDIS, REDIS_FILES, OTHER_FILES)
CONTROL_FORMS: Final = frozenset({"utf-8", "utf-16-le", "base64", "SHA-256"})
_SCRATCH: Final = "byte-search-control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """What is searched: topics that start with ``prefix``, Redis keys that match ``keys``, and the files under folders.

    ``topics``: only these, where any are named. ``scratch`` starts the name of the scratch key, so that ``keys`` match
    it. The folders are the broker's (segment files anywhere below), Redis's, and any others (logs, exports); none where
    they cannot be reached, which the findings then say.
    """

    kafka: Bootstrap
    redis: Redis
    prefix: str = ""
    topics: frozenset[str] = frozenset()
    keys: str = "*"
    scratch: str = ""
    kafka_folders: tuple[Path, ...] = ()
    redis_folders: tuple[Path, ...] = ()
    other_folders: tuple[Path, ...] = ()

    def searches(self, topic: str) -> bool:
        return topic.startswith(self.prefix) and (not self.topics or topic in self.topics)


@dataclass(slots=True)
class Place:
    """What was looked at in one place (``topic`` where it is one), and what was found there.

    ``items``: the records, files or keys. ``indexes``: of the texts found here, with the forms they were found in;
    ``control``: the forms of the control; ``sealed``: indexes of the sealed bodies seen.
    """

    group: str
    topic: str | None
    bytes: int = 0
    items: set[str] = field(default_factory=set)
    indexes: dict[int, set[str]] = field(default_factory=dict)
    control: set[str] = field(default_factory=set)
    sealed: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.group if self.topic is None else f"{self.group} of {self.topic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The findings. ``missed``: kinds of places in which the control was not found in every form; ``unseen``: those
    that hold every sealed body and in which one was not seen; ``files``: whether files were searched."""

    texts: tuple[Wanted, ...]
    sealed: int
    too_short: int
    places: tuple[Place, ...]
    control_in: tuple[str, ...]
    missed: tuple[str, ...]
    unseen: tuple[str, ...]
    files: bool

    @property
    def found(self) -> int:
        """How many of the texts were found anywhere."""
        return len({index for place in self.places for index in place.indexes})

    @property
    def clean(self) -> bool:
        """No text found, by a search that found its control and the sealed bodies where they are."""
        return not (self.found or self.missed or self.unseen)

    @property
    def bytes(self) -> int:
        return sum(place.bytes for place in self.places)

    def kinds(self, place: Place) -> Counter[str]:
        return Counter(self.texts[index].kind for index in place.indexes)

    @property
    def conclusion(self) -> str:
        said = (
            f"searched {self.bytes / 1e6:.1f} MB: {self.found} of {len(self.texts) - self.too_short} plaintexts found; "
            f"the planted control was found in {', '.join(self.control_in) or 'no place'}"
        )
        if self.missed:
            said += f" but NOT in {', '.join(self.missed)}: there this search proves nothing"
        if self.unseen:
            said += f"; sealed bodies that must be in {', '.join(self.unseen)} were not seen there"
        if not self.files:
            said += "; the files of this Kafka and Redis cannot be reached from here"
        if self.too_short:
            said += f"; {self.too_short} texts of under {LEAST_BYTES} bytes cannot be told from chance: not looked for"
        return said


async def search_bytes(where: Where, texts: Sequence[Wanted], sealed: Sequence[bytes] = ()) -> Searched:
    """Look for every one of ``texts`` in every place of ``where``.

    ``sealed`` are ciphertexts known to be stored: where they are seen, the search has looked where memories lie. Each
    must be seen among the records, and in the segment files where those are searched.
    Blocks the loop for parts of a second while it reads files. Raises what Kafka and Redis raise.
    """
    control = f"control-{secrets.token_hex(12)}"
    patterns = Patterns((*texts, Wanted("control", control)), sealed)
    found: dict[tuple[str, str | None], Place] = {}
    expected = {RECORDS, REDIS}
    expected |= {SEGMENTS} if where.kafka_folders else set()

    def look(group: str, chunk: Chunk) -> None:
        topic = chunk.place or None
        place = found.setdefault((group, topic), Place(group, topic))
        place.bytes += len(chunk.data)
        place.items.add(chunk.item)
        for each in patterns.found_in(chunk.data):
            if each.index < len(texts):
                place.indexes.setdefault(each.index, set()).add(each.form)
            elif each.index == len(texts):
                place.control.add(each.form)
            else:
                place.sealed.add(each.index)

    async with _planted(where, control) as counts:
        async for chunk in records(where.kafka, counts):
            look(RECORDS, chunk)
        for chunk in files([("", each) for each in where.kafka_folders], patterns.longest):
            look(SEGMENTS if chunk.place else BROKER_FILES, chunk)
        async for chunk in redis_values(where.redis, where.keys):
            heed_cancellation()
            look(REDIS, chunk)
        for chunk in files([("", each) for each in where.redis_folders], patterns.longest):
            look(REDIS_FILES, chunk)
        for chunk in files([("", each) for each in where.other_folders], patterns.longest):
            look(OTHER_FILES, chunk)
        if where.redis_folders and await _appends(where.redis):
            expected.add(REDIS_FILES)
    return Searched(
        texts=tuple(texts),
        sealed=len(sealed),
        too_short=len(patterns.too_short),
        places=tuple(found.values()),
        files=bool(where.kafka_folders),
        **_proofs(found.values(), expected, len(sealed)),
    )


def _proofs(places: Iterable[Place], expected: set[str], sealed: int) -> dict[str, tuple[str, ...]]:
    """In which kinds of places the search has proved that it sees what is there, and where it has not."""
    forms: dict[str, set[str]] = {group: set() for group in expected}
    bodies: dict[str, set[int]] = {group: set() for group in expected & {RECORDS, SEGMENTS}}
    for place in places:
        forms.setdefault(place.group, set()).update(place.control)
        if place.group in bodies:
            bodies[place.group] |= place.sealed
    complete = {group for group, seen in forms.items() if seen >= CONTROL_FORMS}
    return {
        "control_in": tuple(group for group in GROUPS if group in complete),
        "missed": tuple(group for group in GROUPS if group in expected - complete),
        "unseen": tuple(group for group in GROUPS if group in bodies and len(bodies[group]) < sealed),
    }


@asynccontextmanager
async def _planted(where: Where, control: str) -> AsyncIterator[dict[str, int]]:
    """The control in its places; gives the partitions of every topic to search, by name."""
    topic, key = f"{where.prefix}{_SCRATCH}", f"{where.scratch}{_SCRATCH}"
    encoded, digest = base64.b64encode(b"." + control.encode()), hashlib.sha256(control.encode()).digest()
    client: Any = where.redis
    async with topic_admin(where.kafka) as admin:
        try:
            await admin.create(topic, 1, 1, {"compression.type": "uncompressed"})
            await _send(where.kafka, topic, control, encoded, digest)
            held = {control.encode(): control.encode("utf-16-le"), b"encoded": encoded, b"digest": digest}
            await client.hset(key, mapping=held)
            counts = await admin.partition_counts()
            yield {name: count for name, count in counts.items() if name == topic or where.searches(name)}
        finally:
            await client.unlink(key)
            await admin.delete([topic])


async def _send(bootstrap: Bootstrap, topic: str, control: str, encoded: bytes, digest: bytes) -> None:
    producer = AIOKafkaProducer(**connecting(bootstrap), acks="all")
    await producer.start()
    try:
        headers = [("control", encoded), ("digest", digest)]
        await producer.send_and_wait(topic, control.encode(), key=control.encode("utf-16-le"), headers=headers)
    finally:
        await close_in_time(producer.stop())


async def _appends(redis: Redis) -> bool:
    """Whether Redis writes every change to a file: then the control must be in it."""
    return bool((await redis.info("persistence")).get("aof_enabled"))
