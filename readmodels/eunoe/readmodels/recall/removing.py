"""What `recall` holds of a tenant under names that do not hold the tenant's: found through those that do."""

from collections.abc import AsyncIterator
from typing import Any, Final

from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.removing import Removal
from eunoe.readmodels.store import text
from eunoe.readmodels.tenants import KIND

RECORDS_A_STEP: Final = 20
"""Each takes its postings along: twenty a call keep it under 2 ms."""
_SCOPES_A_STEP: Final = 100


async def let_go_records(removal: Removal) -> None:
    """Records with their postings and conflicts, counts of scopes, and what bears the tenant's name.

    Raises `WatermarkMismatch`.
    """
    redis: Any = removal.redis
    prefix, tenant = removal.prefix, removal.tenant
    async for some in _in_runs(redis.hscan_iter(prefix.key(names.records_key(tenant)), count=1_000), RECORDS_A_STEP):
        await removal.do(*(("recall.drop", tenant, memory_id) for memory_id, _ in some))
    scopes = redis.hscan_iter(prefix.key(names.scopes_key(tenant)), count=1_000)
    async for some in _in_runs(scopes, _SCOPES_A_STEP):
        numbers = [text(number) for _, number in some]
        await removal.do(
            ("UNLINK", *(prefix.key(f"{kind}:{number}") for number in numbers for kind in names.COUNTED_OF_SCOPES))
        )
    await removal.members(prefix.key(names.CLOSING), "SREM", f"{tenant} ")
    await removal.keys(but=KIND)


async def _in_runs(items: AsyncIterator[Any], most: int) -> AsyncIterator[list[Any]]:
    run: list[Any] = []
    async for each in items:
        run.append(each)
        if len(run) == most:
            yield run
            run = []
    if run:
        yield run
