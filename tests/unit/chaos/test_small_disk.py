"""The broker's disk of a chaos run: full when told to be, and seen by nobody outside."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

NOT_ALLOWED: Final = 77
PROGRAM: Final = """
import errno, sys
from pathlib import Path
from eunoe.testing.chaos.small_disk import small_disk

disk = small_disk(Path(sys.argv[1]))
if disk is None:
    sys.exit(77)
first, second = disk.path / "first", disk.path / "second"
first.write_bytes(b"x" * 100_000)
assert disk.fill() >= 100_000
try:
    second.write_bytes(b"x" * 100_000)
except OSError as full:
    assert full.errno == errno.ENOSPC, full
else:
    sys.exit("it took more")
disk.make_room()
second.write_bytes(b"x" * 100_000)
assert len(first.read_bytes()) == len(second.read_bytes()) == 100_000
"""


def test_it_is_full_when_told_to_be_and_nobody_outside_sees_it(tmp_path: Path) -> None:
    place = tmp_path / "disk"
    # A process of its own: it takes itself out of everybody's view of the file systems.
    command = [sys.executable, "-c", PROGRAM, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode == NOT_ALLOWED:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr
    assert list(place.iterdir()) == []
