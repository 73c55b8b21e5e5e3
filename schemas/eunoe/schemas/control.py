"""The record of ``memory-control``: a policy body, a switch or a change of generation, signed by a control signer."""

from msgspec import Struct

from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import LogId, Millis, Offset, Partition, PrincipalName, SecretId

POLICY = "policy"
SWITCH_PREFIX = "switch/"
GENERATION_PREFIX = "generation/"


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


class PartitionGeneration(Struct, frozen=True, kw_only=True):
    """In one partition: the generation that is to serve, the one it replaces, and what both held at ``position``.

    ``digest`` is empty where they were not compared: at a way back, or where the loss of the other was accepted.
    """

    partition: Partition
    generation: int
    was: int
    position: Offset
    digest: str = ""
    items: int = 0


class GenerationChange(Struct, frozen=True, kw_only=True):
    """Readers of a read model (``generation/<model>``) are answered from other generations. ``by`` as in `Switch`."""

    partitions: tuple[PartitionGeneration, ...]
    by: PrincipalName | None = None


class ControlRecord(Struct, frozen=True, kw_only=True):
    """``by``: the principal that asked for it, as whoever holds the control key says.

    ``replaces`` is the control offset of the record it was made against (-1 for the first): a stale one is ignored.

    ``body`` is the policy file's bytes, or a `Switch` or `GenerationChange` as JSON.
    """

    name: str
    body: bytes
    replaces: Offset
    reason: str | None = None
    made_at: Millis
    signer: SecretId
    signature: bytes
    by: PrincipalName | None = None


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
        record.by,
    )
