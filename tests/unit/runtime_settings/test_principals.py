"""Development secrets are made once, kept private, and fit the policy that comes with them."""

import stat
from pathlib import Path

from eunoe.crypto.kek import read_key_file
from eunoe.crypto.secrets import read_secret_file
from eunoe.runtime.principals import PolicyVerifiers, control_signer, create_development_secrets, secrets_of
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName, SecretId
from eunoe.schemas.policy_file import read_policy


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    first = create_development_secrets(folder)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    assert create_development_secrets(folder) == first
    assert {each.name: each.read_bytes() for each in folder.iterdir()} == before


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    assert stat.S_IMODE(made.secrets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in made.secrets.iterdir()} == {0o600}
    assert read_key_file(made.kek_file).kek_id.startswith("kek-")


def test_every_principal_of_the_policy_is_checked_by_the_secret_it_signs_with(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    policy = read_policy(made.policy)
    verifiers = PolicyVerifiers(policy, made.secrets, {})
    assert verifiers.missing == []
    settings = Settings(secrets=made.secrets)
    for principal in policy.principals.values():
        (secret,) = secrets_of(settings, principal.name)
        verifier = verifiers.find(principal.name, secret.secret_id)
        assert verifier is not None
        assert verifier.verify(b"message", secret.sign(b"message"))
        assert not verifier.verify(b"another", secret.sign(b"message"))


def test_the_control_key_is_the_one_that_may_sign(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    signer = control_signer(made.control_key)
    assert [(each.signer, each.public_key) for each in made.control_signers] == [
        (signer.secret_id, signer.verifier().public)
    ]


def test_secrets_of_two_folders_are_different(tmp_path: Path) -> None:
    one, other = (create_development_secrets(tmp_path / name) for name in ("one", "other"))
    for path in one.secrets.iterdir():
        assert path.read_bytes() != (other.secrets / path.name).read_bytes()


def test_a_secret_that_is_not_here_verifies_nothing_and_is_listed(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    (made.secrets / "dev-agent.secret").unlink()
    verifiers = PolicyVerifiers(read_policy(made.policy), made.secrets, {})
    assert verifiers.find(PrincipalName("dev-agent"), SecretId("dev-agent-1")) is None
    assert verifiers.find(PrincipalName("eunoe-sweeper"), SecretId("eunoe-sweeper-1")) is not None
    (missing,) = verifiers.missing
    assert missing.startswith("dev-agent/dev-agent-1: ")


def test_a_principal_is_not_checked_with_anothers_secret_id(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    verifiers = PolicyVerifiers(read_policy(made.policy), made.secrets, {})
    assert verifiers.find(PrincipalName("dev-officer"), SecretId("dev-reviewer-1")) is None


def test_the_secret_file_is_the_callers_own(tmp_path: Path) -> None:
    made = create_development_secrets(tmp_path / "secrets")
    mine = tmp_path / "mine"
    mine.write_bytes((made.secrets / "dev-agent.secret").read_bytes())
    settings = Settings(principal=PrincipalName("dev-agent"), secret_file=mine)
    assert [each.secret_id for each in secrets_of(settings, PrincipalName("dev-agent"))] == [
        each.secret_id for each in read_secret_file(mine)
    ]
