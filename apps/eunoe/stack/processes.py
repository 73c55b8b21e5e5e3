"""Processes known by pid and start time, so that a reused pid is never taken for the process that had it before."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eunoe.stack.errors import StopFailed

_POLL_SECONDS = 0.02
_KILL_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    """A process that was started. ``started`` is an opaque text: equal for the same process, different after reuse."""

    pid: int
    started: str

    def save(self, path: Path) -> None:
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({"pid": self.pid, "started": self.started}))
        fresh.replace(path)

    @staticmethod
    def load(path: Path) -> "ProcessRecord | None":
        """What was saved at ``path``; None when there is nothing, or nothing that can be read."""
        try:
            stored = json.loads(path.read_text())
            return ProcessRecord(pid=int(stored["pid"]), started=str(stored["started"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None


def start_time(pid: int) -> str | None:
    """When ``pid`` started; None when it does not run (a zombie does not)."""
    if Path("/proc/self/stat").exists():
        return _start_time_of_proc(pid)
    listed = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = listed.stdout.strip().partition(" ")
    return started.strip() if state and not state.startswith("Z") else None


def is_running(record: ProcessRecord) -> bool:
    return start_time(record.pid) == record.started


def spawn(command: Sequence[str], *, log: Path, environ: Mapping[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    """Start ``command`` in a session of its own (no Ctrl-C of the terminal reaches it), output appended to ``log``."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            cwd=cwd,
            start_new_session=True,
        )


def record_of(process: subprocess.Popen[bytes]) -> ProcessRecord | None:
    """The record of a process just spawned; None when it is already over."""
    started = start_time(process.pid)
    return None if started is None else ProcessRecord(pid=process.pid, started=started)


def send(record: ProcessRecord, number: signal.Signals) -> bool:
    """Signal exactly the recorded process; False when it is gone. A pidfd closes the gap between check and signal."""
    if not hasattr(os, "pidfd_open"):
        if is_running(record):
            os.kill(record.pid, number)
            return True
        return False
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_running(record):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def stop(service: str, record: ProcessRecord, seconds: float) -> bool:
    """SIGTERM, and SIGKILL after ``seconds`` (0: at once). False when it was not running. Raises `StopFailed`."""
    if not is_running(record):
        return False
    if seconds > 0:
        send(record, signal.SIGTERM)
        send(record, signal.SIGCONT)  # a stopped process gets no SIGTERM before it goes on
        if _gone(record, seconds):
            return True
    send(record, signal.SIGKILL)
    if not _gone(record, _KILL_SECONDS):
        raise StopFailed(service, record.pid)
    return True


def _gone(record: ProcessRecord, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(record):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _start_time_of_proc(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat (clock ticks since boot) and the boot id; the name in field 2 may hold anything."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in {"Z", "X"} else f"{boot}:{started}"
