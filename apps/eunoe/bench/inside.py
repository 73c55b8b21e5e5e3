"""What Redis itself says: how long its calls took, how much memory it holds.

Percentiles need the server's statistics reset, which is done only to a Redis that a benchmark started itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from redis.asyncio import Redis

_PERCENTILES: Final = "50 95 99 100"


@dataclass(slots=True)
class Calls:
    """Calls of one command within a block. Microseconds. ``percentiles`` ("50", "95", "99", "100") are empty where the
    Redis is not ours to reset."""

    command: str
    count: int = 0
    mean: float = 0.0
    percentiles: dict[str, float] = field(default_factory=dict)


@asynccontextmanager
async def calls_of(redis: Redis, command: str, *, ours: bool) -> AsyncIterator[Calls]:
    """Filled in at the end of the block."""
    found = Calls(command)
    if ours:
        await redis.config_set("latency-tracking-info-percentiles", _PERCENTILES)
        await redis.config_resetstat()
    before = await _stats(redis, command)
    yield found
    after = await _stats(redis, command)
    found.count = int(after[0] - before[0])
    if found.count:
        found.mean = (after[1] - before[1]) / found.count
    if ours:
        told: dict[str, Any] = await redis.info("latencystats")
        values = told.get(f"latency_percentiles_usec_{command}", {})
        found.percentiles = {name.removeprefix("p"): float(value) for name, value in values.items()}


async def _stats(redis: Redis, command: str) -> tuple[float, float]:
    """Calls and microseconds so far."""
    stats: dict[str, Any] = (await redis.info("commandstats")).get(f"cmdstat_{command}", {})
    return float(stats.get("calls", 0)), float(stats.get("usec", 0))


async def used_memory(redis: Redis) -> int:
    """Bytes in use, without what clients' buffers hold."""
    told: dict[str, Any] = await redis.info("memory")
    return int(told["used_memory"]) - int(told.get("mem_clients_normal", 0))
