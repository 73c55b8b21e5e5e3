"""A rotation of the key-encryption key, step by step: which step may follow which, and whether people agreed. Pure.

Every process checks each step as it reads it: the policy in force says how many people a destruction takes.
"""

import base64
import contextlib
from collections.abc import Iterable
from typing import Final

from eunoe.crypto.kek import is_kek_id
from eunoe.crypto.kek_ring import KekRing
from eunoe.crypto.signatures import Ed25519Verifier
from eunoe.schemas.control import Approval, KekRotation, RotationStage, signed_approval_bytes
from eunoe.schemas.ids import LogId
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Action, Algorithm, PrincipalKind

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
    if len(step.fence) != len(step.receipts):
        raise ValueError("a fence has one offset for each partition")
    if before.stage is not RotationStage.WRAPPING and before.fence != step.fence:
        raise ValueError("the fence does not move")
    if step.stage is RotationStage.DESTROYING:
        check_agreed(step, policy, log_id)
    if step.stage is RotationStage.DESTROYED and not (step.evidence and step.attested):
        raise ValueError("it must name who says that the key is destroyed, and what")


def check_agreed(step: KekRotation, policy: Policy | None, log_id: LogId) -> None:
    """Raises ValueError unless enough people agreed that the old KEK be destroyed."""
    owners = owners_of(step.approvals, step, policy, log_id)
    needed = 1 if policy is not None and not policy.erasure.two_people else 2
    if len(owners) < needed:
        raise ValueError(f"destroying a KEK takes {needed} people of different owners; agreed: {len(owners)}")


def owners_of(approvals: Iterable[Approval], step: KekRotation, policy: Policy | None, log_id: LogId) -> frozenset[str]:
    """The owners of those whose approval holds under the policy: it may have changed since they gave it."""
    found = set()
    for each in approvals:
        with contextlib.suppress(ValueError):
            found.add(owner_of(each, step, policy, log_id))
    return frozenset(found)


def owner_of(approval: Approval, step: KekRotation, policy: Policy | None, log_id: LogId) -> str:
    """The owner of a human who may erase in every tenant, and signed. Raises ValueError where it is none."""
    rule = None if policy is None else policy.principals.get(approval.principal)
    if rule is None or rule.kind is not PrincipalKind.HUMAN:
        raise ValueError(f"{approval.principal} is no person that the policy knows")
    if Action.ERASE not in rule.actions or rule.tenants is not None:
        raise ValueError(f"{approval.principal} may not erase in every tenant")
    signed = signed_approval_bytes(step, approval.principal, approval.at, log_id)
    for ref in rule.secrets:
        if ref.secret_id == approval.secret_id and ref.algorithm is Algorithm.ED25519:
            if Ed25519Verifier(base64.b64decode(ref.reference), ref.secret_id).verify(signed, approval.signature):
                return rule.owner
            break
    raise ValueError(f"the signature of {approval.principal} does not fit")


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


def _what(step: KekRotation) -> tuple[object, ...]:
    return step.rotation, step.retires, step.wraps, step.receipts
