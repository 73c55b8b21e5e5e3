"""What is seen while faults are injected: how far deciding and projecting are, and what workers say of themselves.

Asked of the broker directly, past the proxy. While the broker or Redis is away there is no answer, and so no progress.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from redis.asyncio import Redis
from redis.exceptions import RedisError

from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic
from eunoe.testing.chaos.crew import Crew

_LOOK_S: Final = 0.5
_ANSWER_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Look:
    """``at`` in seconds of the monotonic clock; sums over all partitions, None where nobody answered. ``unready``:
    what workers say keeps them from being ready."""

    at: float
    decided: int | None
    recalled: int | None
    unready: tuple[str, ...]


def standstill(looks: Sequence[Look], name: str, first: float, last: float) -> float:
    """The longest time without progress of ``decided`` or ``recalled``, in seconds: of stretches that reach into the
    time from ``first`` to ``last``, what comes after ``first``.

    A value that fell (Redis lost it) is no progress until it is above what it was.
    """
    longest, furthest, since = 0.0, -1, looks[0].at if looks else 0.0
    for look in looks:
        value = getattr(look, name)
        moved = value is not None and value > furthest
        if (moved or look is looks[-1]) and since <= last:
            longest = max(longest, look.at - max(since, first))
        if moved:
            furthest, since = value, look.at
    return longest


@dataclass(slots=True)
class Watcher:
    """`run` looks until it is cancelled. ``kafka``: the broker itself."""

    kafka: str
    redis: str
    installation: Installation
    crew: Crew
    looks: list[Look] = field(default_factory=list)

    async def run(self) -> None:
        client: Any = Redis.from_url(self.redis, socket_timeout=_ANSWER_S)
        try:
            while True:
                decided, recalled, unready = await asyncio.gather(
                    self._decided(), self._recalled(client), self._unready()
                )
                self.looks.append(Look(time.monotonic(), decided, recalled, unready))
                await asyncio.sleep(_LOOK_S)
        finally:
            await client.aclose()

    async def _decided(self) -> int | None:
        """Where the facts end. A consumer for each look: one that is kept would have to be waited for, too."""
        topic = self.installation.topic(Topic.LIFECYCLE)
        places = [TopicPartition(topic, each) for each in range(self.installation.partitions)]
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka, isolation_level="read_committed")
        try:
            async with asyncio.timeout(_ANSWER_S):
                await consumer.start()
                return int(sum((await consumer.end_offsets(places)).values()))
        except (KafkaError, TimeoutError):
            return None
        finally:
            await consumer.stop()

    async def _recalled(self, client: Any) -> int | None:
        marks = [
            Prefix(self.installation.log_id, Partition(each), "recall").watermark
            for each in range(self.installation.partitions)
        ]
        try:
            async with asyncio.timeout(_ANSWER_S):
                return sum([int(await client.hget(each, "position") or 0) for each in marks])
        except (RedisError, OSError, TimeoutError):
            return None

    async def _unready(self) -> tuple[str, ...]:
        """By the ways in which they are not: without partitions and counts, so that they can be listed."""
        found = await asyncio.gather(*(asyncio.to_thread(worker.problems) for _, worker in list(self.crew.running())))
        return tuple(sorted({each.partition(":")[0].partition(" partition ")[0] for told in found for each in told}))
