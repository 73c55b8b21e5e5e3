"""The workers that `eunoe up` starts beside the stack: the same `eunoe worker` anybody runs, in the background.

Deciding and projecting get a process each where there are two cores. A transaction is six requests one after the other,
and in one process each answer waits for whatever the read models are folding just then (ADR 0011).
"""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from eunoe.runtime.settings import anchored
from eunoe.stack.probes import wait_until
from eunoe.stack.provider import ServiceName, ServiceStatus
from eunoe.stack.service import Service

_PROBE_SECONDS = 2.0
_APART: Final[Mapping[ServiceName, str]] = {"worker-project": "project,attest", "worker-decide": "decide,shred"}
_TOGETHER: Final[Mapping[ServiceName, str]] = {"worker": "decide,project,shred,attest"}
"""What `eunoe worker --roles` is told; the read models first, for a decider that misses a key waits for them."""


class WorkerProcess(Service):
    """``directory``: the stack's. ``config``: the settings file that `up` was given, for the worker reads it too."""

    port_names = ("http",)
    start_seconds = 60.0
    stop_seconds = 15.0

    def __init__(
        self,
        directory: Path,
        config: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        name: ServiceName = "worker",
        roles: str = _TOGETHER["worker"],
    ) -> None:
        self.name = name
        super().__init__(directory / name, {**anchored(environ), "EUNOE_DIRECTORY": str(directory)})
        self._config = config
        self._roles = roles

    def prepare(self, ports_by_name: Mapping[str, int]) -> list[str]:
        command = [sys.executable, "-m", "eunoe.cli.main", "worker", "--http-port", str(ports_by_name["http"])]
        command += ["--roles", self._roles]
        return command if self._config is None else [*command, "--config", str(self._config.absolute())]

    def answers(self) -> bool:
        """Alive. A partition that needs a person is no reason to kill the worker: `ready` tells."""
        return self._get("healthz")

    def ready(self, seconds: float) -> bool:
        """Whether every lane it was given runs, waited for up to ``seconds``."""
        return wait_until(lambda: self._get("readyz"), seconds)

    def problems(self) -> list[str]:
        """What keeps it from being ready, as its ``/readyz`` says; empty when nothing does, or it does not answer."""
        if not self.address:
            return []
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=_PROBE_SECONDS):
                return []
        except urllib.error.HTTPError as not_ready:
            return [str(each) for each in json.loads(not_ready.read())["problems"]]
        except (OSError, urllib.error.URLError):
            return []

    def wipe(self) -> None:
        """It has no data of its own."""

    def _get(self, page: str) -> bool:
        if not self.address:
            return False
        try:
            with urllib.request.urlopen(f"http://{self.address}/{page}", timeout=_PROBE_SECONDS) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


class Workers:
    """All workers of a stack; as `WorkerProcess`. ``cores``: how many this process may use, unless told."""

    def __init__(
        self,
        directory: Path,
        config: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        *,
        cores: int | None = None,
    ) -> None:
        apart = (cores or len(os.sched_getaffinity(0))) > 1
        made = {
            name: WorkerProcess(directory, config, environ, name=name, roles=roles)
            for name, roles in {**_APART, **_TOGETHER}.items()
        }
        self._known: Sequence[WorkerProcess] = tuple(made.values())
        self.wanted: Final[Sequence[WorkerProcess]] = tuple(made[name] for name in (_APART if apart else _TOGETHER))

    def start(self) -> None:
        """Return when each answers; does nothing to those that run. Raises `StartFailed`."""
        for each in self.wanted:
            each.start()

    def unready(self, seconds: float) -> list[WorkerProcess]:
        """Those that do not run every lane they were given after up to ``seconds``."""
        wait_until(lambda: all(each.ready(0) for each in self.wanted), seconds)
        return [each for each in self.wanted if not each.ready(0)]

    def stop(self) -> tuple[str, ...]:
        """The names of those that ran, also of ones that are not wanted any more."""
        return tuple(each.name for each in self._known if each.stop())

    def kill(self) -> None:
        for each in self._known:
            each.kill()

    def status(self) -> tuple[ServiceStatus, ...]:
        """Of those that were started."""
        return tuple(each.status() for each in self._known if each.record is not None)

    def problems(self) -> list[tuple[str, str]]:
        """(worker, what keeps it from being ready)."""
        return [(each.name, problem) for each in self._known for problem in each.problems()]
