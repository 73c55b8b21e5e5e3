"""What was once written is read for ever: stored bytes of every schema version decode to what they meant (S37)."""

from pathlib import Path

import pytest

from unit.schemas.stored_records import FOLDER, Stored, as_json, stored_records

CODECS = {each.codec.name: each.codec for each in stored_records()}
FILES = sorted(FOLDER.glob("*.bin"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_bytes_decode_to_what_they_meant(path: Path) -> None:
    codec = CODECS[path.name.split(".")[0]]
    assert as_json(codec.decode(path.read_bytes())) == path.with_suffix(".json").read_bytes()


@pytest.mark.parametrize("stored", stored_records(), ids=lambda stored: stored.stem)
def test_the_newest_version_of_every_record_is_stored(stored: Stored) -> None:
    assert (FOLDER / f"{stored.stem}.bin").is_file(), "run: cd tests && python -m unit.schemas.stored_records"


@pytest.mark.parametrize("stored", stored_records(), ids=lambda stored: stored.stem)
def test_a_record_is_still_written_as_it_was(stored: Stored) -> None:
    """A changed schema that kept its version number would be read by nobody who has the old one."""
    assert stored.codec.encode(stored.record) == (FOLDER / f"{stored.stem}.bin").read_bytes()
