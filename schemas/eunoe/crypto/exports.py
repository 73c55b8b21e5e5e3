"""Signing what is handed out, and checking it with nothing but the document and a public key.

A document is a statement as JSON with what the signature covers beside it. Signed is the canonical JSON of the
statement, under a label, the format and the log: no signature of a receipt, of another format or of another
installation's export can stand for it. The key comes by another way than the document.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from eunoe.crypto.signatures import Ed25519Signer, Ed25519Verifier
from eunoe.schemas.canonical import canonical
from eunoe.schemas.canonical_json import canonical_json
from eunoe.schemas.ids import LogId

ACCESS_REPORT: Final = "eunoe/access-report/1"
"""All that is held on one person."""
TENANT_EXPORT: Final = "eunoe/tenant-export/1"
"""The head of an export of all that is held in a tenant."""
RESTORED_FACT: Final = "eunoe/restored-fact/1"
"""One fact of such an export (`eunoe.schemas.restoring`)."""
_FIELDS: Final = ("format", "log_id", "statement", "signer", "signature")


class BadExport(ValueError):
    """The document is no export, or not what was signed. The text says which part, and quotes nothing."""


def signed_export_bytes(format_: str, log_id: LogId, body: bytes) -> bytes:
    """What ``signature`` covers."""
    return canonical("eunoe/export/1", format_, log_id, body)


def signed_document(format_: str, log_id: LogId, statement: Mapping[str, Any], signer: Ed25519Signer) -> dict[str, Any]:
    """``TypeError`` for a statement that has no canonical form."""
    signature = signer.sign(signed_export_bytes(format_, log_id, canonical_json(statement)))
    return {
        "format": format_,
        "log_id": log_id,
        "statement": statement,
        "signer": signer.secret_id,
        "signature": base64.b64encode(signature).decode(),
    }


def verified_export(document: Any, public_key: bytes, format_: str = ACCESS_REPORT) -> Mapping[str, Any]:
    """The statement, if it is signed with the key. Raises `BadExport`, ``ValueError`` for a key that is none."""
    if not isinstance(document, Mapping) or sorted(document) != sorted(_FIELDS):
        raise BadExport(f"not an export: it needs exactly {', '.join(_FIELDS)}")
    statement, log_id = document["statement"], document["log_id"]
    if document["format"] != format_:
        raise BadExport(f"not an export of the format {format_}")
    if not isinstance(statement, Mapping) or not isinstance(log_id, str):
        raise BadExport("not an export: statement or log_id is of another kind")
    try:
        body = canonical_json(statement)
        signature = base64.b64decode(str(document["signature"]), validate=True)
    except (TypeError, ValueError, binascii.Error):  # a fraction, a lone surrogate, no base64
        raise BadExport("not an export: the statement or the signature cannot be read") from None
    if not Ed25519Verifier(public_key).verify(signed_export_bytes(format_, LogId(log_id), body), signature):
        raise BadExport("the signature does not fit: another key signed it, or something was changed since")
    return statement
