"""Principals' secrets: what checks a command's MAC here, and what a caller signs with.

A policy only refers to secrets; the files and variables it refers to are on the machines that need them. Development
secrets are made by `eunoe up`, never shipped.
"""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from eunoe.crypto.errors import SecretUnusable
from eunoe.crypto.kek import create_key_file
from eunoe.crypto.secrets import read_secret_file, resolve_secrets, secret_line
from eunoe.crypto.signatures import Algorithm as MacAlgorithm
from eunoe.crypto.signatures import Ed25519Signer, Ed25519Verifier, Secret, Verifier, new_secret_bytes
from eunoe.runtime.agreement import SignedBytes
from eunoe.runtime.setting_values import ControlSigner
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import Approval
from eunoe.schemas.ids import Millis, PrincipalName, SecretId
from eunoe.schemas.policy import Policy, SecretRef
from eunoe.schemas.policy_file import development_policy_text, read_policy
from eunoe.schemas.values import Algorithm

_HMAC_PRINCIPALS: Final = ("dev-agent", "dev-portal", "eunoe-sweeper")
_SIGNING_PRINCIPALS: Final = ("dev-reviewer", "dev-officer")
_CONTROL: Final = "dev-control"
_ATTEST: Final = "attest"
_EXPORT: Final = "export"
SWEEPER: Final = PrincipalName("eunoe-sweeper")


class PolicyVerifiers:
    """Every secret of one policy, read once. One that cannot be read verifies nothing, and is listed in ``missing``."""

    def __init__(self, policy: Policy, folder: Path | None, environ: Mapping[str, str] | None = None) -> None:
        self._found: dict[tuple[PrincipalName, SecretId], Verifier] = {}
        self.missing: list[str] = []
        for principal in policy.principals.values():
            for ref in principal.secrets:
                try:
                    verifier = _verifier(ref, folder, os.environ if environ is None else environ)
                except SecretUnusable as error:
                    self.missing.append(f"{principal.name}/{ref.secret_id}: {error}")
                else:
                    self._found[principal.name, ref.secret_id] = verifier

    def find(self, principal: PrincipalName, secret_id: SecretId) -> Verifier | None:
        return self._found.get((principal, secret_id))


def _verifier(ref: SecretRef, folder: Path | None, environ: Mapping[str, str]) -> Verifier:
    if ref.algorithm is Algorithm.ED25519:
        return Ed25519Verifier(base64.b64decode(ref.reference), ref.secret_id)
    if folder is None and ref.reference.startswith("file:"):
        raise SecretUnusable(ref.reference, 0, "EUNOE_SECRETS does not name the folder it is in")
    for secret in resolve_secrets(ref.reference, folder or Path(), environ):
        if secret.secret_id == ref.secret_id and secret.algorithm.value == ref.algorithm.value:
            return secret.verifier()
    raise SecretUnusable(ref.reference, 0, f"holds no {ref.algorithm} secret {ref.secret_id}")


def secrets_of(settings: Settings, principal: PrincipalName) -> tuple[Secret, ...]:
    """What ``principal`` signs with: its ``secret_file``, else ``<secrets>/<principal>.secret``.

    Raises ``SecretUnusable`` naming the file.
    """
    if settings.secret_file is not None and principal == settings.principal:
        return read_secret_file(settings.secret_file)
    if settings.secrets is None:
        raise SecretUnusable(
            f"secret of {principal}", 0, "name its file in EUNOE_SECRET_FILE, or the folder in EUNOE_SECRETS"
        )
    return read_secret_file(settings.secrets / f"{principal}.secret")


def approval(
    settings: Settings, principal: PrincipalName, now: Millis, signed: SignedBytes, said: str = ""
) -> Approval:
    """That ``principal`` agrees, under its own signature. Raises ValueError where it has no signing secret."""
    blank = Approval(principal=principal, secret_id=SecretId(""), at=now, signature=b"", said=said)
    for secret in secrets_of(settings, principal):
        if isinstance(secret, Ed25519Signer):
            return replace(blank, secret_id=secret.secret_id, signature=secret.sign(signed(blank)))
    raise ValueError(f"{principal} has no signing secret, and agreeing to this takes a person's signature")


def control_signer(path: Path) -> Ed25519Signer:
    """The key that signs control records. Raises ``SecretUnusable``."""
    for secret in read_secret_file(path):
        if isinstance(secret, Ed25519Signer):
            return secret
    raise SecretUnusable(str(path), 0, "holds no ed25519 secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class DevelopmentSecrets:
    """What `create_development_secrets` made or found: settings that use it, and the policy it fits."""

    kek_file: Path
    secrets: Path
    control_key: Path
    attest_key: Path
    export_key: Path
    erasure_ledger: Path
    control_signers: tuple[ControlSigner, ...]
    policy: bytes


def create_development_secrets(folder: Path) -> DevelopmentSecrets:
    """A KEK, principals' secrets and a control key in ``folder`` (made private); what is there already is kept."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    kek_file = folder / "kek"
    if not kek_file.exists():
        create_key_file(kek_file)
    for name in _HMAC_PRINCIPALS:
        _create(folder, name, MacAlgorithm.HMAC_SHA256)
    policy = development_policy_text()
    for name in _SIGNING_PRINCIPALS:
        _create(folder, name, MacAlgorithm.ED25519)
        public = control_signer(folder / f"{name}.secret").verifier().public
        policy = policy.replace(f"@{name}@", base64.b64encode(public).decode())
    export_key = _create(folder, _EXPORT, MacAlgorithm.ED25519)
    exporter = base64.b64encode(control_signer(export_key).verifier().public).decode()
    policy = policy.replace(f"@{_EXPORT}@", exporter)
    control_key = _create(folder, _CONTROL, MacAlgorithm.ED25519)
    signer = control_signer(control_key)
    return DevelopmentSecrets(
        kek_file=kek_file,
        secrets=folder,
        control_key=control_key,
        attest_key=_create(folder, _ATTEST, MacAlgorithm.ED25519),
        export_key=export_key,
        erasure_ledger=folder / "erasures.jsonl",
        control_signers=(ControlSigner(signer.secret_id, signer.verifier().public),),
        policy=policy.encode(),
    )


def sample_development_text() -> str:
    """The development policy with public keys that nobody holds: for what only asks the policy."""
    policy = development_policy_text()
    for number, name in enumerate((*_SIGNING_PRINCIPALS, _EXPORT)):
        policy = policy.replace(f"@{name}@", base64.b64encode(bytes([number]) * 32).decode())
    return policy


def sample_development_policy() -> Policy:
    """`sample_development_text`, read."""
    return read_policy(sample_development_text().encode(), "development")


def _create(folder: Path, name: str, algorithm: MacAlgorithm) -> Path:
    path = folder / f"{name}.secret"
    if not path.exists():
        # Written aside and linked: two that start at once agree on one secret, and none is ever half there.
        draft = folder / f".{name}.{os.getpid()}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secret_line(algorithm, SecretId(f"{name}-1"), new_secret_bytes()) + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path
