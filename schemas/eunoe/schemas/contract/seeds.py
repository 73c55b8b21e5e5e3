"""The start-up file ``memory.yaml``: ``memory.seed_records[]``, each a `MemoryRecord` with defaults (C30-C35).

All or nothing: the first thing that is wrong is raised, and nothing of the file is used.
"""

from collections.abc import Mapping
from typing import Any

from eunoe.schemas.contract import checks
from eunoe.schemas.contract.records import UNKNOWN, MemoryRecord


def seed_records(config: object) -> tuple[MemoryRecord, ...]:
    """The records of a file that has been read.

    Defaults: memory_id ``mem-%03d`` by position from 1, confidence 0.5, provenance ``unknown``, revision 1.
    ``derived_from`` lists ids of records further up. Other keys are passed over.

    Raises TypeError or ValueError, in the words of the contract.
    """
    if not isinstance(config, Mapping):
        raise TypeError("Memory store config must be a mapping")
    memory = config.get("memory", {})
    if not isinstance(memory, Mapping):
        raise TypeError("'memory' must be a mapping")
    seeds = memory.get("seed_records", [])
    if not isinstance(seeds, list):
        raise TypeError("'seed_records' must be a list")
    return tuple(_record(seed, index) for index, seed in enumerate(seeds, start=1))


def _record(seed: object, index: int) -> MemoryRecord:
    what = f"Memory record #{index}"
    if not isinstance(seed, Mapping):
        raise TypeError(f"{what} must be a mapping")
    given: Mapping[Any, object] = {"memory_id": f"mem-{index:03d}", "provenance": UNKNOWN, **seed}

    def text(field: str) -> str:
        return checks.text(given.get(field, ""), what, field)

    return MemoryRecord(
        memory_id=text("memory_id"),
        tenant_id=text("tenant_id"),
        memory_class=text("memory_class"),
        kind=text("kind"),
        content=text("content"),
        source=text("source"),
        confidence=checks.confidence(given.get("confidence", 0.5), what),
        provenance=text("provenance"),
        revision=checks.revision(given.get("revision", 1), what),
        derived_from=_origins(given.get("derived_from", []), what),
    )


def _origins(value: object, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{what} derived_from must be a list")
    return tuple(checks.text(each, what, "derived_from") for each in value)
