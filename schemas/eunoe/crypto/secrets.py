"""Where principals' secrets lie, and how a policy names them.

A secret file holds one secret a line, ``algorithm:secret_id:base64`` (empty lines and lines from ``#`` are skipped);
several lines are several secrets of one principal, so that a new one can be brought in before the old one goes. The
value of an environment variable has the same form. A policy names either, never a secret itself:

``file:NAME``        a file in the secrets folder
``env:NAME``         an environment variable
``ed25519:BASE64``   a public key, in place; ``ed25519:ID:BASE64`` where the signer calls it by an id of its own
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from eunoe.crypto.errors import SecretUnusable
from eunoe.crypto.signatures import SECRET_BYTES, Algorithm, Ed25519Verifier, Secret, Verifier, secret_of
from eunoe.schemas.ids import SecretId, is_name

_PUBLIC: Final = f"{Algorithm.ED25519}:"
_ALGORITHMS: Final = " or ".join(Algorithm)


def secret_line(algorithm: Algorithm, secret_id: SecretId, content: bytes) -> str:
    """One line of a secret file, without its end. This text is the secret."""
    return f"{algorithm}:{secret_id}:{base64.b64encode(content).decode()}"


def parse_secrets(text: str, source: str) -> tuple[Secret, ...]:
    """The secrets in ``text``, in order, at least one. ``source`` names it in errors, which never quote a line."""
    found: dict[SecretId, Secret] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        secret = _parse_line(stripped, source, number)
        if secret.secret_id in found:
            raise SecretUnusable(source, number, f"secret id {secret.secret_id} is there twice")
        found[secret.secret_id] = secret
    if not found:
        raise SecretUnusable(source, 0, "holds no secret; a line is algorithm:secret_id:base64")
    return tuple(found.values())


def read_secret_file(path: Path) -> tuple[Secret, ...]:
    """The secrets of a file. Raises ``SecretUnusable`` naming file and line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SecretUnusable(str(path), 0, f"cannot be read: {error.strerror}") from None
    return parse_secrets(content.decode("utf-8", "replace"), str(path))


def resolve_secrets(reference: str, folder: Path, environ: Mapping[str, str]) -> tuple[Secret, ...]:
    """The secrets that ``file:NAME`` or ``env:NAME`` names. Raises ``SecretUnusable``."""
    scheme, _, name = reference.partition(":")
    if scheme == "file":
        if not is_name(name) or name.strip(".") == "":
            raise SecretUnusable("file reference", 0, "names a file in the secrets folder: letters, digits, . _ -")
        return read_secret_file(folder / name)
    if scheme == "env":
        value = environ.get(name)
        if not value:
            raise SecretUnusable(f"environment variable {name}", 0, "is not set")
        return parse_secrets(value, f"environment variable {name}")
    # The reference is not quoted: someone may have written the secret itself.
    raise SecretUnusable("secret reference", 0, "is none of file:NAME, env:NAME, ed25519:BASE64")


def resolve_verifiers(reference: str, folder: Path, environ: Mapping[str, str]) -> tuple[Verifier, ...]:
    """What checks the proofs of the principal whose ``reference`` this is. Raises ``SecretUnusable``."""
    if reference.startswith(_PUBLIC):
        return (public_key(reference),)
    return tuple(secret.verifier() for secret in resolve_secrets(reference, folder, environ))


def public_key(reference: str) -> Ed25519Verifier:
    """The key of ``ed25519:BASE64`` or ``ed25519:ID:BASE64``. Raises ``SecretUnusable``."""
    parts = reference.split(":")
    secret_id = parts[1] if len(parts) == 3 else None
    public = _decode(parts[-1])
    if f"{parts[0]}:" != _PUBLIC or len(parts) not in (2, 3) or len(public) != SECRET_BYTES:
        raise SecretUnusable("public key", 0, f"must be ed25519:BASE64 of {SECRET_BYTES} bytes")
    if secret_id is not None and not is_name(secret_id):
        raise SecretUnusable("public key", 0, "its id may have letters, digits, . _ - only")
    return Ed25519Verifier(public, None if secret_id is None else SecretId(secret_id))


def _parse_line(line: str, source: str, number: int) -> Secret:
    parts = line.split(":")
    if len(parts) != 3:
        raise SecretUnusable(source, number, "must be algorithm:secret_id:base64")
    if parts[0] not in tuple(Algorithm):
        raise SecretUnusable(source, number, f"the algorithm must be {_ALGORITHMS}")
    if not is_name(parts[1]):
        raise SecretUnusable(source, number, "the secret id may have letters, digits, . _ - only")
    content = _decode(parts[2])
    try:
        return secret_of(Algorithm(parts[0]), SecretId(parts[1]), content)
    except ValueError as error:
        problem = str(error) if content else "the third part is not base64"
    raise SecretUnusable(source, number, problem)


def _decode(text: str) -> bytes:
    """The bytes of standard base64; none where it is not."""
    try:
        return base64.b64decode(text.encode("utf-8", "replace"), validate=True)
    except binascii.Error:
        return b""
