"""Checking an erasure receipt with nothing but the document and a public key: no broker, no Redis, no installation.

The document is the statement as JSON with what the signature covers beside it. The key comes by another way than the
document: a receipt that brings its own key proves nothing.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Final

from eunoe.crypto.signatures import Ed25519Verifier
from eunoe.schemas.ids import LogId
from eunoe.schemas.receipts import ReceiptRecord, receipt_body, signed_receipt_bytes

_FIELDS: Final = ("log_id", "sequence", "statement", "signer", "signature")


class BadReceipt(ValueError):
    """The document is no receipt, or not what was signed. The text says which part."""


def receipt_document(record: ReceiptRecord) -> dict[str, Any]:
    """The record of the topic as a document that can be handed over."""
    return {
        "log_id": record.log_id,
        "sequence": record.sequence,
        "statement": json.loads(record.body),
        "signer": record.signer,
        "signature": base64.b64encode(record.signature).decode(),
    }


def verified_statement(document: Any, public_key: bytes) -> Mapping[str, Any]:
    """The statement, if it is signed with the key. Raises `BadReceipt`, ``ValueError`` for a key that is none."""
    if not isinstance(document, Mapping) or sorted(document) != sorted(_FIELDS):
        raise BadReceipt(f"not a receipt: it needs exactly {', '.join(_FIELDS)}")
    statement, sequence, log_id = document["statement"], document["sequence"], document["log_id"]
    if not isinstance(statement, Mapping) or not isinstance(log_id, str) or isinstance(sequence, bool):
        raise BadReceipt("not a receipt: statement, log_id or sequence is of another kind")
    try:
        body = receipt_body(statement)
        signature = base64.b64decode(str(document["signature"]), validate=True)
    except (TypeError, binascii.Error):
        raise BadReceipt("not a receipt: the statement or the signature cannot be read") from None
    if (
        not isinstance(sequence, int)
        or statement.get("sequence") != sequence
        or statement.get("installation") != log_id
    ):
        raise BadReceipt("the statement names another sequence or installation than the document")
    if not Ed25519Verifier(public_key).verify(signed_receipt_bytes(LogId(log_id), sequence, body), signature):
        raise BadReceipt("the signature does not fit: another key signed it, or something was changed since")
    return statement
