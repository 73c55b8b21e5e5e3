"""Kafka's jars, fetched once per user from Maven Central by PyPI's jgo, which needs no Maven.

A folder with the final name is whole: it is filled under another name, each jar's checksums are verified, and only
then is it renamed. A download that was killed leaves a folder that the next one removes. A lock lets one process
download while others wait for it.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from eunoe.stack.errors import DownloadFailed, ProgramMissing
from eunoe.stack.locking import exclusive

KAFKA_VERSION: Final = "4.4.0"
_COORDINATES: Final = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    # Without it the broker logs nothing: Kafka speaks SLF4J 1.7, and its own distribution adds this binding.
    # The "!" keeps its parent's version table from replacing kafka-clients and Jackson by older ones.
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.5!",
)
_ENDPOINT: Final = "+".join(_COORDINATES)
_NEEDED: Final = tuple(
    f"{name}-{KAFKA_VERSION}.jar" for name in ("kafka_2.13", "kafka-clients", "kafka-server", "kafka-tools")
)
_FOLDER: Final = f"kafka-{KAFKA_VERSION}-{hashlib.sha256(_ENDPOINT.encode()).hexdigest()[:8]}"
"""Other coordinates, another folder: what an older version of this module downloaded is never taken for this."""
_DOWNLOAD_SECONDS: Final = 600.0
_ATTEMPTS: Final = 3

Resolve = Callable[[Path, Path], tuple[Path, ...]]
"""(scratch folder, java) -> the jars, somewhere under the scratch folder. Raises `DownloadFailed`."""


def kafka_jars(cache: Path, java: Path, resolve: Resolve | None = None) -> Path:
    """The folder that holds all jars of the broker. Downloads about 58 MB the first time.

    Raises `DownloadFailed`, `ProgramMissing` (jgo) or `StackBusy`.
    """
    final = cache / _FOLDER
    if final.is_dir():
        return final
    with exclusive(cache / f"{_FOLDER}.lock", _DOWNLOAD_SECONDS):
        if not final.is_dir():
            _download(final, java, resolve or resolve_with_jgo)
    return final


def check_downloadable(cache: Path) -> None:
    """Whether the jars are there or could be fetched. Raises `ProgramMissing` when not."""
    if not (cache / _FOLDER).is_dir():
        _check_jgo()


def resolve_with_jgo(scratch: Path, java: Path) -> tuple[Path, ...]:
    _check_jgo()
    repository = scratch / "m2"
    command = [sys.executable, "-m", "jgo", "--ignore-config", "--resolver=python", "--timeout=60"]
    command += [f"--repo-cache={repository}", f"--cache-dir={scratch / 'jgo'}", "info", "jars", _ENDPOINT]
    # jgo looks at a Java to classify the jars and would fetch one of its own if none were on the path.
    environ = {**os.environ, "PATH": f"{java.parent}{os.pathsep}{os.environ.get('PATH', '')}", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environ,
            timeout=_DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DownloadFailed(_ENDPOINT, f"not done after {_DOWNLOAD_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise DownloadFailed(_ENDPOINT, done.stderr.strip()[-500:] or f"jgo exited {done.returncode}")
    if "Checksum mismatch" in done.stderr:  # jgo only warns
        raise DownloadFailed(_ENDPOINT, "the checksum of a jar is not the published one")
    return tuple(sorted(repository.rglob("*.jar")))


def _check_jgo() -> None:
    if importlib.util.find_spec("jgo") is None:
        raise ProgramMissing("jgo", ("Python packages",), "`pip install 'eunoe[local]'`.")


def _download(final: Path, java: Path, resolve: Resolve) -> None:
    scratch = final.with_name(final.name + ".partial")
    for attempt in range(1, _ATTEMPTS + 1):
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "jars").mkdir(parents=True)
        try:
            jars = resolve(scratch, java)
            _check(jars)
        except DownloadFailed:
            if attempt == _ATTEMPTS:
                shutil.rmtree(scratch, ignore_errors=True)
                raise
            continue
        break
    for jar in jars:
        jar.rename(scratch / "jars" / jar.name)
    (scratch / "jars").rename(final)
    shutil.rmtree(scratch, ignore_errors=True)


def _check(jars: tuple[Path, ...]) -> None:
    """Each jar unpacks with the checksums it holds itself, and the ones the broker starts from are there."""
    for jar in jars:
        try:
            with zipfile.ZipFile(jar) as archive:
                broken = archive.testzip()
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DownloadFailed(jar.name, f"incomplete: {error}") from error
        if broken is not None:
            raise DownloadFailed(jar.name, f"{broken} is damaged")
    missing = set(_NEEDED) - {jar.name for jar in jars}
    if missing:
        raise DownloadFailed(_ENDPOINT, f"{', '.join(sorted(missing))} not among {len(jars)} jars")
