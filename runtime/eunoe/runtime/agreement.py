"""Whether people agreed to what no one of them may do alone, by their own signatures and the policy in force. Pure.

Every process checks it as it reads ``memory-control``, so the key that signs control records is not enough for it.
"""

import base64
import contextlib
from collections.abc import Callable, Iterable

from eunoe.crypto.signatures import Ed25519Verifier
from eunoe.schemas.control import Approval, signed_policy_bytes
from eunoe.schemas.ids import LogId, Offset
from eunoe.schemas.policy import Policy, PrincipalRule
from eunoe.schemas.values import Action, Algorithm, PrincipalKind

_GUARDED = frozenset(
    {Action.ERASE, Action.READMIT, Action.HOLD, Action.REVIEW, Action.EXPORT, Action.IMPORT, Action.SELF_SERVICE}
)

SignedBytes = Callable[[Approval], bytes]
"""What an approval must be a signature of."""


def owner_of(approval: Approval, signed: SignedBytes, policy: Policy | None) -> str:
    """The owner of a human who may erase in every tenant, and signed. Raises ValueError where it is none."""
    rule = None if policy is None else policy.principals.get(approval.principal)
    if rule is None or rule.kind is not PrincipalKind.HUMAN:
        raise ValueError(f"{approval.principal} is no person that the policy knows")
    if not _agrees(rule):
        raise ValueError(f"{approval.principal} may not erase in every tenant")
    for ref in rule.secrets:
        if ref.secret_id == approval.secret_id and ref.algorithm is Algorithm.ED25519:
            verifier = Ed25519Verifier(base64.b64decode(ref.reference), ref.secret_id)
            if verifier.verify(signed(approval), approval.signature):
                return rule.owner
            break
    raise ValueError(f"the signature of {approval.principal} does not fit")


def owners_of(approvals: Iterable[Approval], signed: SignedBytes, policy: Policy | None) -> frozenset[str]:
    """The owners of those whose approval holds under the policy: it may have changed since they gave it."""
    found = set()
    for each in approvals:
        with contextlib.suppress(ValueError):
            found.add(owner_of(each, signed, policy))
    return frozenset(found)


def missing_for_policy(
    approvals: Iterable[Approval], body: bytes, replaces: Offset, before: Policy | None, after: Policy, log_id: LogId
) -> str | None:
    """Why ``after`` does not take the place of ``before`` with these approvals; None: it does.

    A policy says who destroys, reviews and takes out. Where the one in force asks for two people, changing who they are
    or what it takes asks for them, too: as many owners as it names, up to two. Whatever else changes takes none.
    """
    if before is None or not before.erasure.two_people or _people(before) == _people(after):
        return None
    able = {each.owner for each in before.principals.values() if each.kind is PrincipalKind.HUMAN and _agrees(each)}
    needed = min(2, len(able))
    owners = owners_of(approvals, lambda each: signed_policy_bytes(body, replaces, each, log_id), before)
    if len(owners) >= needed:
        return None
    return (
        "it changes who may destroy, review or export, or what that takes, and the policy in force asks for "
        f"{needed} people of different owners who may erase in every tenant; agreed: {len(owners)}"
    )


def _agrees(rule: PrincipalRule) -> bool:
    return Action.ERASE in rule.actions and rule.tenants is None


def _people(policy: Policy) -> tuple[object, ...]:
    people = {
        (each.name, each.kind, each.owner, each.tenants, each.actions & _GUARDED, each.secrets)
        for each in policy.principals.values()
        if each.actions & _GUARDED
    }
    return policy.erasure, frozenset(people)
