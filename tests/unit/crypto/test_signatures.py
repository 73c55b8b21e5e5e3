import base64
import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eunoe.crypto.errors import SecretUnusable
from eunoe.crypto.secrets import parse_secrets, public_key, resolve_secrets, resolve_verifiers, secret_line
from eunoe.crypto.signatures import Algorithm, Ed25519Signer, HmacSecret, Secret, new_secret_bytes, secret_of
from eunoe.schemas.ids import SecretId

BYTES = bytes(range(200, 232))
TEXT = base64.b64encode(BYTES).decode()
NAME = SecretId("agent-1")
SECRETS: list[Secret] = [HmacSecret(NAME, BYTES), Ed25519Signer(NAME, BYTES)]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: str(secret.algorithm))
def test_a_proof_holds_for_its_message_and_key_only(secret: Secret) -> None:
    @given(st.binary(max_size=200))
    def holds(message: bytes) -> None:
        verifier, proof = secret.verifier(), secret.sign(message)
        assert verifier.verify(message, proof)
        assert not verifier.verify(message + b"\x00", proof)
        assert not verifier.verify(message, proof[:-1] + bytes([proof[-1] ^ 1]))
        assert not verifier.verify(message, proof[:-1])
        assert not verifier.verify(message, b"")
        assert not secret_of(secret.algorithm, NAME, bytes(32)).verifier().verify(message, proof)

    holds()


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: str(secret.algorithm))
def test_a_secret_line_reads_back(secret: Secret) -> None:
    (read,) = parse_secrets(secret_line(secret.algorithm, NAME, BYTES), "here")
    assert (read.algorithm, read.secret_id) == (secret.algorithm, NAME)
    assert secret.verifier().verify(b"m", read.sign(b"m"))


def test_an_hmac_is_the_standard_one() -> None:
    assert HmacSecret(NAME, BYTES).sign(b"message") == hmac.digest(BYTES, b"message", "sha256")


def test_several_secrets_comments_and_empty_lines() -> None:
    text = f"# mine\n\nhmac-sha256:old:{TEXT}\n  hmac-sha256:new:{TEXT}  \r\ned25519:sig:{TEXT}\n"
    assert [secret.secret_id for secret in parse_secrets(text, "here")] == ["old", "new", "sig"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (TEXT, "must be algorithm:secret_id:base64"),
        (f"hmac-sha256:{TEXT}", "must be algorithm:secret_id:base64"),
        (f"hmac-md5:agent:{TEXT}", "algorithm must be hmac-sha256 or ed25519"),
        (f"hmac-sha256:a b:{TEXT}", "secret id may have"),
        (f"hmac-sha256:agent:{TEXT[:-1]}!", "not base64"),
        (f"hmac-sha256:agent:{TEXT[:20]}", "at least 32 bytes"),
        (f"ed25519:agent:{TEXT[:20]}", "32 bytes"),
        (f"hmac-sha256:first:{TEXT}", "first is there twice"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number_and_not_quoted(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "agent"
    path.write_text(f"hmac-sha256:first:{TEXT}\n# comment\n{line}\n")
    with pytest.raises(SecretUnusable, match=reason) as caught:
        resolve_secrets("file:agent", tmp_path, {})
    assert (caught.value.source, caught.value.line) == (str(path), 3)
    assert TEXT[:12] not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("text", ["", "\n# nothing\n"])
def test_a_source_without_a_secret_is_refused(text: str) -> None:
    with pytest.raises(SecretUnusable, match="holds no secret"):
        parse_secrets(text, "here")


def test_references_name_files_variables_and_public_keys(tmp_path: Path) -> None:
    signer = Ed25519Signer(NAME, BYTES)
    (tmp_path / "agent").write_text(secret_line(Algorithm.HMAC_SHA256, NAME, BYTES))
    environ = {"AGENT": secret_line(Algorithm.ED25519, NAME, BYTES)}
    assert isinstance(resolve_verifiers("file:agent", tmp_path, environ)[0], HmacSecret)
    for reference in ("env:AGENT", signer.verifier().reference, f"ed25519:agent-1:{signer.verifier().reference[8:]}"):
        (verifier,) = resolve_verifiers(reference, tmp_path, environ)
        assert verifier.verify(b"m", signer.sign(b"m"))
    with pytest.raises(SecretUnusable):
        resolve_secrets(signer.verifier().reference, tmp_path, environ)


def test_a_public_key_has_the_id_its_signer_has_by_default() -> None:
    signer = Ed25519Signer(None, new_secret_bytes())
    assert public_key(signer.verifier().reference).secret_id == signer.secret_id


@pytest.mark.parametrize(
    "reference",
    ["file:..", "file:.", "file:", "file:a/b", "file:../x", "file:absent", "env:ABSENT", "env:", TEXT, f"hmac:{TEXT}"],
)
def test_a_bad_reference_is_refused_and_a_secret_in_its_place_not_quoted(tmp_path: Path, reference: str) -> None:
    with pytest.raises(SecretUnusable) as caught:
        resolve_verifiers(reference, tmp_path, {})
    assert TEXT[:12] not in str(caught.value)


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../x", "/etc/passwd"])
def test_a_file_reference_stays_in_the_secrets_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(SecretUnusable, match="a file in the secrets folder"):
        resolve_secrets(f"file:{name}", tmp_path, {})


@pytest.mark.parametrize("reference", ["ed25519:", "ed25519:AAAA", f"ed25519:a b:{TEXT}", f"ed25519:a:b:{TEXT}"])
def test_a_bad_public_key_is_refused(reference: str) -> None:
    with pytest.raises(SecretUnusable, match="public key"):
        public_key(reference)
