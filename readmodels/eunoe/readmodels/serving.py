"""Which generation of a read model answers, for readers.

A reader takes the generation it knows to serve, and looks again when it has its answer: where another one serves by
then, it asks that one instead. So an answer is always from one generation, which served when the answer was complete,
however many questions to Redis it took. `recall` looks inside its Functions, which spares the second question.

Nobody is led back in time: a Redis that lost its last writes, as when a replica takes over that had not got them all,
would tell of people who are forgotten since. What one reader was answered from before, it holds a generation to.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from redis.asyncio import Redis

from eunoe.readmodels.errors import BeingFilled
from eunoe.readmodels.store import answers, ask
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.generations import FIRST
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Offset, Partition

T = TypeVar("T")


def being_filled(prefix: Prefix, position: Any, log_end: Any) -> BeingFilled:
    """From the fields of a mark, which may be absent."""
    end = None if log_end is None else Offset(int(log_end))
    return BeingFilled(prefix.model, prefix.partition, Offset(int(position or 0)), end)


class Serving:
    """For one model. ``pinned``: a certain generation, whichever serves."""

    def __init__(self, redis: Redis, installation: Installation, model: str, pinned: int | None = None) -> None:
        self._redis = redis
        self._installation = installation
        self._model = model
        self.pinned = pinned
        self._known: dict[Partition, int] = {}
        self._seen: dict[Prefix, Offset] = {}

    def seen(self, prefix: Prefix) -> Offset:
        """How far the generation was when this reader was last answered from it; to be asked before it is asked."""
        return self._seen.get(prefix, Offset(0))

    def saw(self, prefix: Prefix, position: Offset, least: Offset) -> None:
        """It answered at ``position``. Raises `BeingFilled` where that is before ``least``, which was `seen` before."""
        if position < least:
            raise being_filled(prefix, position, least)
        self._seen[prefix] = max(position, self.seen(prefix))

    def known(self, partition: Partition) -> Prefix:
        """The generation last known to serve; the first where nobody has looked yet."""
        generation = self._known.get(partition, FIRST) if self.pinned is None else self.pinned
        return Prefix(self._installation.log_id, partition, self._model, generation)

    async def current(self, partition: Partition) -> Prefix:
        """As `known`, and as `look` the first time."""
        return self.known(partition) if partition in self._known else await self.look(partition)

    async def look(self, partition: Partition) -> Prefix:
        """The generation that serves now. Raises `StoreUnavailable`."""
        return (await self._look(partition))[0]

    async def _look(self, partition: Partition) -> tuple[Prefix, Offset]:
        """As `look`, and how far the generation is that was known to serve before."""
        known = self.known(partition)
        with answers("looking which generation serves"):
            serving, position = await ask(
                self._redis, ("HGET", known.generations, "serving"), ("HGET", known.watermark, "position")
            )
        if self.pinned is None:
            self._known[partition] = FIRST if serving is None else int(serving)
        return self.known(partition), Offset(int(position or 0))

    async def positions(self, partitions: Sequence[Partition]) -> Sequence[tuple[Prefix, Offset]]:
        """The generation that serves each partition now, and how far it is. Raises `StoreUnavailable`."""
        while True:
            prefixes = [self.known(each) for each in partitions]
            asked = [(each.generations, "serving", each.watermark, "position") for each in prefixes]
            with answers("reading watermarks"):
                found = await ask(self._redis, *(("HGET", *pair) for each in asked for pair in (each[:2], each[2:])))
            serving, positions = [int(each or FIRST) for each in found[::2]], found[1::2]
            if self.pinned is not None or all(
                now == prefix.generation for now, prefix in zip(serving, prefixes, strict=True)
            ):
                return [(prefix, Offset(int(at or 0))) for prefix, at in zip(prefixes, positions, strict=True)]
            self._known.update(zip(partitions, serving, strict=True))

    async def filled(self, prefix: Prefix) -> None:
        """Raises `BeingFilled` where the model was never at the end of the log: then "nothing" is no answer."""
        with answers("reading a watermark"):
            caught_up, position, log_end = (
                await ask(self._redis, ("HMGET", prefix.watermark, "caught_up_at", "position", "log_end"))
            )[0]
        if caught_up is None:
            raise being_filled(prefix, position, log_end)

    async def position(self, partition: Partition) -> tuple[Prefix, Offset]:
        """As `positions`, of one."""
        return (await self.positions((partition,)))[0]

    async def read(self, partition: Partition, reading: Callable[[Prefix], Awaitable[T]]) -> T:
        """What ``reading`` returns or raises for the generation that serves when it is done.

        Raises `BeingFilled` where that is not as far as it was when this reader was last answered from it.
        """
        prefix = await self.current(partition)
        while True:
            seen = self.seen(prefix)
            try:
                found = await reading(prefix)
            except Exception:
                # It may have met a generation that was being removed.
                if (now := await self.look(partition)) == prefix:
                    raise
            else:
                now, position = await self._look(partition)
                if now == prefix:
                    self.saw(prefix, position, seen)
                    return found
            prefix = now
