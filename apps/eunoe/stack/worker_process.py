"""The worker that `eunoe up` starts beside the stack: the same `eunoe worker` anybody runs, in the background."""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from eunoe.stack.probes import wait_until
from eunoe.stack.service import Service

_PROBE_SECONDS = 2.0


class WorkerProcess(Service):
    """``directory``: the stack's. ``config``: the settings file that `up` was given, for the worker reads it too."""

    name = "worker"
    port_names = ("http",)
    start_seconds = 60.0
    stop_seconds = 15.0

    def __init__(self, directory: Path, config: Path | None = None, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__(directory / "worker", {**environ, "EUNOE_DIRECTORY": str(directory)})
        self._config = config

    def prepare(self, ports_by_name: Mapping[str, int]) -> list[str]:
        command = [sys.executable, "-m", "eunoe.cli.main", "worker", "--http-port", str(ports_by_name["http"])]
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
