"""Which erasures are still to be proved: a fold of ``memory-lifecycle``, in the form that a projecting lane takes.

``pending``  hash: offset of the closing event -> the `Erasure`, until its last receipt is written
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import Event, SubjectForgotten, TenantForgotten
from eunoe.schemas.ids import CommandId, EventId, LogId, Millis, Offset, Partition, Pseudonym, TenantId
from eunoe.schemas.topics import Topic

MODEL: Final = "attest"
T_co = TypeVar("T_co", covariant=True)


class Erasure(Struct, frozen=True, kw_only=True, array_like=True):
    """A closed generation, or without a ``subject`` a whole tenant, whose incarnation ``generation`` then is.

    ``request``: the id of the command that closed it, which its sender was given.
    """

    request: CommandId
    event_id: EventId
    tenant: TenantId
    subject: Pseudonym | None
    generation: int
    offset: Offset
    closed_at: Millis


class Placed(Protocol[T_co]):
    """A record of the log and where it lies."""

    @property
    def offset(self) -> Offset: ...
    @property
    def value(self) -> T_co: ...


_ENCODE: Final = msgspec.msgpack.Encoder().encode
_DECODER: Final = msgspec.msgpack.Decoder(Erasure)


def attest_prefix(log_id: LogId, partition: Partition) -> Prefix:
    return Prefix(log_id, partition, MODEL)


def _pending(prefix: Prefix) -> str:
    return prefix.key("pending")


class PendingModel:
    """The fold. Reads nothing."""

    name: Final = MODEL
    source: Final = Topic.LIFECYCLE
    functions: Final = None

    async def fold(self, prefix: Prefix, records: Sequence[Placed[Event]]) -> Sequence[Sequence[Operation]]:
        return [_writes(prefix, each.offset, each.value) for each in records]


def _writes(prefix: Prefix, offset: Offset, event: Event) -> Sequence[Operation]:
    header = event.header
    match event.fact:
        case SubjectForgotten(subject=subject, generation=generation):
            whom: tuple[Pseudonym | None, int] = subject, generation
        case TenantForgotten(incarnation=incarnation):
            whom = None, incarnation
        case _:
            return ()
    erasure = Erasure(
        request=header.command_id,
        event_id=header.event_id,
        tenant=header.tenant,
        subject=whom[0],
        generation=whom[1],
        offset=offset,
        closed_at=header.decided_at,
    )
    return (("HSET", _pending(prefix), str(offset), _ENCODE(erasure)),)


async def pending(redis: Redis, prefix: Prefix) -> list[Erasure]:
    """In the order of the log."""
    answer: Any = redis.hvals(_pending(prefix))
    return sorted((_DECODER.decode(each) for each in await answer), key=lambda each: each.offset)


async def proved(redis: Redis, prefix: Prefix, erasures: Sequence[Erasure]) -> None:
    """Nothing is left to prove. A ledger of receipts filled anew names them again, and finds their receipts written."""
    if erasures:
        answer: Any = redis.hdel(_pending(prefix), *(str(each.offset) for each in erasures))
        await answer
