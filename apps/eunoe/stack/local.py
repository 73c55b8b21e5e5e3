"""The provider that needs only Python: real Kafka and real Redis as processes of this machine."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from eunoe.stack import jars, java, places, redis_program
from eunoe.stack.broker import Broker
from eunoe.stack.locking import exclusive
from eunoe.stack.provider import Endpoints, ProviderName, ServiceStatus
from eunoe.stack.redis_server import RedisServer
from eunoe.stack.service import Service

_LOCK_SECONDS = 300.0
"""A first `up` downloads the jars while it holds the lock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalOptions:
    """How the local stack differs from the usual one. Tests keep nothing (``append_only=False``)."""

    append_only: bool = True
    file_delete_delay_ms: int = 1_000
    heap: str = "512m"
    broker_settings: tuple[tuple[str, str], ...] = ()
    """Names and values for server.properties, winning over what `Broker` sets."""
    advertised_port: int | None = None
    """Of a proxy before the broker (see `Broker`)."""
    broker_disk: Path | None = None
    """A folder for the broker's data; its own one where None."""


USUAL = LocalOptions()


class LocalStack:
    """Everything lives under ``directory``. Processes outlive this object: `down` from any process ends them.

    ``broker`` and ``redis_server`` can be stopped, killed, paused and started one by one (see `Service`).
    """

    provider: ProviderName = "local"

    def __init__(self, directory: Path, options: LocalOptions = USUAL, environ: Mapping[str, str] = os.environ) -> None:
        self.directory = directory.absolute()
        self.redis_server = RedisServer(self.directory / "redis", append_only=options.append_only, environ=environ)
        self.broker = Broker(
            self.directory / "kafka",
            cache=places.cache_directory(environ),
            file_delete_delay_ms=options.file_delete_delay_ms,
            heap=options.heap,
            extra=dict(options.broker_settings),
            advertised_port=options.advertised_port,
            disk=options.broker_disk,
            environ=environ,
        )

    @property
    def kafka(self) -> str:
        """Bootstrap address; empty before the first `up`."""
        return self.broker.address

    @property
    def redis(self) -> str:
        """URL."""
        return self.redis_server.url

    @property
    def endpoints(self) -> Endpoints:
        return Endpoints(kafka=self.kafka, redis=self.redis, provider="local", directory=self.directory)

    def up(self) -> Endpoints:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._alone():
            services: tuple[Service, ...] = (self.redis_server, self.broker)
            touched: list[Service] = []
            try:
                for service in services:
                    if not (service.running and service.answers()):
                        touched.append(service)
                        service.start()
            except BaseException:
                for service in touched:
                    service.kill()
                raise
            return self.endpoints

    def down(self) -> tuple[str, ...]:
        with self._alone():
            return tuple(service.name for service in (self.broker, self.redis_server) if service.stop())

    def kill(self) -> None:
        """End both at once, for data that is thrown away anyway."""
        self.broker.kill()
        self.redis_server.kill()

    def status(self) -> tuple[ServiceStatus, ...]:
        return (self.broker.status(), self.redis_server.status())

    def log_directories(self) -> tuple[Path, ...]:
        return (self.broker.data,)

    def _alone(self) -> AbstractContextManager[None]:
        return exclusive(self.directory / "stack.lock", _LOCK_SECONDS)


def check_programs(environ: Mapping[str, str] = os.environ) -> None:
    """Whether the local provider could start, without downloading. Raises `ProgramMissing`."""
    java.find_java()
    redis_program.find_redis_server()
    jars.check_downloadable(places.cache_directory(environ))
