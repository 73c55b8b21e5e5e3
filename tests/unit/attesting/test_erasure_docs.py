"""docs/erasure.md is true: its program, which uses no part of eunoe, accepts what eunoe signs and nothing else."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from eunoe.crypto.receipts import receipt_document
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.ids import LogId, SecretId
from eunoe.schemas.receipts import (
    FIRST,
    FORMAT,
    NOT_COVERED,
    ReceiptRecord,
    Stage,
    receipt_body,
    receipt_hash,
    signed_receipt_bytes,
)

PAGE: Final = (Path(__file__).parents[3] / "docs" / "erasure.md").read_text(encoding="utf-8")
LOG: Final = LogId("01a2367a-c1dc-7f12-8a48-b091ff3291eb")
SIGNER: Final = Ed25519Signer(SecretId("attest-1"), bytes(range(32)))


def two_receipts() -> list[dict[str, Any]]:
    documents, previous = [], FIRST
    for sequence, stage in enumerate((Stage.LOGICAL, Stage.COMPACTED), start=1):
        statement = {
            "stage": stage.value,
            "claim": 'rendered unreadable – für immer \u2028 "ja"',
            "installation": LOG,
            "sequence": sequence,
            "previous": previous,
            "format": FORMAT,
            "checks": [{"passed": True, "values": 0}],
            "not_covered": list(NOT_COVERED),
        }
        body = receipt_body(statement)
        signature = SIGNER.sign(signed_receipt_bytes(LOG, sequence, body))
        record = ReceiptRecord(log_id=LOG, sequence=sequence, body=body, signer=SIGNER.secret_id, signature=signature)
        previous = receipt_hash(record)
        documents.append(receipt_document(record))
    return documents


def run_the_docs(folder: Path, documents: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    program, file = folder / "verify.py", folder / "erasure.json"
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(code) == 1
    assert "eunoe." not in code[0]
    program.write_text(code[0], encoding="utf-8")
    file.write_text(json.dumps(documents), encoding="utf-8")
    key = base64.b64encode(SIGNER.verifier().public).decode()
    environ = {"PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(program), str(file), key]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environ, check=False)


def test_the_program_of_the_page_takes_what_was_signed(tmp_path: Path) -> None:
    found = run_the_docs(tmp_path, two_receipts())
    assert found.returncode == 0, found.stderr
    assert [line.split()[:2] for line in found.stdout.strip().split("\n")] == [["1", "logical"], ["2", "compacted"]]


def test_it_refuses_a_changed_count(tmp_path: Path) -> None:
    documents = two_receipts()
    documents[1]["statement"]["checks"][0]["values"] = 1
    found = run_the_docs(tmp_path, documents)
    assert found.returncode != 0
    assert "InvalidSignature" in found.stderr


def test_it_refuses_a_chain_in_which_one_was_replaced(tmp_path: Path) -> None:
    documents = two_receipts()
    statement = documents[0]["statement"] | {"claim": "another"}
    body = receipt_body(statement)
    signature = SIGNER.sign(signed_receipt_bytes(LOG, 1, body))
    documents[0] |= {"statement": statement, "signature": base64.b64encode(signature).decode()}
    found = run_the_docs(tmp_path, documents)
    assert found.returncode != 0
    assert "AssertionError" in found.stderr


def test_the_page_lists_everything_that_a_receipt_does_not_cover() -> None:
    """A privacy officer reads the page, not the code: a further limit must be on it, too."""
    listed = PAGE[PAGE.index("## What is not covered") : PAGE.index("## What remains")].lower()
    for each in NOT_COVERED:
        assert each.split()[0] in listed
    assert all(f"`{stage}`" in PAGE for stage in Stage)
