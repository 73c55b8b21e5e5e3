"""Whether a process that went through everything has kept more than it needs: memory, sockets, threads, tasks.

It is compared with a fresh one of the same roles that has the same partitions and has read the same log: figures that
no table has to know.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import psutil
from msgspec import Struct

from eunoe.testing.chaos.checker import Violation
from eunoe.testing.platform import WorkerProcess

_RUNNING: Final = re.compile(r'^eunoe_lanes\{service="\w+",state="running"\} (\S+)$', re.MULTILINE)
_TASKS: Final = re.compile(r"^eunoe_tasks (\S+)$", re.MULTILINE)
_CHECK: Final = "no process leaked"
_MORE: Final[Mapping[str, int]] = MappingProxyType({"sockets": 24, "threads": 4, "tasks": 12})
"""Beyond a fresh process. Connections of pools come and go with the load: fresh ones had 84 to 96 (measured)."""
_GROWN: Final = 1.5
_CACHES: Final = 64 << 20
"""Bytes: what a worker that has judged everything keeps of keys and code, which a fresh one has not needed yet."""


class Vitals(Struct, frozen=True, kw_only=True):
    """``rss`` in bytes. ``sockets``: those connected, whatever their state."""

    rss: int
    sockets: int
    threads: int
    tasks: int

    def __str__(self) -> str:
        return f"{self.rss / 2**20:.0f} MiB, {self.sockets} sockets, {self.threads} threads, {self.tasks} tasks"


def vitals_of(worker: WorkerProcess) -> Vitals:
    """Raises OSError where it does not answer."""
    process = psutil.Process(worker.pid)
    found = _TASKS.search(worker.page("metrics"))
    if found is None:
        raise LookupError("the worker does not say how many tasks it has (eunoe_tasks)")
    return Vitals(
        rss=process.memory_info().rss,
        sockets=len(process.net_connections("inet")),
        threads=process.num_threads(),
        tasks=int(float(found[1])),
    )


def has_everything(worker: WorkerProcess, partitions: int) -> bool:
    """Whether every service of it runs every partition. Raises OSError where it does not answer."""
    running = [int(float(each)) for each in _RUNNING.findall(worker.page("metrics"))]
    return bool(running) and all(each == partitions for each in running)


def leaked(survivor: Vitals, fresh: Vitals) -> Iterator[Violation]:
    """What the survivor has too much of."""
    for name, more in _MORE.items():
        has, needs = getattr(survivor, name), getattr(fresh, name)
        if has > needs + more:
            yield Violation(check=_CHECK, where="survivor", what=f"{has} {name}, and a fresh worker has {needs}")
    if survivor.rss > fresh.rss * _GROWN + _CACHES:
        what = f"{survivor.rss >> 20} MiB, and a fresh worker has {fresh.rss >> 20}"
        yield Violation(check=_CHECK, where="survivor", what=what)
