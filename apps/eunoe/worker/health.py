"""What ``/readyz`` says: each item a worker answers for, and what fails it, by name.

Alive is not ready (M75): a process whose lanes wait for ever answers ``/healthz`` well. So readiness names every item
that keeps this worker from doing its work, and is false while there is one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final


class Item(StrEnum):
    """The names are part of ``/readyz`` and of `eunoe_not_ready`: alerts and runbooks go by them."""

    STARTED = "started"
    """The services are up, and somebody looks after them."""
    CONTROL = "control"
    """A policy is in force, and the secrets it names can be read."""
    KAFKA = "kafka"
    """The broker says where the log ends."""
    STORE = "redis"
    """Redis answers. An idle lane that waits for it in vain has nothing to tell."""
    ASSIGNED = "assigned"
    """The group has told which partitions are ours; that may be none, with more workers than partitions."""
    RUNNING = "running"
    """No lane waits for the world, or for a person."""
    LEDGER = "ledger_caught_up"
    """The decider has acquired its partitions: it knows everything that was decided before."""
    PROJECTING = "projecting"
    """Each read model has been at the end of the log since it got the partition."""
    MOVING = "moving"
    """No partition has records waiting and stands still (S4)."""
    SWEEPING = "sweeping"
    """What is due is looked for."""
    REDIS = "redis_kept_its_data"
    """Redis holds what was written to it, or has been filled again from the log."""
    DESTROYING = "destroying"
    """Keys that are due to be destroyed are."""


@dataclass(frozen=True, slots=True)
class Failing:
    """``where``: a service and its partition, or what else is concerned. ``why`` is free of content."""

    item: Item
    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


NOT_STARTED: Final = Failing(Item.STARTED, "worker", "the services are starting")


def readiness(items: Iterable[Item], failing: Iterable[Failing]) -> Mapping[str, Any]:
    """The document of ``/readyz``. ``items``: what this worker's roles answer for."""
    found = tuple(failing)
    failed = {each.item for each in found}
    return {
        "ready": not found,
        "items": {each.value: each not in failed for each in sorted({*items, *failed}, key=list(Item).index)},
        "problems": [str(each) for each in found],
        "failing": [{"item": each.item.value, "where": each.where, "why": each.why} for each in found],
    }
