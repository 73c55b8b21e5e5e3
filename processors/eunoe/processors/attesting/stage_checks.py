"""What was checked for the receipts *logical*, *compacted* and *scanned*, in the words in which they say it."""

from collections.abc import Mapping
from typing import Any, Final

from eunoe.processors.attesting.key_log import KeyLog
from eunoe.processors.attesting.segments import SegmentScan
from eunoe.schemas.ids import KeyId

PERSON: Final = "the generation"
TENANT: Final = "the tenant"
"""Whose keys they are."""


def logical_checks(entry: int, positions: Mapping[str, int], waited: int) -> list[Mapping[str, Any]]:
    """``entry``: its number in the erasure ledger. ``positions``: of the read models. ``waited``: ms since."""
    return [
        {"check": "entered in the erasure ledger outside the cluster", "passed": True, "entry": entry},
        *(
            {"check": f"read model {name} has folded the closing event", "passed": True, "position": position}
            for name, position in sorted(positions.items())
        ),
        {
            "check": "opened keys in readers' memory have run out; workers drop theirs as they fold",
            "passed": True,
            "waited_ms": waited,
        },
    ]


def compacted_checks(asked: frozenset[KeyId], keys: KeyLog, whose: str = PERSON) -> list[Mapping[str, Any]]:
    """``asked``: the keys that were destroyed. ``whose``: `PERSON` or `TENANT`."""
    return [
        {
            "check": f"the whole key partition read back uncommitted: no value under any key of {whose}",
            "passed": True,
            "keys": len(asked),
            "values": 0,
            "tombstones": len(keys.tombstones),
            "records_read": keys.records,
        },
        {"check": "the same read found a live control key", "passed": keys.control is not None},
    ]


def scan_checks(
    asked: frozenset[KeyId],
    needles: int,
    seen_before: int | None,
    found: SegmentScan,
    *,
    control: bool,
    whose: str = PERSON,
) -> list[Mapping[str, Any]]:
    """``needles``: byte strings searched for; ``seen_before``: keys that the same scan found before; None: no scan."""
    return [
        {
            "check": f"segment files decoded, renamed ones included: no value under any key of {whose}",
            "passed": True,
            "keys": len(asked),
            "files": found.files,
            "bytes": found.size,
            "records": found.records,
        },
        *_compared(needles, seen_before, whose),
        {"check": "the same scan found a live control key", "passed": control},
    ]


def _compared(needles: int, seen_before: int | None, whose: str) -> list[Mapping[str, Any]]:
    if not needles or not seen_before:
        gone = "the keys were gone before this process first looked: the decoded scan is relied on, not a byte search"
        return [{"check": gone, "passed": True}]
    return [
        {
            "check": "the same files searched for the wrapped keys' bytes as they were before: none found",
            "passed": True,
            "searched_for": needles,
        },
        {
            "check": f"the same scan found keys of {whose} before they were destroyed",
            "passed": True,
            "found_before": seen_before,
        },
    ]
