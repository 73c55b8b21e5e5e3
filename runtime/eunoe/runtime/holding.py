"""Which processes hold which key-encryption keys: each says so in Redis, and obeys what ``memory-control`` says.

Whoever opens keys needs Redis for it, so a record there reaches whoever matters. A process that died without a word
stays listed until somebody says that it is gone: only a person can know that. `eunoe keys status` shows them. There is
a list for each user of Redis, so that a role can neither strike off another one's processes nor speak for them; when
each said something is told by Redis's clock.
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, RedisError

from eunoe.crypto.errors import WrongKek
from eunoe.crypto.kek_ring import KekRing
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
    it will start again; ``control``: how far it has read ``memory-control``; ``at``: when, by Redis's clock.

    ``silent_ms``: how long ago that was when the list was read.
    """

    holder: str
    held: tuple[str, ...]
    first: str
    wraps: str
    control: Offset
    host: str = ""
    pid: int = 0
    at: Millis = Millis(0)
    silent_ms: int = 0

    @property
    def silent(self) -> bool:
        return self.silent_ms > SILENT_MS

    @property
    def named(self) -> str:
        """For whoever has to find it."""
        return f"{self.holder} (process {self.pid} on {self.host})" if self.host else self.holder


def _key(log_id: LogId, user: str) -> str:
    return Prefix(log_id, Partition(0), "holders").key(f"of:{user}")


def _users(log_id: LogId) -> str:
    """Names of users who have a list. Everybody may add to it, and only an operator take away."""
    return Prefix(log_id, Partition(0), "holders").key("users")


async def redis_time(redis: Redis) -> Millis:
    """Redis's clock; in a cluster, that of the node that the client asks first."""
    seconds, micros = await redis.time()
    return Millis(int(seconds) * 1_000 + int(micros) // 1_000)


async def holders(redis: Redis, log_id: LogId) -> tuple[Holder, ...]:
    """Everybody who said something and has not taken leave. Raises what Redis does."""
    found = []
    for user in await _listing(redis, log_id):
        answer: Any = redis.hgetall(_key(log_id, user))
        found += [_holder(name.decode("utf-8", "backslashreplace"), value) for name, value in (await answer).items()]
    now = await redis_time(redis)
    told = [msgspec.structs.replace(each, silent_ms=max(0, now - each.at)) for each in found]
    return tuple(sorted(told, key=lambda each: each.holder))


async def _listing(redis: Redis, log_id: LogId) -> list[str]:
    answer: Any = redis.smembers(_users(log_id))
    return sorted(each.decode() for each in await answer)


def _holder(name: str, value: bytes) -> Holder:
    """What cannot be read was written by nobody who obeys: it holds nothing, and is silent until it is struck off."""
    try:
        return msgspec.json.decode(value, type=Holder)
    except msgspec.MsgspecError:
        return Holder(holder=name, held=(), first="", wraps="", control=_NEVER)


async def strike_off(redis: Redis, log_id: LogId, gone: tuple[str, ...]) -> None:
    """Take holders off the lists that are gone for good. Raises what Redis does."""
    for user in await _listing(redis, log_id) if gone else ():
        answer: Any = redis.hdel(_key(log_id, user), *gone)
        await answer


@dataclass(slots=True, kw_only=True)
class _Holding:
    name: str
    ring: KekRing
    follower: ControlFollower
    redis: Redis
    user: str
    log_id: LogId
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
        ring = self.ring
        said = Holder(
            holder=self.name,
            held=ring.held,
            first=ring.first,
            wraps=ring.kek_id,
            control=self._obeyed,
            host=socket.gethostname(),
            pid=os.getpid(),
        )
        if said == self._said and self._last + _SAY_S > asyncio.get_running_loop().time():
            return
        if await self._tell(said):
            self._said, self._last = said, asyncio.get_running_loop().time()

    async def leave(self) -> None:
        try:
            async with asyncio.timeout(_LEAVE_S):
                await self._tell(None)
        except TimeoutError:
            pass  # it stays listed as silent, and somebody says that it is gone

    async def _tell(self, said: Holder | None) -> bool:
        try:
            await self._write(said)
        except NoPermissionError:
            if not self._mute:
                log.error("%s may not say in Redis which KEK it holds: a rotation will not wait for it", self.name)
            self._mute = True
            return False
        except (RedisError, OSError, RuntimeFault, ProjectionError):
            return False  # without Redis no key is opened either; said again at the next look
        return True

    async def _write(self, said: Holder | None) -> None:
        key, client = _key(self.log_id, self.user), cast("Any", self.redis)
        if said is None:
            await client.hdel(key, self.name)
            return
        record = msgspec.json.encode(msgspec.structs.replace(said, at=await redis_time(self.redis)))
        # With every word, for a Redis that was emptied has lost both.
        await client.sadd(_users(self.log_id), self.user)
        await client.hset(key, self.name, record)


@asynccontextmanager
async def holding(
    name: str, ring: KekRing, follower: ControlFollower, redis: Redis, user: str, installation: Installation
) -> AsyncIterator[None]:
    """``ring`` obeys ``memory-control`` within the block, and the process is listed. ``name``: what kind it is;
    ``user``: whom Redis knows it as.

    Raises ``WrongKek`` where the KEK that wraps is not held here.
    """
    held = _Holding(
        name=f"{name}-{new_id()[-12:]}",
        ring=ring,
        follower=follower,
        redis=redis,
        user=user,
        log_id=installation.log_id,
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
