"""Destroying a key file: only the retired one, whatever was killed before, and never one that would be given out."""

from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.crypto.kek import create_key_file, read_key_file
from eunoe.operations.kek_provider import OPERATOR_ATTESTS, destroy_kek
from eunoe.operations.rotation_errors import RotationRefused
from eunoe.runtime.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The new key first, the old one beside it."""
    for name in ("new", "old"):
        create_key_file(tmp_path / name)
    return replace(Settings(), kek_file=tmp_path / "new", kek_other_file=tmp_path / "old")


def old_id(folder: Path) -> str:
    return read_key_file(folder / "old").kek_id


def left(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def test_the_file_is_removed_and_a_second_call_finds_nothing(settings: Settings, tmp_path: Path) -> None:
    retired = old_id(tmp_path)
    assert "removed" in destroy_kek(settings, retired).what
    assert left(tmp_path) == {"new"}
    again = destroy_kek(settings, retired)
    assert (again.evidence, "no key file" in again.what) == (OPERATOR_ATTESTS, True)


@pytest.mark.parametrize("overwritten", [False, True])
def test_killed_between_its_other_name_and_its_end_it_does_not_stay(
    settings: Settings, tmp_path: Path, overwritten: bool
) -> None:
    retired = old_id(tmp_path)
    going = (tmp_path / "old").rename(tmp_path / "old.going")
    if overwritten:
        going.write_bytes(b"\0" * 45)
    assert "removed" in destroy_kek(settings, retired).what
    assert left(tmp_path) == {"new"}


def test_another_key_under_that_name_stays(settings: Settings, tmp_path: Path) -> None:
    assert "no key file" in destroy_kek(settings, "kek-" + "0" * 16).what
    assert left(tmp_path) == {"new", "old"}


def test_what_the_next_process_would_be_given_is_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retired = old_id(tmp_path)
    with pytest.raises(RotationRefused, match="kek_file still names"):
        destroy_kek(replace(settings, kek_file=tmp_path / "old"), retired)
    monkeypatch.setenv("EUNOE_KEK_OTHER", (tmp_path / "old").read_text())
    with pytest.raises(RotationRefused, match="EUNOE_KEK_OTHER still holds"):
        destroy_kek(settings, retired)
    assert left(tmp_path) == {"new", "old"}
