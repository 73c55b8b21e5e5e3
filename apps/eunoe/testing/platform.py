"""A whole installation for tests: topics, development policy and secrets, settings, and workers as real processes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from eunoe.runtime.installation import Installation, bind_redis, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import Settings
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import apply_development, cleaned_quickly, remembered
from eunoe.stack.ports import free_ports

_STOP_S: Final = 15.0
_PAGE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Platform:
    """``environ`` makes any `eunoe` command work with it."""

    settings: Settings
    installation: Installation
    directory: Path

    @property
    def environ(self) -> dict[str, str]:
        given = {
            f"EUNOE_{name.upper()}": ",".join(value) if isinstance(value, list) else str(value)
            for name, value in remembered(self.settings).items()
        }
        lanes = {
            "EUNOE_SESSION_TIMEOUT": f"PT{self.settings.session_timeout / 1000:g}S",
            "EUNOE_HEARTBEAT_INTERVAL": f"PT{self.settings.heartbeat_interval / 1000:g}S",
            "EUNOE_DECIDE_BATCH": str(self.settings.decide_batch),
            "EUNOE_DIRECTORY": str(self.directory),
        }
        return {**os.environ, **given, **lanes}

    def start_worker(
        self, roles: str = "decide,project", *arguments: str, environ: Mapping[str, str] = MappingProxyType({})
    ) -> "WorkerProcess":
        """``environ``: variables beside those of `environ`."""
        return WorkerProcess(self, roles, arguments, environ)


class WorkerProcess:
    """`eunoe worker` as anybody runs it. Killed at the end of a ``with`` block."""

    def __init__(
        self,
        platform: Platform,
        roles: str,
        arguments: Sequence[str],
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        (self.port,) = free_ports(1)
        self.log = platform.directory / f"worker-{self.port}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "eunoe.cli.main", "worker", "--roles", roles),
                    *("--http-port", str(self.port), *arguments),
                ],
                env={**platform.environ, "PYTHONFAULTHANDLER": "1", **environ},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    def page(self, name: str) -> str:
        """One of its web pages. Raises OSError where it does not answer or answers with an error."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{name}", timeout=_PAGE_S) as answer:
            return bytes(answer.read()).decode()

    def answers(self, name: str) -> bool:
        try:
            self.page(name)
        except OSError:
            return False
        return True

    def problems(self) -> list[str]:
        """What keeps it from being ready, as it says itself; empty where it does not answer, too."""
        try:
            self.page("readyz")
        except urllib.error.HTTPError as not_ready:
            return [str(each) for each in json.loads(not_ready.read())["problems"]]
        except OSError:
            pass
        return []

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        self._process.kill()
        self._process.wait(_STOP_S)

    def abort(self) -> None:
        """SIGABRT, and wait for its end: the log has where each of its threads stood, whatever blocks them."""
        self._process.send_signal(signal.SIGABRT)
        self._process.wait(_STOP_S)

    def stop(self, seconds: float = _STOP_S, told: signal.Signals = signal.SIGTERM) -> int:
        """The exit code. Raises `subprocess.TimeoutExpired`, and then it still runs."""
        self._process.send_signal(told)
        return self._process.wait(seconds)

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def log_stacks(self) -> None:
        """Have it write where each of its tasks stands to its log (SIGUSR1, which Faust's worker answers so)."""
        self._process.send_signal(signal.SIGUSR1)

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is not None:
            self.tell()
        self.kill()

    def tell(self) -> None:
        """Print what is wrong with it, for whoever reads a failed test."""
        with contextlib.suppress(OSError):
            self.page("readyz")
            print("ready")
        print("\n".join(self.log.read_text("utf-8", "replace").splitlines()[-40:]))


async def install(
    kafka: str, redis: str, names: TopicNames, directory: Path, partitions: int = 2, **over: int
) -> Platform:
    """Topics, genesis, secrets and the development policy under ``names``; ``over`` replaces settings."""
    settings = Settings(kafka=kafka, redis=redis, prefix=names.prefix, partitions=partitions, **over)  # type: ignore[arg-type]  # only whole numbers are replaced
    settings = cleaned_quickly(settings)
    async with topic_admin(kafka) as admin:
        await apply_topics(admin, names, partitions, 1, settings.topic_specs)
    installation = await open_installation(kafka, names)
    client = await connect(redis)
    try:
        await bind_redis(client, installation)
    finally:
        await client.aclose()
    settings = await apply_development(settings, installation, directory / "secrets")
    return Platform(settings, installation, directory)


@contextmanager
def workers(platform: Platform, count: int, roles: str = "decide,project") -> Iterator[list[WorkerProcess]]:
    """``count`` workers, killed at the end of the block."""
    running = [platform.start_worker(roles) for _ in range(count)]
    try:
        yield running
    finally:
        for each in running:
            each.kill()
