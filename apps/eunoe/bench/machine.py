"""The machine and the versions a figure was taken with; no name of a machine."""

import importlib.metadata
import os
import platform
from pathlib import Path

from redis.asyncio import Redis

from eunoe.bench.figures import Cell
from eunoe.stack.jars import KAFKA_VERSION
from eunoe.stack.provider import ProviderName

_CPU_INFO = Path("/proc/cpuinfo")


async def describe(redis: Redis, provider: ProviderName) -> dict[str, Cell]:
    """What stands above every figure. Kafka's version is known only where we started it: a broker does not tell."""
    server = await redis.info("server")
    return {
        **describe_alone(),
        "kafka": KAFKA_VERSION if provider == "local" else f"not known ({provider})",
        "redis": str(server["redis_version"]),
        "aiokafka": importlib.metadata.version("aiokafka"),
    }


def describe_alone() -> dict[str, Cell]:
    """The machine alone, of what needs neither broker nor Redis."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    if _CPU_INFO.is_file():
        for line in _CPU_INFO.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (OSError, ValueError):
        return None
