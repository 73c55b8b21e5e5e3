"""A process is known by pid and start time, and only that one is ever signalled."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.stack import processes
from eunoe.stack.probes import wait_until
from eunoe.stack.processes import ProcessRecord

Start = Callable[[str], ProcessRecord]
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
ORDERLY = "import signal; signal.signal(signal.SIGTERM, lambda *_: exit(print('in order', flush=True)))"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run some Python, then print "ready" and sleep; return when it said so."""
    children: list[subprocess.Popen[bytes]] = []

    def run(code: str) -> ProcessRecord:
        log = tmp_path / f"{len(children)}.log"
        program = f"import time; {code or 'pass'}; print('ready', flush=True); time.sleep(60)"
        children.append(processes.spawn([sys.executable, "-c", program], log=log, environ={}, cwd=tmp_path))
        record = processes.record_of(children[-1])
        assert record is not None
        assert wait_until(lambda: b"ready" in log.read_bytes(), 10)
        return record

    yield run
    for child in children:
        child.kill()
        child.wait()


def test_a_process_is_running_until_it_is_stopped(start: Start) -> None:
    record = start("")
    assert processes.is_running(record)
    assert processes.stop("it", record, 5)
    assert not processes.is_running(record)
    assert not processes.stop("it", record, 5)


def test_a_pid_that_was_reused_is_another_process(start: Start) -> None:
    record = start("")
    before = replace(record, started="of another boot:1")
    assert not processes.is_running(before)
    assert not processes.send(before, signal.SIGKILL)
    assert not processes.stop("it", before, 0)
    assert processes.is_running(record)


def test_a_process_that_ignores_sigterm_is_killed(start: Start) -> None:
    record = start(STUBBORN)
    assert processes.send(record, signal.SIGTERM)
    assert processes.is_running(record)
    assert processes.stop("it", record, 0.2)
    assert not processes.is_running(record)


def test_a_paused_process_is_let_go_on_to_end_in_order(start: Start, tmp_path: Path) -> None:
    record = start(ORDERLY)
    processes.send(record, signal.SIGSTOP)
    assert processes.stop("it", record, 10)
    assert b"in order" in (tmp_path / "0.log").read_bytes()


def test_a_zombie_is_not_running(tmp_path: Path) -> None:
    child = processes.spawn([sys.executable, "-c", "pass"], log=tmp_path / "log", environ={}, cwd=tmp_path)
    try:
        assert wait_until(lambda: processes.record_of(child) is None, 10)
    finally:
        child.wait()


def test_a_record_is_read_back_and_a_torn_one_is_none(tmp_path: Path) -> None:
    record, path = ProcessRecord(pid=7, started="x:1"), tmp_path / "process.json"
    record.save(path)
    assert ProcessRecord.load(path) == record
    for torn in ("", "{", "[]", '{"pid": 1}', '{"pid": "no", "started": "x"}'):
        path.write_text(torn)
        assert ProcessRecord.load(path) is None
    path.unlink()
    assert ProcessRecord.load(path) is None
