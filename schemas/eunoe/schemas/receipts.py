"""Erasure receipts: what was checked about a forgotten person, stage by stage; a signed statement of the operator.

A receipt names no person and holds no content, no pseudonym and no digest of anything that could be guessed. Its body
is canonical JSON (`eunoe.schemas.canonical_json`): the same statement always has the same bytes.
"""

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from eunoe.schemas.canonical import canonical
from eunoe.schemas.canonical_json import canonical_json
from eunoe.schemas.ids import LogId, SecretId

FORMAT: Final = 1
WORDING: Final = "rendered unreadable"
"""What a receipt claims, and all it claims: never "deleted", for tombstones and copies elsewhere may remain (A43)."""
OF_BACKUPS: Final = "backups taken before the keys were destroyed, while the key-encryption key of that time exists"
NOT_COVERED: Final = (
    "memory and swap of running machines",
    "tiered storage and mirrors of the cluster",
    OF_BACKUPS,
    "readers who had the text before, and prompts it was already delivered in",
)
FIRST: Final = "0" * 64
"""What the first receipt of a partition names as its predecessor."""


class Stage(StrEnum):
    """How far an erasure is proved, in this order."""

    LOGICAL = "logical"
    """The generation is closed in the erasure ledger and in every serving read model; caches have run out."""
    COMPACTED = "compacted"
    """No value is left under any of its key ids in the whole key partition, read back uncommitted."""
    SCANNED = "scanned"
    """Nor in the segment files on the brokers' disks, renamed ones included."""
    BACKUPS_UNREADABLE = "backups-unreadable"
    """The key-encryption key of that time is destroyed, and what it wrapped was wrapped anew: by a rotation alone."""


BY_ITSELF: Final = (Stage.LOGICAL, Stage.COMPACTED, Stage.SCANNED)
"""The stages that every erasure comes to by itself."""


class ReceiptRecord(Struct, frozen=True, kw_only=True):
    """The record on ``memory-receipts``. ``sequence`` counts from 1 in each partition; ``body``: see `receipt_body`."""

    log_id: LogId
    sequence: int
    body: bytes
    signer: SecretId
    signature: bytes


def receipt_body(statement: Mapping[str, Any]) -> bytes:
    """The canonical bytes of a statement. ``TypeError`` for a value that has no canonical form, a fraction included."""
    return canonical_json(statement)


def signed_receipt_bytes(log_id: LogId, sequence: int, body: bytes) -> bytes:
    """What ``signature`` covers: no other signature of the same key can stand for it."""
    return canonical("eunoe/receipt/1", log_id, sequence, body)


def receipt_hash(record: ReceiptRecord) -> str:
    """What the next receipt of the partition names as its predecessor, in hex."""
    covered = canonical("eunoe/receipt-chain/1", record.log_id, record.sequence, record.body, record.signature)
    return hashlib.sha256(covered).hexdigest()
