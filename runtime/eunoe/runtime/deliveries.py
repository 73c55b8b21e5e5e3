"""Records on their way to Kafka: each is confirmed, or whoever sent it is told that it was not, by its command id."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.errors import KafkaError

from eunoe.runtime.errors import BrokerAway
from eunoe.schemas.ids import CommandId

_NAMED: Final = 5
_DOING: Final = "taking a command"


@dataclass(eq=False)
class NotSent(BrokerAway):
    """Kafka has not confirmed the record. It may be there all the same: sending it again under its id is safe.

    ``unsent``: the commands; of a closing, all of which nobody was told.
    """

    cause: str = ""
    unsent: tuple[CommandId, ...] = ()

    def __str__(self) -> str:
        why = self.cause or f"no answer within {self.after_seconds:g} s"
        return f"Kafka did not confirm {self._what()} ({why}); nothing is reported as written"

    def _what(self) -> str:
        if not self.unsent:
            return "the record"
        more = len(self.unsent) - _NAMED
        named = ", ".join(self.unsent[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"the record of command {named}" if len(self.unsent) == 1 else f"the records of commands {named}"


class Delivery:
    """A record in the buffer. ``told``: somebody was told how it ended. ``wanted``: somebody would miss it."""

    __slots__ = ("_future", "command_id", "told", "wanted")

    def __init__(self, command_id: CommandId, future: "asyncio.Future[Any]") -> None:
        self.command_id: Final = command_id
        self._future = future
        self.told = False
        self.wanted = True

    def disown(self) -> None:
        """Nobody misses it if it does not arrive: closing neither waits for it nor tells of it."""
        self.told, self.wanted = True, False

    async def written(self) -> None:
        """Returns when Kafka has it on all in-sync replicas. Raises `NotSent`. May be asked more than once."""
        try:
            await asyncio.shield(self._future)
        except KafkaError as error:
            self.told = True
            raise NotSent(_DOING, 0.0, type(error).__name__, (self.command_id,)) from error
        except NotSent:
            self.told = True
            raise

    @property
    def settled(self) -> bool:
        """Confirmed or failed."""
        return self._future.done()

    @property
    def failure(self) -> BaseException | None:
        """Why Kafka does not have it; None where it does, or is still asked."""
        if not self._future.done() or self._future.cancelled():
            return None
        return self._future.exception()

    def fail(self, seconds: float) -> None:
        # aiokafka leaves a settled future alone when it settles the batch.
        if not self._future.done():
            self._future.set_exception(NotSent(_DOING, seconds, unsent=(self.command_id,)))

    async def over(self) -> None:
        """Returns when it is settled, either way."""
        await asyncio.wait([self._future])


class Deliveries:
    """Fails what Kafka has not confirmed in ``seconds``: records in the order of sending, one timer for the oldest.

    Belongs to one event loop. Keeps what failed until somebody is told of it, which is little: the buffer is bounded,
    and takes nothing more while a broker is away.
    """

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._open: deque[tuple[float, Delivery]] = deque()
        self._failed: list[Delivery] = []
        self._timer: asyncio.TimerHandle | None = None
        self.broken: BaseException | None = None
        """What Kafka refused a record with since `mended`, its deadline aside."""

    def watch(self, delivery: Delivery) -> None:
        self.drop_settled()
        self._open.append((self._loop.time() + self._seconds, delivery))
        if self._timer is None:
            self._timer = self._loop.call_at(self._open[0][0], self._look)

    async def settled(self, within: float) -> None:
        """Returns when nothing that is wanted is open any more; after ``within`` seconds it fails what is."""

        try:
            async with asyncio.timeout(within):
                for _, delivery in tuple(self._open):
                    if delivery.wanted:
                        await delivery.over()
        except TimeoutError:
            for _, delivery in self._open:
                delivery.fail(within)
        self.drop_settled()

    def untold(self) -> Sequence[CommandId]:
        """What failed without anybody having been told; they are told now."""
        self.drop_settled()
        found = [each for each in self._failed if not each.told]
        self._failed.clear()
        for each in found:
            each.told = True
        return [each.command_id for each in found]

    def mended(self) -> None:
        self.broken = None

    def drop_settled(self) -> None:
        while self._open and self._open[0][1].settled:
            delivery = self._open.popleft()[1]
            if (why := delivery.failure) is None:
                continue
            if not isinstance(why, NotSent):
                self.broken = why
            if not delivery.told:
                self._failed.append(delivery)

    def _look(self) -> None:
        now = self._loop.time()
        for deadline, delivery in self._open:
            if deadline > now:
                break
            delivery.fail(self._seconds)
        self.drop_settled()
        self._failed = [each for each in self._failed if not each.told]
        self._timer = self._loop.call_at(self._open[0][0], self._look) if self._open else None
