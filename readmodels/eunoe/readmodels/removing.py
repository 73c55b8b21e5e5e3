"""What a read model had of a tenant goes before its watermark passes the fact that ended the tenant.

So whatever comes later in the log meets an empty model, as if nobody had had the name before, and a model that is
filled anew is the same as one that lived through it. The steps are those of `eunoe.runtime.redis.removing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from redis.asyncio import Redis

from eunoe.readmodels.source import Positioned
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.removing import do, remove_keys
from eunoe.runtime.redis.watermark import Operation, Watermark
from eunoe.schemas.events import Event, TenantForgotten
from eunoe.schemas.ids import Offset, TenantId

_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of ``tenant`` from what is under ``prefix``, which is at ``position``."""

    redis: "Redis"
    watermark: Watermark
    prefix: Prefix
    position: Offset
    tenant: TenantId

    async def do(self, *operations: Operation) -> None:
        """One step, which leaves the position where it is. Raises `WatermarkMismatch`."""
        await do(self.watermark, self.position, operations)

    async def keys(self, *, but: str = "") -> None:
        """Every key whose name is ``<kind>:<tenant>`` or begins with ``<kind>:<tenant>:``, of all kinds ``but`` one."""

        def goes(rest: str) -> bool:
            kind, *of = rest.split(":", 2)
            return kind != but and of[:1] == [self.tenant]

        await remove_keys(self.redis, self.watermark, self.prefix, self.position, self.tenant, goes)

    async def members(self, key: str, take: str, begins: str) -> None:
        """The members of a set (``take`` is SREM) or sorted set (ZREM) that begin so."""
        client: Any = self.redis
        scan = client.zscan_iter if take == "ZREM" else client.sscan_iter
        found: list[bytes] = []
        async for each in scan(key, match=f"{begins}*", count=1_000):
            found.append(each[0] if take == "ZREM" else each)
            if len(found) >= _AT_ONCE:
                await self.do((take, key, *found))
                found = []
        if found:
            await self.do((take, key, *found))


@runtime_checkable
class LetsGo(Protocol):
    """A read model that holds something of tenants."""

    async def let_go(self, removal: Removal) -> None:
        """Remove all that it has of the tenant. Killed in between, it is called again. Raises `WatermarkMismatch`."""
        ...


async def let_go_of(model: object, removal: Removal) -> None:
    """As `LetsGo.let_go`; of a model that holds nothing of tenants, nothing is done."""
    if isinstance(model, LetsGo):
        await model.let_go(removal)


def ends_in(records: Sequence[Positioned[Any]]) -> list[tuple[Offset, TenantId]]:
    """Where in ``records`` a tenant ends, and which."""
    return [
        (each.offset, each.value.header.tenant)
        for each in records
        if isinstance(each.value, Event) and isinstance(each.value.fact, TenantForgotten)
    ]
