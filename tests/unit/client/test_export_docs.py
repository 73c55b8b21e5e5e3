"""docs/export.md is true: its program, which uses no part of eunoe, accepts what eunoe signs and nothing else."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from eunoe.crypto.exports import ACCESS_REPORT, signed_document
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.ids import LogId, SecretId

PAGE: Final = (Path(__file__).parents[3] / "docs" / "export.md").read_text(encoding="utf-8")
SIGNER: Final = Ed25519Signer(SecretId("export-1"), bytes(range(32)))
STATEMENT: Final = {
    "tenant": "acme",
    "made_at": "now",
    "records": [{"statement": 'für immer \u2028 "ja"', "version": 2}],
}


def run_the_docs(folder: Path, document: dict[str, Any]) -> int:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "eunoe." not in code
    (folder / "verify.py").write_text(code, encoding="utf-8")
    (folder / "export.json").write_text(json.dumps(document), encoding="utf-8")
    key = base64.b64encode(SIGNER.verifier().public).decode()
    command = [sys.executable, str(folder / "verify.py"), str(folder / "export.json"), key]
    environ = {"PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, env=environ, capture_output=True, check=False, timeout=60).returncode


def test_the_program_in_the_docs_tells_a_true_export_from_a_changed_one(tmp_path: Path) -> None:
    log_id = LogId("01a2367a-c1dc-7f12-8a48-b091ff3291eb")
    document = signed_document(ACCESS_REPORT, log_id, STATEMENT, SIGNER)
    assert run_the_docs(tmp_path, document) == 0
    assert run_the_docs(tmp_path, document | {"log_id": "another"}) != 0
    assert run_the_docs(tmp_path, document | {"statement": STATEMENT | {"made_at": "then"}}) != 0
