"""A receipt's body has one form, and its signature covers that form, its place and its log."""

from typing import Any

import pytest
from msgspec.structs import replace

from eunoe.schemas.ids import LogId, SecretId, new_id
from eunoe.schemas.receipts import ReceiptRecord, receipt_body, receipt_hash, signed_receipt_bytes

LOG = LogId(new_id())
RECORD = ReceiptRecord(log_id=LOG, sequence=1, body=b"{}", signer=SecretId("attest-1"), signature=b"s" * 64)


def test_the_same_statement_has_the_same_bytes() -> None:
    assert receipt_body({"b": [1, True, None], "a": "é"}) == '{"a":"é","b":[1,true,null]}'.encode()
    assert receipt_body({"a": "é", "b": (1, True, None)}) == receipt_body({"b": [1, True, None], "a": "é"})


@pytest.mark.parametrize("value", [0.5, b"bytes", {1: "x"}, {"deep": [float("nan")]}])
def test_what_has_no_one_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        receipt_body({"value": value})


def test_the_signature_covers_log_place_and_body() -> None:
    covered = {
        signed_receipt_bytes(LOG, 1, b"{}"),
        signed_receipt_bytes(LogId(new_id()), 1, b"{}"),
        signed_receipt_bytes(LOG, 2, b"{}"),
        signed_receipt_bytes(LOG, 1, b'{"a":1}'),
    }
    assert len(covered) == 4


def test_the_chain_covers_the_signature_too() -> None:
    assert receipt_hash(RECORD) != receipt_hash(replace(RECORD, signature=b"t" * 64))
    assert len(receipt_hash(RECORD)) == 64
