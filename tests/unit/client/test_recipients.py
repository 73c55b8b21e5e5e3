"""What is encrypted to somebody is opened by them alone, and no error says what is in a key file."""

from pathlib import Path

import pyrage
import pytest

from eunoe.client.recipients import BadKeyFile, decrypted, encrypted


def test_only_those_it_is_for_open_it(tmp_path: Path) -> None:
    first, second, third = (pyrage.x25519.Identity.generate() for _ in range(3))
    to = tmp_path / "to"
    to.write_text(f"# the person and their lawyer\n{first.to_public()}\n\n{second.to_public()}\n")
    sealed = encrypted(b"Prefers tea.", to)
    assert sealed.startswith(b"age-encryption.org/v1")
    for each in (first, second):
        (tmp_path / "mine").write_text(f"# created: today\n{each}\n")
        assert decrypted(sealed, tmp_path / "mine") == b"Prefers tea."
    (tmp_path / "mine").write_text(f"{third}\n")
    with pytest.raises(BadKeyFile, match="no key in"):
        decrypted(sealed, tmp_path / "mine")


@pytest.mark.parametrize("content", ["", "# nothing\n", "age1not-a-key\n"])
def test_a_file_without_a_key_is_told_by_its_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys").write_text(content)
    with pytest.raises(BadKeyFile, match="keys holds"):
        encrypted(b"x", tmp_path / "keys")
    with pytest.raises(BadKeyFile, match="cannot be read"):
        encrypted(b"x", tmp_path / "elsewhere")


def test_a_private_key_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    secret = str(pyrage.x25519.Identity.generate())
    (tmp_path / "keys").write_text(secret)
    with pytest.raises(BadKeyFile) as told:
        encrypted(b"x", tmp_path / "keys")
    assert secret not in str(told.value)
