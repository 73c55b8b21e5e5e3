"""Which incarnation of a tenant there is, and whether it may be read: as `subjects` and, for itself, `recall` folds it.

Each keeps, under its own prefix:

``tenant:<tenant>``  hash: ``incarnation`` (the latest), ``since`` (log time of its readmission), ``closed`` (the
                     highest that was forgotten), ``asked`` (to be forgotten once the last legal hold is lifted)

A tenant that was never forgotten, nor asked to be, has no such hash. What is there outlives the tenant: that an
incarnation was forgotten is known without any of its keys.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.serving import Serving
from eunoe.readmodels.store import answers, ask, texts
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.events import Event, TenantForgettingRequested, TenantForgotten, TenantReadmitted
from eunoe.schemas.ids import Millis, TenantId

MODEL: Final = "subjects"
KIND: Final = "tenant"
"""The first part of the keys' names."""


class TenantStanding(Struct, frozen=True, kw_only=True):
    """``incarnation``: the latest, from 1. ``closed``: the highest that was forgotten, 0 for none. ``asked``: nobody
    reads it any more, and it is forgotten as soon as no legal hold stands. ``since``: log time; 0 for the first."""

    incarnation: int = 1
    closed: int = 0
    asked: bool = False
    since: Millis = Millis(0)

    @property
    def forgotten(self) -> bool:
        """Forgotten and not readmitted."""
        return self.closed >= self.incarnation


def tenant_key(prefix: Prefix, tenant: TenantId) -> str:
    return prefix.key(f"{KIND}:{tenant}")


def tenant_writes(prefix: Prefix, event: Event) -> Sequence[Operation]:
    """What the event changes in the tenant's standing."""
    key = tenant_key(prefix, event.header.tenant)
    match event.fact:
        case TenantForgotten(incarnation=incarnation):
            return (("HSET", key, "incarnation", incarnation, "closed", incarnation), ("HDEL", key, "asked"))
        case TenantReadmitted(incarnation=incarnation):
            return (("HSET", key, "incarnation", incarnation, "since", event.header.decided_at),)
        case TenantForgettingRequested():
            return (("HSET", key, "asked", 1),)
        case _:
            return ()


async def standing_in(redis: Redis, prefix: Prefix, tenant: TenantId) -> TenantStanding:
    """As this generation has it; of a tenant that never was, what a new one has. Raises what Redis raises."""
    return standing_of(texts((await ask(redis, ("HGETALL", tenant_key(prefix, tenant))))[0]))


def standing_of(fields: Mapping[str, str]) -> TenantStanding:
    """What the hash says."""
    return TenantStanding(
        incarnation=int(fields.get("incarnation", "1")),
        closed=int(fields.get("closed", "0")),
        asked="asked" in fields,
        since=Millis(int(fields.get("since", "0"))),
    )


class TenantsReader:
    """Answers from `subjects`; raises `StoreUnavailable`."""

    def __init__(self, redis: Redis, installation: Installation) -> None:
        self._redis = redis
        self._installation = installation
        self._serving = Serving(redis, installation, MODEL)

    async def standing(self, tenant: TenantId) -> TenantStanding:
        """As `standing_in`."""

        async def reading(prefix: Prefix) -> TenantStanding:
            with answers("reading a tenant"):
                return await standing_in(self._redis, prefix, tenant)

        return await self._serving.read(self._installation.partition_of(tenant), reading)
