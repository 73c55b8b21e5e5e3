"""A worker with a wall clock of its own: libfaketime between it and the system, stepped through a file.

Only the wall clock moves; the monotonic one, by which every wait goes, stays. The library comes from the PyPI package
`libfaketime`, as a shared object for Linux on x86-64; elsewhere the fault is left out, and the report says so.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LIBRARY: Final = "vendor/libfaketime/src/libfaketime.so.1"
_TEST: Final = "import time; print(int(time.time()))"
_HOUR_S: Final = 3_600
_TIMEOUT_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class ShiftedClock:
    """``environ`` is what a process is started with; `step` then moves its clock whenever it is called."""

    library: Path
    file: Path
    zone: str

    def step(self, hours: int) -> None:
        """Hours from the true time, from the next look at the clock on."""
        self.file.write_text(f"{hours:+d}h")

    @property
    def environ(self) -> Mapping[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "TZ": self.zone,
        }


def shifted_clock(folder: Path, zone: str) -> ShiftedClock | None:
    """None where there is no library, or it does not work here."""
    spec = importlib.util.find_spec("libfaketime")
    if spec is None or not spec.submodule_search_locations:
        return None
    library = Path(next(iter(spec.submodule_search_locations))) / _LIBRARY
    if not sys.platform.startswith("linux") or not library.is_file():
        return None
    clock = ShiftedClock(library, folder / "clock", zone)
    clock.step(1)
    shifted, true = _seconds(clock.environ), _seconds({})
    clock.step(0)
    return clock if abs(shifted - true - _HOUR_S) < _TIMEOUT_S else None


def _seconds(environ: Mapping[str, str]) -> int:
    """What a new process takes for the time; 0 where it does not start."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", _TEST],
        env=dict(environ),
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdigit() else 0
