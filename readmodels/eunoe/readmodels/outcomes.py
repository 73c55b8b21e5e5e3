"""The ``outcomes`` read model: what became of my command.

Folds ``memory-lifecycle``. Under the partition's prefix:

``outcome:<tenant>:<command id>``   the `Outcome`, MessagePack; the first one of a command id stays
``by-time``                         sorted set: ``<tenant>:<command id>``, scored by log time (``decided_at``)

An outcome is kept for ``retention`` of log time: each record that is folded lets at most `STEP` of the oldest go, so
that no record costs much and the set shrinks faster than it grows. What is there is a function of the log alone.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
from redis.asyncio import Redis

from eunoe.readmodels.source import Positioned
from eunoe.readmodels.store import ask, text
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED, Operation
from eunoe.schemas.errors import Undecodable
from eunoe.schemas.events import Event
from eunoe.schemas.ids import CommandId, Millis, TenantId
from eunoe.schemas.outcomes import Outcome, outcome_of
from eunoe.schemas.topics import Topic

NAME: Final = "outcomes"
RETENTION: Final = 30 * 86_400_000
"""Milliseconds of log time: as long as the commands themselves are kept on ``memory-events``."""
STEP: Final = 4
"""How many outcomes one record may push out."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Outcome)


class OutcomeNames(msgspec.Struct, frozen=True):
    """The model's Redis keys in one partition."""

    prefix: Prefix

    def outcome(self, member: str) -> str:
        return self.prefix.key(f"outcome:{member}")

    @property
    def by_time(self) -> str:
        return self.prefix.key("by-time")


def member_of(tenant: TenantId, command_id: CommandId) -> str:
    """A command within its partition. A tenant's name holds no colon."""
    return f"{tenant}:{command_id}"


def stored(value: bytes) -> Outcome:
    """The outcome in ``value``. Raises `Undecodable` for what another version wrote in another form."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError as error:
        raise Undecodable("outcome", type(error).__name__) from None


class OutcomesModel:
    """The fold. Reads which outcomes are old enough to go."""

    name: Final = NAME
    source: Final = Topic.LIFECYCLE
    forgets: Final = False

    def __init__(self, redis: Redis, retention: int = RETENTION) -> None:
        self.functions: Final[LoadedFunctions] = DIGESTED.load()
        self._redis = redis
        self._retention = retention

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        names = OutcomeNames(prefix)
        latest = max((each.value.header.decided_at for each in records), default=0)
        oldest = await self._oldest(names, latest - self._retention, STEP * len(records))
        return [self._writes(names, each, oldest) for each in records]

    async def _oldest(self, names: OutcomeNames, until: int, limit: int) -> deque[tuple[str, int]]:
        """Members and scores up to ``until``, oldest first."""
        flat = (await ask(self._redis, ("ZRANGE", names.by_time, "-inf", f"({until}", "BYSCORE", "LIMIT", 0, limit)))[0]
        found = await ask(self._redis, ("ZMSCORE", names.by_time, *flat)) if flat else [[]]
        return deque((text(member), int(score)) for member, score in zip(flat, found[0], strict=True))

    def _writes(
        self, names: OutcomeNames, record: Positioned[Event], oldest: deque[tuple[str, int]]
    ) -> Sequence[Operation]:
        """Appends to ``oldest`` what it adds: a batch may span more log time than the retention."""
        header = record.value.header
        outcome = outcome_of(record.value, names.prefix.log_id, names.prefix.partition, record.offset)
        if outcome is None:
            return ()
        member = member_of(header.tenant, header.command_id)
        writes: list[Operation] = [
            ("SET", names.outcome(member), _ENCODER.encode(outcome), "NX"),
            ("ZADD", names.by_time, "NX", header.decided_at, member),
        ]
        oldest.append((member, header.decided_at))
        gone = _too_old(oldest, Millis(header.decided_at - self._retention))
        if gone:
            writes.append(("UNLINK", *(names.outcome(each) for each in gone)))
            writes.append(("ZREM", names.by_time, *gone))
        return writes


def _too_old(oldest: deque[tuple[str, int]], cutoff: Millis) -> list[str]:
    gone: list[str] = []
    while oldest and len(gone) < STEP and oldest[0][1] < cutoff:
        gone.append(oldest.popleft()[0])
    return gone
