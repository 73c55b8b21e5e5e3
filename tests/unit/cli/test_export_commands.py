"""`eunoe export` where there is nothing but a file: checking, opening, and what is wrong usage."""

import base64
import json
from pathlib import Path

import pyrage
import pytest
from click.testing import CliRunner

from eunoe.cli.main import cli
from eunoe.client.export_file import digest_of, fact_line
from eunoe.client.recipients import encrypted
from eunoe.crypto.exports import ACCESS_REPORT, TENANT_EXPORT, signed_document
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.schemas.ids import LogId, SecretId, new_id

SIGNER = Ed25519Signer(SecretId("export-1"), b"k" * 32)
KEY = base64.b64encode(SIGNER.verifier().public).decode()
STATEMENT = {
    "tenant": "acme",
    "made_at": "2026-12-02T10:00:00.000Z",
    "made_by": "officer",
    "counts": {"records": 1},
    "records": [{"statement": "Prefers tea."}],
}


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [str(each) for each in arguments], prog_name="eunoe")
    return result.exit_code, result.output


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "anna.json"
    path.write_text(json.dumps(signed_document(ACCESS_REPORT, LogId(new_id()), STATEMENT, SIGNER)))
    return path


def test_a_report_is_checked_with_the_file_and_the_key_alone(report: Path) -> None:
    code, said = run("export", "verify", report, "--key", KEY)
    assert (code, said.startswith("valid")) == (0, True)
    report.write_text(report.read_text().replace("tea", "rum"))
    code, said = run("export", "verify", report, "--key", KEY, "--json")
    assert (code, json.loads(said)["valid"]) == (1, False)


def test_the_export_of_a_tenant_is_checked_as_a_whole(tmp_path: Path) -> None:
    log_id, statements = LogId(new_id()), [{"body": {"statement": text}} for text in ("Tea.", "Rum.")]
    said = STATEMENT | {"facts": 2, "digest": digest_of(statements)}
    head = signed_document(TENANT_EXPORT, log_id, said, SIGNER)
    lines = [json.dumps(each) for each in (head, *(fact_line(log_id, each, SIGNER) for each in statements))]
    path = tmp_path / "acme.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert run("export", "verify", path, "--key", KEY)[0] == 0
    path.write_text("\n".join(lines[:-1]) + "\n")
    code, told = run("export", "verify", path, "--key", KEY)
    assert (code, told.startswith("NOT VALID")) == (1, True)


def test_an_encrypted_report_is_opened_first_and_never_over_a_file_that_is_there(report: Path, tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    (tmp_path / "to").write_text(str(identity.to_public()))
    (tmp_path / "mine").write_text(str(identity))
    sealed, plain = tmp_path / "anna.age", tmp_path / "plain.json"
    sealed.write_bytes(encrypted(report.read_bytes(), tmp_path / "to"))
    opening = ("export", "open", sealed, "--identity", tmp_path / "mine", "--out", plain)
    assert run(*opening)[0] == 0
    assert plain.stat().st_mode & 0o077 == 0
    assert run("export", "verify", plain, "--key", KEY)[0] == 0
    assert run(*opening)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--tenant", "acme"),
        ("--tenant", "acme", "--subject", "anna"),
        ("--subject", "anna", "--identity-checked", "passport"),
        ("verify", "/dev/null", "--key", KEY),
        ("verify", "/dev/null", "--key", "short"),
    ],
)
def test_an_export_that_says_too_little_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    assert run("export", *arguments)[0] == 2
