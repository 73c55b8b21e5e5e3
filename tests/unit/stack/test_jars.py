"""A folder with the final name is whole, whatever happened to the downloads before it."""

import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from eunoe.stack.errors import DownloadFailed, StackBusy
from eunoe.stack.jars import KAFKA_VERSION, kafka_jars
from eunoe.stack.locking import exclusive

NAMES = tuple(f"{name}-{KAFKA_VERSION}.jar" for name in ("kafka_2.13", "kafka-clients", "kafka-server", "kafka-tools"))
JAVA = Path("java")


def write_jars(scratch: Path, names: tuple[str, ...] = NAMES) -> tuple[Path, ...]:
    jars = tuple(scratch / "m2" / name for name in names)
    (scratch / "m2").mkdir()
    for jar in jars:
        with zipfile.ZipFile(jar, "w") as archive:
            archive.writestr("a/B.class", jar.name * 100)
    return jars


class Source:
    """Stands for Maven Central: fails ``failures`` times first, or gives truncated jars instead."""

    def __init__(self, failures: int = 0, truncated: bool = False, names: tuple[str, ...] = NAMES) -> None:
        self.calls = 0
        self._failures = failures
        self._truncated = truncated
        self._names = names

    def __call__(self, scratch: Path, java: Path) -> tuple[Path, ...]:
        self.calls += 1
        jars = write_jars(scratch, self._names)
        if self.calls <= self._failures:
            if not self._truncated:
                raise DownloadFailed("jars", "connection reset")
            jars[1].write_bytes(jars[1].read_bytes()[:60])
        return jars


def test_jars_are_downloaded_once(tmp_path: Path) -> None:
    source = Source()
    first = kafka_jars(tmp_path, JAVA, source)
    second = kafka_jars(tmp_path, JAVA, source)
    assert first == second
    assert {jar.name for jar in first.iterdir()} == set(NAMES)
    assert source.calls == 1


@pytest.mark.parametrize("truncated", [False, True])
def test_a_failed_or_truncated_download_is_tried_again(tmp_path: Path, truncated: bool) -> None:
    source = Source(failures=2, truncated=truncated)
    folder = kafka_jars(tmp_path, JAVA, source)
    assert source.calls == 3
    assert all(zipfile.is_zipfile(jar) for jar in folder.iterdir())


@pytest.mark.parametrize("source", [Source(failures=9), Source(failures=9, truncated=True), Source(names=NAMES[1:])])
def test_what_never_comes_whole_leaves_nothing_behind(tmp_path: Path, source: Source) -> None:
    with pytest.raises(DownloadFailed):
        kafka_jars(tmp_path, JAVA, source)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
    assert kafka_jars(tmp_path, JAVA, Source()).is_dir()


def test_a_download_that_was_killed_is_started_over(tmp_path: Path) -> None:
    final = kafka_jars(tmp_path, JAVA, Source())
    partial = final.with_name(f"{final.name}.partial")
    final.rename(partial)
    (partial / "jars").mkdir()
    (partial / "jars" / "half.jar").write_bytes(b"PK")

    source = Source()
    assert kafka_jars(tmp_path, JAVA, source) == final
    assert source.calls == 1
    assert {jar.name for jar in final.iterdir()} == set(NAMES)
    assert not partial.exists()


def test_of_several_at_once_one_downloads(tmp_path: Path) -> None:
    source, found = Source(), list[Path]()
    threads = [threading.Thread(target=lambda: found.append(kafka_jars(tmp_path, JAVA, source))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert source.calls == 1


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = (
        f"import fcntl, time; file = open({str(lock)!r}, 'ab'); fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(StackBusy), exclusive(lock, 0.1):
            pass
        process.kill()
        process.wait()
        with exclusive(lock, 5):
            pass
