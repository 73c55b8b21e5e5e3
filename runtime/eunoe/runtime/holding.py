"""Which processes hold which key-encryption keys: each says so in Redis, and obeys what ``memory-control`` says.

Whoever opens keys needs Redis for it, so a record there reaches whoever matters. A process that died without a word
stays listed until somebody says that it is gone: only a person can know that. `eunoe keys status` shows them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, RedisError

from eunoe.crypto.errors import WrongKek
from eunoe.crypto.kek_ring import KekRing
from eunoe.runtime.clock import Clock
from eunoe.runtime.control import ControlFollower
from eunoe.runtime.errors import RuntimeFault
from eunoe.runtime.installation import Installation
from eunoe.runtime.kek_rotation import obey
from eunoe.runtime.redis.errors import ProjectionError
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import LogId, Millis, Offset, Partition, new_id

SILENT_MS: Final = 20_000
"""A holder that has not said anything for so long may be dead; it says something every `_SAY_S`."""
_SAY_S: Final = 5.0
_LOOK_S: Final = 0.1
_LEAVE_S: Final = 1.0
_NEVER: Final = Offset(-2)

log = logging.getLogger(__name__)


class Holder(Struct, frozen=True, kw_only=True):
    """What a process says of itself. ``held``: ids of KEKs; ``first``: the one that its settings name first, with which
    it will start again; ``control``: how far it has read ``memory-control``."""

    holder: str
    held: tuple[str, ...]
    first: str
    wraps: str
    control: Offset
    at: Millis = Millis(0)

    def silent(self, now: Millis) -> bool:
        return now - self.at > SILENT_MS


def _key(log_id: LogId) -> str:
    return Prefix(log_id, Partition(0), "holders").key("all")


async def holders(redis: Redis, log_id: LogId) -> tuple[Holder, ...]:
    """Everybody who said something and has not taken leave. Raises what Redis does."""
    answer: Any = redis.hgetall(_key(log_id))
    found = [_holder(name.decode("utf-8", "backslashreplace"), value) for name, value in (await answer).items()]
    return tuple(sorted(found, key=lambda each: each.holder))


def _holder(name: str, value: bytes) -> Holder:
    """What cannot be read was written by nobody who obeys: it holds nothing, and is silent until it is struck off."""
    try:
        return msgspec.json.decode(value, type=Holder)
    except msgspec.MsgspecError:
        return Holder(holder=name, held=(), first="", wraps="", control=_NEVER)


async def strike_off(redis: Redis, log_id: LogId, gone: tuple[str, ...]) -> None:
    """Take holders off the list that are gone for good. Raises what Redis does."""
    if gone:
        answer: Any = redis.hdel(_key(log_id), *gone)
        await answer


@dataclass(slots=True, kw_only=True)
class _Holding:
    name: str
    ring: KekRing
    follower: ControlFollower
    redis: Redis
    log_id: LogId
    clock: Clock
    _obeyed: Offset = _NEVER
    _said: Holder | None = None
    _mute: bool = False
    _last: float = 0.0

    def obey(self) -> None:
        """Raises ``WrongKek``."""
        state = self.follower.state
        if state.offset != self._obeyed:
            self._obeyed = state.offset
            obey(self.ring, state.rotation)

    async def run(self) -> None:
        while True:
            try:
                self.obey()
            except WrongKek as missing:
                log.error("%s: %s; nothing is wrapped here any more until it is given", self.name, missing)
            await self.say()
            await asyncio.sleep(_LOOK_S)

    async def say(self) -> None:
        now = self.clock.now()
        ring = self.ring
        said = Holder(holder=self.name, held=ring.held, first=ring.first, wraps=ring.kek_id, control=self._obeyed)
        if said == self._said and self._last + _SAY_S > asyncio.get_running_loop().time():
            return
        record = msgspec.json.encode(msgspec.structs.replace(said, at=now))
        if await self._tell(record):
            self._said, self._last = said, asyncio.get_running_loop().time()

    async def leave(self) -> None:
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._tell(None)
        except TimeoutError:
            pass  # it stays listed as silent, and somebody says that it is gone

    async def _tell(self, record: bytes | None) -> bool:
        key = _key(self.log_id)
        try:
            answer: Any = self.redis.hdel(key, self.name) if record is None else self.redis.hset(key, self.name, record)
            await answer
        except NoPermissionError:
            if not self._mute:
                log.error("%s may not say in Redis which KEK it holds: a rotation will not wait for it", self.name)
            self._mute = True
            return False
        except (RedisError, OSError, RuntimeFault, ProjectionError):
            return False  # without Redis no key is opened either; said again at the next look
        return True


@asynccontextmanager
async def holding(
    name: str, ring: KekRing, follower: ControlFollower, redis: Redis, installation: Installation, clock: Clock
) -> AsyncIterator[None]:
    """``ring`` obeys ``memory-control`` within the block, and the process is listed. ``name``: what kind it is.

    Raises ``WrongKek`` where the KEK that wraps is not held here.
    """
    held = _Holding(
        name=f"{name}-{new_id()[-12:]}",
        ring=ring,
        follower=follower,
        redis=redis,
        log_id=installation.log_id,
        clock=clock,
    )
    held.obey()
    await held.say()
    task = asyncio.create_task(held.run(), name="holding")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await held.leave()
