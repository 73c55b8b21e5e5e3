"""What can be done to a running stack: every fault in one table, with what must hold while it lasts.

Three tracks run side by side, each one fault at a time: the world (broker or Redis, so the two are never away at once),
the workers, and bad records. A sweeper lives in its partition's decider: a decider killed is a sweeper killed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Track(StrEnum):
    WORLD = "world"
    WORKERS = "workers"
    RECORDS = "records"


class Kind(StrEnum):
    BROKER_STOPPED = "broker stopped"
    BROKER_KILLED = "broker killed"
    BROKER_RESTARTED = "broker restarted"
    BROKER_SLOW = "broker slow"
    BROKER_CUT = "connections cut"
    BROKER_FULL = "broker's disk full"
    REDIS_KILLED = "Redis killed"
    REDIS_EMPTIED = "Redis restarted empty"
    REDIS_PAUSED = "Redis paused"
    REDIS_FULL = "Redis out of memory"
    DECIDER_KILLED = "decider killed"
    DECIDER_TERMINATED = "decider terminated"
    PROJECTOR_KILLED = "projector killed"
    PROJECTOR_TERMINATED = "projector terminated"
    SHREDDER_KILLED = "shredder killed"
    WORKER_JOINS = "worker joins and leaves"
    ZOMBIE = "zombie decider"
    CLOCK = "clock stepped, another time zone"
    POISON = "poison records"
    OVERSIZED = "oversized records"


@dataclass(frozen=True, slots=True)
class Rule:
    """``least`` and ``most``: seconds it lasts. ``rest``: seconds until the next fault of its track, which is what the
    system may take to be itself again. ``what``: for people."""

    track: Track
    least: float
    most: float
    rest: float
    what: str


_WORLD, _WORKERS, _RECORDS = Track.WORLD, Track.WORKERS, Track.RECORDS

RULES: Final[Mapping[Kind, Rule]] = MappingProxyType(
    {
        Kind.BROKER_STOPPED: Rule(_WORLD, 3, 8, 16, "SIGTERM, away for a while, started"),
        Kind.BROKER_KILLED: Rule(_WORLD, 1, 6, 18, "SIGKILL, away for a while, started"),
        Kind.BROKER_RESTARTED: Rule(_WORLD, 0, 0, 16, "SIGTERM and started at once"),
        Kind.BROKER_SLOW: Rule(_WORLD, 8, 14, 6, "every answer and every request late, by a proxy"),
        Kind.BROKER_CUT: Rule(_WORLD, 0, 0, 8, "every client's connection closed at one moment"),
        Kind.BROKER_FULL: Rule(_WORLD, 4, 10, 18, "no block left for its data; room again, and started where it ended"),
        Kind.REDIS_KILLED: Rule(_WORLD, 1, 5, 10, "SIGKILL, away for a while, started on what it had written"),
        Kind.REDIS_EMPTIED: Rule(_WORLD, 0, 3, 14, "SIGKILL, started without data"),
        Kind.REDIS_PAUSED: Rule(_WORLD, 5, 12, 8, "SIGSTOP: connected, and answering nobody"),
        Kind.REDIS_FULL: Rule(_WORLD, 5, 10, 8, "maxmemory below what is used, noeviction"),
        Kind.DECIDER_KILLED: Rule(_WORKERS, 1, 5, 7, "SIGKILL of a decider and its sweepers; started again"),
        Kind.DECIDER_TERMINATED: Rule(_WORKERS, 1, 3, 7, "SIGTERM; started again"),
        Kind.PROJECTOR_KILLED: Rule(_WORKERS, 1, 5, 6, "SIGKILL; started again"),
        Kind.PROJECTOR_TERMINATED: Rule(_WORKERS, 1, 3, 6, "SIGTERM; started again"),
        Kind.SHREDDER_KILLED: Rule(_WORKERS, 1, 5, 6, "SIGKILL of who destroys keys and proves it; started again"),
        Kind.WORKER_JOINS: Rule(_WORKERS, 3, 6, 5, "one more worker of both roles, which leaves again"),
        Kind.ZOMBIE: Rule(_WORKERS, 11, 15, 8, "SIGSTOP until its partitions have moved, then SIGCONT"),
        Kind.CLOCK: Rule(
            _WORKERS, 10, 16, 6, "a decider in another time zone, its clock stepped by an hour, then back"
        ),
        Kind.POISON: Rule(_RECORDS, 0, 0, 20, "records nobody can judge: garbage, wrong MAC, wrong partition, …"),
        Kind.OVERSIZED: Rule(_RECORDS, 0, 0, 20, "a record at Kafka's limit that is no command, and one above it"),
    }
)

NOT_INJECTED: Final = (
    "failing over in a three-node Redis Cluster: the local stack is one node; the suite does it on six",
)
"""Said in every report."""
