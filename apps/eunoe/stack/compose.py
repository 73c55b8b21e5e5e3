"""Containers from docker-compose.yml, where a Docker engine answers.

Not run where eunoe was developed: no engine was there. The compose file is checked as a file by a test, and the
commands by a stand-in for ``docker``.
"""

import shutil
import subprocess
from pathlib import Path

from eunoe.stack.errors import StackError, StartFailed
from eunoe.stack.probes import kafka_answers, redis_answers, wait_until
from eunoe.stack.provider import Endpoints, ProviderName, ServiceStatus

COMPOSE_FILE = "docker-compose.yml"
KAFKA = "127.0.0.1:9092"
REDIS = "redis://127.0.0.1:6379/0"
_PROJECT = "eunoe"
_ANSWER_SECONDS = 60.0
_COMMAND_SECONDS = 600.0
"""The first `up` pulls images."""


class ComposeFailed(StackError):
    """``docker compose`` exited with an error; ``output`` is the end of what it printed."""

    def __init__(self, arguments: tuple[str, ...], output: str) -> None:
        self.arguments = arguments
        self.output = output
        super().__init__(f"docker compose {' '.join(arguments)}: {output}")


def engine_answers() -> bool:
    """Whether there is a ``docker`` with a compose plugin, and an engine behind it."""
    docker = shutil.which("docker")
    if docker is None:
        return False
    for arguments in (("info", "--format", "{{.ServerVersion}}"), ("compose", "version", "--short")):
        try:
            asked = subprocess.run(
                [docker, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=15, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        if asked.returncode != 0:
            return False
    return True


def find_compose_file(start: Path) -> Path | None:
    """docker-compose.yml in ``start``, or in the source tree this module was installed from in editable mode."""
    for folder in (start, Path(__file__).resolve().parents[3]):
        if (folder / COMPOSE_FILE).is_file() and (folder / "deploy").is_dir():
            return folder / COMPOSE_FILE
    return None


class ComposeStack:
    """Only the broker and Redis: workers and dashboards are for `docker compose up` by hand."""

    provider: ProviderName = "compose"

    def __init__(self, compose_file: Path, directory: Path) -> None:
        self.compose_file = compose_file
        self.directory = directory

    def up(self) -> Endpoints:
        self._compose("up", "--detach", "--wait", "broker", "redis")
        for service, answers in (("kafka", lambda: kafka_answers(KAFKA)), ("redis", lambda: redis_answers(REDIS))):
            if not wait_until(answers, _ANSWER_SECONDS):
                raise StartFailed(service, "its container runs but does not answer", self.compose_file, "")
        return Endpoints(kafka=KAFKA, redis=REDIS, provider="compose", directory=self.directory)

    def down(self) -> tuple[str, ...]:
        self._compose("down")
        return ("kafka", "redis")

    def status(self) -> tuple[ServiceStatus, ...]:
        return (
            ServiceStatus(
                service="kafka", state="running" if kafka_answers(KAFKA) else "stopped", address=KAFKA, pid=None
            ),
            ServiceStatus(
                service="redis", state="running" if redis_answers(REDIS) else "stopped", address=REDIS, pid=None
            ),
        )

    def log_directories(self) -> tuple[Path, ...]:
        """None: the segment files are in a volume of the engine."""
        return ()

    def _compose(self, *arguments: str) -> None:
        command = ["docker", "compose", "--project-name", _PROJECT, "--file", str(self.compose_file), *arguments]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ComposeFailed(arguments, str(error)) from error
        if done.returncode != 0:
            raise ComposeFailed(arguments, done.stderr[-1_000:].strip())
