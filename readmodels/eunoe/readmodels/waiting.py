"""Read your own writes: waiting until a read model has come as far as a consistency token says."""

import asyncio
from typing import Final

from redis.asyncio import Redis

from eunoe.readmodels.errors import ForeignToken, NotYet, UnknownPlace
from eunoe.readmodels.keys import NAME as KEYS
from eunoe.readmodels.serving import Serving
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.outcomes import Token

_FIRST_PAUSE_S: Final = 0.002
_LONGEST_PAUSE_S: Final = 0.05


async def wait_until(
    redis: Redis, installation: Installation, model: str, token: Token, *, timeout: float, generation: int | None = None
) -> Offset:
    """Wait until ``model`` has folded everything below the token's position; returns how far it is.

    ``generation``: a certain one; None: the one that serves. Raises `ForeignToken` (another log), `UnknownPlace`,
    `NotYet` (after ``timeout`` seconds, with how far behind it is), or `StoreUnavailable`. The model must fold
    ``memory-lifecycle``, which tokens speak of.
    """
    if token.log_id != installation.log_id:
        raise ForeignToken(expected=installation.log_id, found=token.log_id)
    if token.partition >= installation.partitions:
        raise UnknownPlace(f"there are {installation.partitions} partitions, none is number {token.partition}")
    if model == KEYS:
        raise UnknownPlace("the keys read model does not fold memory-lifecycle")
    serving = Serving(redis, installation, model, generation)
    return await wait_for_position(serving, token.partition, token.position, timeout)


async def wait_for_position(serving: Serving, partition: Partition, position: Offset, timeout: float) -> Offset:
    """Wait until the serving generation is at ``position`` of its own topic; as `wait_until`."""
    clock = asyncio.get_running_loop().time
    deadline, pause = clock() + timeout, _FIRST_PAUSE_S
    while True:
        heed_cancellation()
        prefix, found = await serving.position(partition)
        if found >= position:
            return found
        left = deadline - clock()
        if left <= 0:
            raise NotYet(prefix.model, prefix.partition, position, found, timeout)
        await asyncio.sleep(min(pause, left))
        pause = min(_LONGEST_PAUSE_S, pause * 2)
