"""What lies on the topics, read once from their beginning to their end: all that the checker is given."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from eunoe.operations.byte_places import read_topics
from eunoe.processors.dead_letters import ORIGIN_HEADER, REASON_HEADER
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import COMMANDS, ENVELOPES, EVENTS
from eunoe.schemas.commands import Command
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId
from eunoe.schemas.topics import Topic

_TRIES: Final = 10


class Asked(Struct, frozen=True, kw_only=True):
    """A record of ``memory-events``. ``command_id`` and ``command`` None: it cannot be read."""

    partition: int
    offset: int
    key: bytes | None
    command_id: CommandId | None = None
    command: Command | None = None


class Decided(Struct, frozen=True, kw_only=True):
    """A committed record of ``memory-lifecycle``."""

    partition: int
    offset: int
    key: bytes | None
    event: Event


class Lettered(Struct, frozen=True, kw_only=True):
    """A committed dead letter: the place on ``memory-events`` that it is of, and the reason."""

    partition: int
    offset: int
    reason: str


class Logged(Struct, frozen=True, kw_only=True):
    """In the order of each partition. ``counts``: committed records by topic. ``partitions``: how many there are."""

    partitions: int
    asked: tuple[Asked, ...]
    decided: tuple[Decided, ...]
    letters: tuple[Lettered, ...]


async def read_log(bootstrap: str, installation: Installation) -> Logged:
    """Read again where commands came meanwhile, for sweepers go on proposing: what was decided of one that was not read
    yet would look as if nobody had asked. Raises aiokafka's errors, and what a record does that is none of eunoe's."""
    asked: list[Asked] = []
    for _ in range(_TRIES):
        before, asked = asked, [_asked(each) async for each in _records(bootstrap, installation, Topic.EVENTS)]
        if before and len(before) == len(asked):
            break
        decided = [_decided(each) async for each in _records(bootstrap, installation, Topic.LIFECYCLE)]
        letters = [_lettered(each) async for each in _records(bootstrap, installation, Topic.DEAD_LETTERS)]
    return Logged(
        partitions=installation.partitions, asked=tuple(asked), decided=tuple(decided), letters=tuple(letters)
    )


def _records(bootstrap: str, installation: Installation, topic: Topic) -> Any:
    counts: Mapping[str, int] = {installation.topic(topic): installation.partitions}
    return read_topics(bootstrap, counts, "read_committed")


def _asked(record: Any) -> Asked:
    place = {"partition": record.partition, "offset": record.offset, "key": record.key}
    try:
        envelope = ENVELOPES.decode(record.value or b"")
    except SchemaError:
        return Asked(**place)
    try:
        command = COMMANDS.decode(envelope.command)
    except SchemaError:
        command = None
    return Asked(**place, command_id=envelope.command_id, command=command)


def _decided(record: Any) -> Decided:
    event = EVENTS.decode(record.value)
    return Decided(partition=record.partition, offset=record.offset, key=record.key, event=event)


def _lettered(record: Any) -> Lettered:
    headers = dict(record.headers)
    _, partition, offset = headers[ORIGIN_HEADER].decode().rsplit(":", 2)
    return Lettered(partition=int(partition), offset=int(offset), reason=headers[REASON_HEADER].decode())
