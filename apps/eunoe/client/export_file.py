"""The file of a whole tenant: JSON lines, a signed head and then one signed fact a line, in the order of the log.

Each fact has a signature of its own, so that whoever decides an import can check it alone; the head holds their number
and a digest over all, so that none can be taken out, put in or moved without a trace.
"""

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from eunoe.client.tenant_facts import Outgoing
from eunoe.crypto.exports import RESTORED_FACT, TENANT_EXPORT, BadExport, signed_export_bytes, verified_export
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.canonical_json import canonical_json
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.ids import LogId, MemoryId, SecretId, TenantId
from eunoe.schemas.restored import Proof, Restored
from eunoe.schemas.restoring import restored_statement, salted

_LATER: Final[dict[str, Any]] = {
    "subject": "",
    "generation": 0,
    "about": (),
    "key_id": "",
    "body_version": 1,
    "body": b"",
}
"""What an installation gives a draft, until it does."""
_SALT_BYTES: Final = 16
FOREIGN_SIGNER: Final = "signed by nobody whose exports the policy restores (import_keys)"
INCOMPLETE: Final = "facts are missing, were added or were moved since it was signed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """One fact of a file. ``proof`` None: nobody vouches for it."""

    tenant: TenantId
    memory_id: MemoryId
    draft: Draft | None
    body: MemoryBody | None
    restored: Restored
    proof: Proof | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFile:
    """``problem``: why nothing in it is vouched for; None where all of it is. ``unreadable`` counts lines that are no
    facts; ``digest`` is over those that are."""

    facts: tuple[Incoming, ...]
    problem: str | None
    unreadable: int
    digest: str


def statements_of(tenant: TenantId, facts: Iterable[Outgoing]) -> list[dict[str, Any]]:
    return [restored_statement(tenant, each.memory_id, each.draft, each.body, each.restored) for each in facts]


def digest_of(statements: Iterable[Mapping[str, Any]]) -> str:
    """Over the logical content: equal wherever the same facts about the same records are held."""
    total = hashlib.sha256()
    for each in statements:
        body = canonical_json(each)
        total.update(len(body).to_bytes(8) + body)
    return total.hexdigest()


def fact_line(log_id: LogId, statement: Mapping[str, Any], signer: Ed25519Signer) -> dict[str, Any]:
    """The fact, its signature, and, where it has words, the salt of that."""
    salt = "" if statement["body"] is None else secrets.token_hex(_SALT_BYTES)
    signature = signer.sign(signed_export_bytes(RESTORED_FACT, log_id, salted(statement, salt)))
    return {"fact": statement, "salt": salt, "signature": base64.b64encode(signature).decode()}


def read_export(content: bytes, trusted: Mapping[SecretId, bytes]) -> ExportFile:
    """What is in a file, whoever made it, and whether one of ``trusted`` vouches for it. Raises `BadExport` for what is
    no export of a tenant at all."""
    lines = [_json(each) for each in content.split(b"\n") if each.strip()]
    head = lines[0] if lines else None
    if not isinstance(head, dict) or head.get("format") != TENANT_EXPORT:
        raise BadExport(f"not an export of a tenant: it does not begin with a head of the format {TENANT_EXPORT}")
    signer, log_id = str(head.get("signer")), str(head.get("log_id"))
    statements = [each.get("fact") if isinstance(each, dict) else None for each in lines[1:]]
    problem, digest = _problem(head, statements, trusted.get(SecretId(signer)))
    found = [_incoming(each, log_id, signer, vouched=problem is None) for each in lines[1:]]
    facts = tuple(each for each in found if each is not None)
    return ExportFile(facts=facts, problem=problem, unreadable=len(found) - len(facts), digest=digest)


def is_whole(head: Mapping[str, Any], lines: Sequence[Any]) -> bool:
    """Whether ``lines`` are the facts that a verified head was signed for. ``ValueError`` for what is no fact."""
    statements = [each["fact"] for each in lines if isinstance(each, dict) and "fact" in each]
    try:
        digest = digest_of(statements)
    except TypeError:
        return False
    return (head.get("digest"), head.get("facts")) == (digest, len(lines))


def _problem(head: Mapping[str, Any], statements: Sequence[Any], public: bytes | None) -> tuple[str | None, str]:
    try:
        digest = digest_of(statements)
    except (TypeError, ValueError):  # no object, a fraction, a lone surrogate
        return INCOMPLETE, ""
    if public is None:
        return FOREIGN_SIGNER, digest
    try:
        said = verified_export(head, public, TENANT_EXPORT)
    except BadExport as bad:
        return str(bad), digest
    if (said.get("digest"), said.get("facts")) != (digest, len(statements)):
        return INCOMPLETE, digest
    return None, digest


def _incoming(line: Any, log_id: str, signer: str, *, vouched: bool) -> Incoming | None:
    """None for what is no fact."""
    try:
        statement = line["fact"]
        canonical_json(statement)  # what has no canonical form has no signature, and may be no text
        signature = base64.b64decode(line["signature"], validate=True) if vouched else b""
        draft, body = statement["draft"], statement["body"]
        restored = msgspec.convert(statement["fact"], Restored)
        if draft is not None:
            own = {"memory_id": statement["memory_id"], "confidence": float(draft["confidence"])}
            draft = msgspec.convert(draft | own | _LATER, Draft)
            body = replace(msgspec.convert(body, MemoryBody), salt=msgspec.convert(line["salt"], str))
        return Incoming(
            tenant=TenantId(msgspec.convert(statement["tenant"], str)),
            memory_id=MemoryId(msgspec.convert(statement["memory_id"], str)),
            draft=draft,
            body=body if draft is not None else None,
            restored=restored,
            proof=Proof(log_id=LogId(log_id), signer=SecretId(signer), signature=signature) if vouched else None,
        )
    except (KeyError, TypeError, ValueError, binascii.Error):
        return None


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
