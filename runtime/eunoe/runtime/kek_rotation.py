"""A rotation of the key-encryption key, step by step: which step may follow which, and whether people agreed. Pure.

Every process checks each step as it reads it: the policy in force says how many people a destruction takes.
"""

from typing import Final

from eunoe.crypto.kek import is_kek_id
from eunoe.crypto.kek_ring import KekRing
from eunoe.runtime.agreement import SignedBytes, owners_of
from eunoe.schemas.control import KekRotation, RotationStage, signed_destruction_bytes
from eunoe.schemas.ids import LogId
from eunoe.schemas.policy import Policy

_BEFORE: Final = {
    RotationStage.FENCED: (RotationStage.WRAPPING, RotationStage.FENCED),
    RotationStage.DESTROYING: (RotationStage.FENCED,),
    RotationStage.DESTROYED: (RotationStage.DESTROYING,),
}


def check_step(
    before: KekRotation | None,
    step: KekRotation,
    policy: Policy | None,
    log_id: LogId,
    destroyed: frozenset[str] = frozenset(),
) -> None:
    """Raises ValueError, saying why ``step`` cannot follow ``before`` (None: there never was a rotation).

    ``destroyed``: the KEKs of all rotations before.
    """
    if step.stage is RotationStage.WRAPPING:
        _check_begin(before, step, destroyed)
        return
    if before is None or before.stage not in _BEFORE[step.stage] or _what(before) != _what(step):
        raise ValueError(f"{step.stage} does not follow {'nothing' if before is None else before.stage}")
    if not len(step.fence) == len(step.log_fence) == len(step.receipts):
        raise ValueError("a fence has one offset for each partition")
    if before.stage is not RotationStage.WRAPPING and _fence(before) != _fence(step):
        raise ValueError("the fence does not move")
    if step.backup is not None and step.backup.at < step.fenced_at:
        raise ValueError("a backup is tried after the fence")
    if step.stage is RotationStage.DESTROYING:
        if before.backup is None or before.backup != step.backup:
            raise ValueError("no backup from after the fence was restored and tried")
        check_agreed(step, policy, log_id)
    if step.stage is RotationStage.DESTROYED:
        if not (step.evidence and step.attested):
            raise ValueError("it must name who says that the key is destroyed, and what")
        if (step.approvals, step.backup) != (before.approvals, before.backup):
            raise ValueError("those who agreed stay the same, and what they agreed to")


def check_agreed(step: KekRotation, policy: Policy | None, log_id: LogId) -> None:
    """Raises ValueError unless enough people agreed that the old KEK be destroyed."""
    owners = owners_of(step.approvals, approved_by(step, log_id), policy)
    needed = 1 if policy is not None and not policy.erasure.two_people else 2
    if len(owners) < needed:
        raise ValueError(f"destroying a KEK takes {needed} people of different owners; agreed: {len(owners)}")


def approved_by(step: KekRotation, log_id: LogId) -> SignedBytes:
    """What the approvals of this destruction are signatures of."""
    return lambda approval: signed_destruction_bytes(step, approval, log_id)


def obey(ring: KekRing, rotation: KekRotation | None) -> None:
    """Make a process's KEKs what the last step says. Raises ``WrongKek`` where the one that wraps is not held here."""
    if rotation is None:
        return
    match rotation.stage:
        case RotationStage.WRAPPING:
            ring.follow(rotation.wraps)
        case RotationStage.FENCED:
            ring.follow(rotation.wraps, retired=rotation.retires)
        case RotationStage.DESTROYING | RotationStage.DESTROYED:
            ring.follow(rotation.wraps, dropped=rotation.retires)


def _check_begin(before: KekRotation | None, step: KekRotation, destroyed: frozenset[str]) -> None:
    if before is not None and before.stage is not RotationStage.DESTROYED:
        raise ValueError(f"a rotation is under way: {before.rotation} is at {before.stage}")
    if not (is_kek_id(step.retires) and is_kek_id(step.wraps)) or step.retires == step.wraps:
        raise ValueError("a rotation names two KEKs")
    if before is not None and step.retires != before.wraps:
        raise ValueError(f"the KEK that wraps is {before.wraps}")
    if step.wraps in destroyed:
        raise ValueError("a retired KEK does not come back")


def _fence(step: KekRotation) -> tuple[object, ...]:
    return step.fence, step.log_fence, step.fenced_at


def _what(step: KekRotation) -> tuple[object, ...]:
    return step.rotation, step.retires, step.wraps, step.receipts
