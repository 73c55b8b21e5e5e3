"""The two sources of a key-encryption key, and what is held while one takes the place of another."""

from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.crypto.errors import KekUnusable
from eunoe.crypto.kek import KEK_VARIABLE, OTHER_VARIABLE, create_key_file, read_key_file
from eunoe.runtime.kek import kek_of
from eunoe.runtime.settings import Settings


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("old", "new"):
        create_key_file(tmp_path / name)
    return tmp_path / "old", tmp_path / "new"


def ids(files: tuple[Path, Path]) -> tuple[str, ...]:
    return tuple(read_key_file(each).kek_id for each in files)


def test_files_and_variables_are_the_same_to_whoever_holds_them(files: tuple[Path, Path]) -> None:
    old, new = files
    variables = {KEK_VARIABLE: old.read_text(), OTHER_VARIABLE: new.read_text()}
    in_files = replace(Settings(), kek_file=old, kek_other_file=new)
    for settings, environ in (
        (in_files, {}),
        (Settings(), variables),
        (replace(Settings(), kek_file=old), {OTHER_VARIABLE: variables[OTHER_VARIABLE]}),
        (replace(Settings(), kek_other_file=new), {KEK_VARIABLE: variables[KEK_VARIABLE]}),
        (in_files, {KEK_VARIABLE: variables[OTHER_VARIABLE], OTHER_VARIABLE: variables[KEK_VARIABLE]}),
    ):
        ring = kek_of(settings, environ)
        assert (ring.held, ring.first) == (ids(files), ids(files)[0])
        sealed = ring.wrap(b"k" * 32, b"aad")
        assert kek_of(in_files, {}).unwrap(sealed, b"aad") == b"k" * 32


def test_an_other_one_that_is_gone_is_not_held_and_a_first_one_is_needed(files: tuple[Path, Path]) -> None:
    old, new = files
    new.unlink()
    assert kek_of(replace(Settings(), kek_file=old, kek_other_file=new), {}).held == (read_key_file(old).kek_id,)
    with pytest.raises(KekUnusable, match=KEK_VARIABLE):
        kek_of(Settings(), {})
    with pytest.raises(KekUnusable, match=OTHER_VARIABLE):
        kek_of(replace(Settings(), kek_file=old), {OTHER_VARIABLE: "no key"})
