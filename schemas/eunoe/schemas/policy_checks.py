"""What a policy may not say although each of its lines is in order: what it would let one person, or anybody, do.

Read by `eunoe.schemas.policy_file`. What is only dangerous is told by `eunoe policy check`.
"""

from collections.abc import Mapping
from typing import Final

from eunoe.schemas.ids import PrincipalName, SecretId
from eunoe.schemas.lookalikes import skeleton
from eunoe.schemas.policy import PrincipalRule, SecretRef, SourceRule
from eunoe.schemas.public_keys import public_key
from eunoe.schemas.toml_tables import Report, Table
from eunoe.schemas.values import Action, Algorithm, Confirmation, SourceKind, Trust

_WORTH: Final = {
    SourceKind.INFERRED: "what is inferred is nobody's word, and no fact before somebody confirms it",
    SourceKind.THIRD_PARTY: "what third parties say is theirs, and not the user's memory",
    SourceKind.MODEL_OUTPUT: "what a model puts out is made from other sources, and none itself",
}
"""Why a source is worth no more than it is (B28), whatever a policy says."""
_MOST: Final = {
    SourceKind.INFERRED: (Trust.UNTRUSTED, Trust.ASSERTED),
    SourceKind.THIRD_PARTY: (Trust.UNTRUSTED,),
    SourceKind.MODEL_OUTPUT: (Trust.UNTRUSTED,),
}


def check_source(table: Table, rule: SourceRule) -> None:
    """A source is not worth more than its kind can be: B28."""
    name, why = rule.kind.value, _WORTH.get(rule.kind)
    if why is None:
        return
    if rule.trust not in _MOST[rule.kind]:
        allowed = " or ".join(_MOST[rule.kind])
        table.problem("trust", f"sources.{name}.trust cannot be {rule.trust}, only {allowed}: {why}")
    if rule.confirmation is Confirmation.CONFIRMED:
        table.problem("confirmation", f"sources.{name}.confirmation cannot be confirmed: {why}")


def check_secrets(report: Report, principals: Mapping[PrincipalName, PrincipalRule]) -> None:
    """A secret id names one secret in the whole policy: it stands in the envelope and in the event for ever. And a
    secret belongs to one principal: with the same key, one person would be two, and review their own. Keys are
    compared as they are, for base64 has several spellings of one."""
    ids: set[SecretId] = set()
    holders: dict[bytes, PrincipalName] = {}
    for name, rule in principals.items():
        for index, secret in enumerate(rule.secrets):
            path = ("principals", name, "secrets", str(index))
            if secret.secret_id in ids:
                report.add((*path, "id"), f"secret id {secret.secret_id!r} is used twice")
            ids.add(secret.secret_id)
            key = "public_key" if secret.algorithm is Algorithm.ED25519 else "secret"
            holder = holders.setdefault(_itself(secret), name)
            if secret.reference and holder != name:
                report.add((*path, key), f"principals {holder} and {name} have the same secret: they would be one")


def _itself(secret: SecretRef) -> bytes:
    found = public_key(secret.reference) if secret.algorithm is Algorithm.ED25519 else None
    return secret.reference.encode() if found is None else found


def check_owners(report: Report, principals: Mapping[PrincipalName, PrincipalRule]) -> None:
    """Who is of the same owner is told by comparing owners: two spellings of one would be two. Spellings that look
    the same are the same: composed or not, with letters of another alphabet, in capitals, with what nobody sees."""
    spelled: dict[str, str] = {}
    for name, rule in principals.items():
        first = spelled.setdefault(skeleton(rule.owner), rule.owner)
        if first != rule.owner or rule.owner != rule.owner.strip():
            report.add(
                ("principals", name, "owner"), f"owner {_told(rule.owner)} is spelled {_told(first.strip())} elsewhere"
            )


def check_operators(report: Report, principals: Mapping[PrincipalName, PrincipalRule]) -> None:
    """Somebody may put another policy in its place, and set a switch: what grants that to nobody would be the last
    policy of its installation."""
    if principals and not any(Action.OPERATE in each.actions and each.tenants is None for each in principals.values()):
        where = ("principals", next(iter(principals)), "actions")
        report.add(where, 'nobody may operate on every tenant (tenants = "*"), so no other policy could ever follow')


def _told(owner: str) -> str:
    """With the code of each letter that is not ASCII beside it, for two spellings may look the same."""
    return repr(owner) if owner.isascii() else f"{owner!r} ({owner.encode('unicode_escape').decode()})"
