"""The record of ``memory-control``: a policy body, a switch, a change of generation or a step of a rotation of the
key-encryption key, signed by a control signer."""

from enum import StrEnum

from msgspec import Struct

from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import LogId, Millis, Offset, Partition, PrincipalName, SecretId

POLICY = "policy"
SWITCH_PREFIX = "switch/"
GENERATION_PREFIX = "generation/"
KEK = "kek"


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


class RotationStage(StrEnum):
    """How far a rotation of the key-encryption key is. It only goes forward."""

    WRAPPING = "wrapping"
    """Every process holds both and wraps with the new one; what the old one wrapped is wrapped anew."""
    FENCED = "fenced"
    """Nothing is left under the old one; it neither wraps nor unwraps any more, and is still held."""
    DESTROYING = "destroying"
    """Agreed on: every process lets go of it, and then it is destroyed where it is kept."""
    DESTROYED = "destroyed"


class Approval(Struct, frozen=True, kw_only=True):
    """A person agrees that a KEK be destroyed, or to a policy: signed with the secret that the policy knows them by.

    ``said``: of a KEK, what becomes of every copy of it.
    """

    principal: PrincipalName
    secret_id: SecretId
    at: Millis
    signature: bytes
    said: str = ""


class BackupTried(Struct, frozen=True, kw_only=True):
    """A backup from after the fence was restored elsewhere and opened with the new KEK alone, at ``at``.

    ``keys`` were unwrapped, ``facts`` are those of the live log until the fence, ``bodies`` were opened.
    """

    at: Millis
    keys: int = 0
    facts: int = 0
    bodies: int = 0


class KekRotation(Struct, frozen=True, kw_only=True):
    """``retires`` and ``wraps``: ids of the old KEK and the new one. Tuples of numbers have one for each partition.

    ``receipts``: the last erasure receipt before anything was wrapped anew (0: none). ``fence`` and ``log_fence``:
    where ``memory-keys`` and ``memory-lifecycle`` ended when nothing was left under the old one. ``backup``:
    without one that was restored and tried since, nobody can agree to a destruction. ``holders``: processes that
    acknowledged the fence; ``without``: those that were silent, which an operator says are gone. ``index_keys``: of
    ``recall``, all under the new one. ``evidence`` and ``attested``: who says that the old one is destroyed, and
    what its provider said. What the people said who agreed is in their `approvals`, under their signatures. ``by``
    as in `Switch`.
    """

    rotation: str
    stage: RotationStage
    retires: str
    wraps: str
    receipts: tuple[int, ...]
    fence: tuple[int, ...] = ()
    log_fence: tuple[int, ...] = ()
    fenced_at: Millis = Millis(0)
    backup: BackupTried | None = None
    holders: int = 0
    without: tuple[str, ...] = ()
    index_keys: int = 0
    approvals: tuple[Approval, ...] = ()
    evidence: str | None = None
    attested: str | None = None
    by: PrincipalName | None = None


def signed_destruction_bytes(rotation: KekRotation, approval: Approval, log_id: LogId) -> bytes:
    """What an `Approval` of a destruction covers: this rotation of this installation, which key, which backup was tried
    before, and what is said."""
    backup = rotation.backup
    return canonical(
        "eunoe/kek-destruction/3",
        log_id,
        rotation.rotation,
        rotation.retires,
        rotation.wraps,
        None if backup is None else (backup.at, backup.keys, backup.facts, backup.bodies),
        approval.principal,
        approval.at,
        approval.said,
    )


def signed_policy_bytes(body: bytes, replaces: Offset, approval: Approval, log_id: LogId) -> bytes:
    """What an `Approval` of a policy covers: this file, in the place of that one, in this installation."""
    return canonical("eunoe/policy-change/1", log_id, body, replaces, approval.principal, approval.at, approval.said)


class ControlRecord(Struct, frozen=True, kw_only=True):
    """``by``: the principal that asked for it, as whoever holds the control key says.

    ``replaces`` is the control offset of the record it was made against (-1 for the first): a stale one is ignored.

    ``body`` is the policy file's bytes, or a `Switch`, `GenerationChange` or `KekRotation` as JSON. ``approvals``: of
    the people who agreed to a policy, where the one before asks for them; each has a signature of its own.
    """

    name: str
    body: bytes
    replaces: Offset
    reason: str | None = None
    made_at: Millis
    signer: SecretId
    signature: bytes
    by: PrincipalName | None = None
    approvals: tuple[Approval, ...] = ()


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
