"""Redis as one node on loopback."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from eunoe.stack.probes import redis_answers
from eunoe.stack.redis_program import find_redis_server
from eunoe.stack.service import Service


class RedisServer(Service):
    """``append_only``: keep data over a restart. Without it nothing is ever written, and a restart is empty."""

    name = "redis"
    port_names = ("client",)
    start_seconds = 60.0
    stop_seconds = 10.0

    def __init__(
        self,
        directory: Path,
        *,
        append_only: bool = True,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(directory, environ)
        self._append_only = append_only

    @property
    def url(self) -> str:
        return f"redis://{self.address}/0"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def answers(self) -> bool:
        return bool(self.address) and redis_answers(self.url)

    def wipe(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)

    def prepare(self, ports_by_name: Mapping[str, int]) -> list[str]:
        self.data.mkdir(exist_ok=True)
        settings = {
            "port": str(ports_by_name["client"]),
            "bind": "127.0.0.1",
            "dir": str(self.data),
            "appendonly": "yes" if self._append_only else "no",
            "save": "",
            "daemonize": "no",
            # A full Redis must say so: an evicted key would be a memory that silently went missing.
            "maxmemory-policy": "noeviction",
        }
        return [str(find_redis_server()), *(part for name, value in settings.items() for part in (f"--{name}", value))]
