"""An export is what was signed, in one format, for one log; and anybody can check it."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.crypto.exports import ACCESS_REPORT, BadExport, signed_document, verified_export
from eunoe.crypto.receipts import BadReceipt, verified_statement
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.ids import LogId, SecretId, new_id

SIGNER = Ed25519Signer(SecretId("export-1"), b"k" * 32)
PUBLIC = SIGNER.verifier().public
LOG = LogId(new_id())
STATEMENT = {"subject": "anna", "records": [{"statement": "Prefers tea.", "confidence": "0.9"}]}


def signed() -> dict[str, Any]:
    """As it is read back from a file."""
    document: dict[str, Any] = json.loads(json.dumps(signed_document(ACCESS_REPORT, LOG, STATEMENT, SIGNER), indent=2))
    return document


def test_what_was_signed_is_verified_however_it_is_laid_out() -> None:
    assert verified_export(signed(), PUBLIC) == STATEMENT


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each["statement"]["records"][0].update(statement="Prefers rum."),
        lambda each: each.update(log_id=new_id()),
        lambda each: each.update(format="eunoe/tenant-export/1"),
        lambda each: each.update(signature=base64.b64encode(b"s" * 64).decode()),
        lambda each: each.update(signature="none"),
        lambda each: each["statement"].update(fraction=0.5),
        lambda each: each.update(statement=[]),
        lambda each: each.pop("signer"),
        lambda each: each.update(more=1),
    ],
)
def test_whatever_was_changed_does_not_verify(change: Callable[[dict[str, Any]], object]) -> None:
    document = signed()
    change(document)
    with pytest.raises(BadExport):
        verified_export(document, PUBLIC)


def test_another_key_and_another_kind_of_document_do_not_verify() -> None:
    with pytest.raises(BadExport, match="does not fit"):
        verified_export(signed(), Ed25519Signer(None, b"o" * 32).verifier().public)
    with pytest.raises(BadReceipt):
        verified_statement(signed(), PUBLIC)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_no_export_is_told_so(document: object) -> None:
    with pytest.raises(BadExport):
        verified_export(document, PUBLIC)
