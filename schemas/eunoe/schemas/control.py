"""The record of ``memory-control``: a policy body or a switch, signed by one of the installation's control signers."""

from msgspec import Struct

from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import LogId, Millis, Offset, PrincipalName, SecretId

POLICY = "policy"
SWITCH_PREFIX = "switch/"


class Switch(Struct, frozen=True, kw_only=True):
    """Reads and writes, off separately: for one tenant (``switch/<tenant>``) or for all (``switch/*``), and for one
    purpose of either (``switch/<tenant>/<purpose>``).

    ``observe``: candidates are judged and recorded, and nothing is stored. ``by``: the principal that asked for it, as
    whoever holds the control key says; the key's own name is in the record.
    """

    reads: bool = True
    writes: bool = True
    observe: bool = False
    by: PrincipalName | None = None


class ControlRecord(Struct, frozen=True, kw_only=True):
    """``replaces`` is the control offset of the record it was made against (-1 for the first): a stale one is ignored.

    ``body`` is the policy file's bytes, or a `Switch` as JSON.
    """

    name: str
    body: bytes
    replaces: Offset
    reason: str | None = None
    made_at: Millis
    signer: SecretId
    signature: bytes


def signed_control_bytes(record: ControlRecord, log_id: LogId) -> bytes:
    """What ``signature`` covers."""
    return canonical(
        "eunoe/control/1",
        log_id,
        record.name,
        record.body,
        record.replaces,
        record.reason,
        record.made_at,
        record.signer,
    )
