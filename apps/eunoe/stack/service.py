"""One process of the local stack, with everything a test wants to do to it."""

import json
import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from eunoe.stack import ports, processes
from eunoe.stack.errors import StartFailed
from eunoe.stack.probes import wait_until
from eunoe.stack.processes import ProcessRecord
from eunoe.stack.provider import ServiceName, ServiceStatus

_TAIL_BYTES = 2_000
_RELEASE_SECONDS = 2.0
_PORT_ATTEMPTS = 3
_UNRESPONSIVE_SECONDS = 10.0


class Service(ABC):
    """A service in a folder of its own: ``process.json`` (pid, start time), ``ports.json``, ``output.log``, its data.

    Ports stay the same from start to start, for clients know them; they change only when something else took them.
    """

    name: ServiceName
    port_names: tuple[str, ...]
    start_seconds: float
    stop_seconds: float
    """How long SIGTERM may take before SIGKILL follows."""

    def __init__(self, directory: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.directory = directory.absolute()  # it runs in there: what it is told must not be relative to here
        self._environ = environ
        self._child: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self, ports_by_name: Mapping[str, int]) -> list[str]:
        """Write what the process reads at its start and return its command. Called before every start."""

    @abstractmethod
    def answers(self) -> bool:
        """Whether a client would be served now. False where nothing was ever started."""

    @abstractmethod
    def wipe(self) -> None:
        """Remove its data. Only while it is stopped."""

    @property
    def record(self) -> ProcessRecord | None:
        return ProcessRecord.load(self.directory / "process.json")

    @property
    def running(self) -> bool:
        record = self.record
        return record is not None and processes.is_running(record)

    @property
    def ports(self) -> Mapping[str, int]:
        """By name; empty before the first start."""
        try:
            stored = json.loads((self.directory / "ports.json").read_text())
            return {name: int(stored[name]) for name in self.port_names}
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return {}

    @property
    def address(self) -> str:
        port = self.ports.get(self.port_names[0])
        return f"127.0.0.1:{port}" if port else ""

    @property
    def log(self) -> Path:
        return self.directory / "output.log"

    def start(self, *, empty: bool = False) -> None:
        """Return when it answers; ``empty`` removes its data first. Does nothing when it runs and answers.

        Raises `StartFailed`; the process is gone then.
        """
        if not empty and self.running and wait_until(self.answers, _UNRESPONSIVE_SECONDS):
            return
        self.stop()
        if empty:
            self.wipe()
        self.directory.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            self._assign_ports()
            try:
                return self._launch()
            except StartFailed as failure:
                # Between finding a port free and binding it, somebody else may have taken it.
                if attempt == _PORT_ATTEMPTS or all(map(ports.is_free, self.ports.values())):
                    raise failure

    def stop(self) -> bool:
        """SIGTERM, then SIGKILL after a deadline. False when it was not running."""
        return self._end(self.stop_seconds)

    def kill(self) -> bool:
        """SIGKILL, and return when it is gone. False when it was not running."""
        return self._end(0)

    def restart(self, *, empty: bool = False) -> None:
        self.stop()
        self.start(empty=empty)

    def pause(self) -> bool:
        """SIGSTOP: alive, holding its connections, answering nothing."""
        record = self.record
        return record is not None and processes.send(record, signal.SIGSTOP)

    def resume(self) -> bool:
        record = self.record
        return record is not None and processes.send(record, signal.SIGCONT)

    def status(self) -> ServiceStatus:
        record = self.record
        alive = record is not None and processes.is_running(record)
        return ServiceStatus(
            service=self.name,
            state="stopped" if not alive else "running" if self.answers() else "not answering",
            address=self.address,
            pid=record.pid if record and alive else None,
        )

    def _assign_ports(self) -> None:
        known = self.ports
        # What was just killed may hold them for a moment after it is said to be gone.
        if known and wait_until(lambda: all(map(ports.is_free, known.values())), _RELEASE_SECONDS):
            return
        fresh = dict(zip(self.port_names, ports.free_ports(len(self.port_names)), strict=True))
        (self.directory / "ports.json").write_text(json.dumps(fresh))

    def _launch(self) -> None:
        command = self.prepare(self.ports)
        if self.log.exists():  # what a crashed one said last is worth keeping
            self.log.replace(self.directory / "output.previous.log")
        self._child = processes.spawn(command, log=self.log, environ=self._environ, cwd=self.directory)
        record = processes.record_of(self._child)
        if record is None:
            raise self._failure("it ended at once")
        record.save(self.directory / "process.json")
        up = wait_until(lambda: self.answers() or not processes.is_running(record), self.start_seconds)
        if up and processes.is_running(record):
            return
        reason = "it ended" if up else f"no answer after {self.start_seconds:.0f} s"
        self.kill()
        raise self._failure(reason)

    def _end(self, seconds: float) -> bool:
        record = self.record
        was_running = record is not None and processes.stop(self.name, record, seconds)
        (self.directory / "process.json").unlink(missing_ok=True)
        if self._child is not None:
            if record is None:
                self._child.kill()  # interrupted between its start and its record
            self._child.wait()  # takes the zombie away
            self._child = None
        return was_running

    def _failure(self, reason: str) -> StartFailed:
        tail = self.log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace") if self.log.exists() else ""
        return StartFailed(self.name, reason, self.log, tail)
