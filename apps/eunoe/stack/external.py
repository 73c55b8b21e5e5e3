"""Somebody else's Kafka and Redis, named by EUNOE_KAFKA and EUNOE_REDIS. Used, never started or stopped."""

from collections.abc import Mapping
from pathlib import Path

from eunoe.runtime.settings import LOGIN_SETTINGS
from eunoe.stack.errors import NotAnswering
from eunoe.stack.probes import kafka_answers, port_answers, redis_answers, wait_until
from eunoe.stack.provider import Endpoints, ProviderName, ServiceStatus

_PATIENCE_SECONDS = 10.0


class ExternalStack:
    """``kafka`` is a bootstrap list, ``redis`` a URL; it may hold a password, so it is never part of an error."""

    provider: ProviderName = "external"

    def __init__(self, kafka: str, redis: str, directory: Path, *, asks_for_login: bool = False) -> None:
        """``asks_for_login``: the broker has no listener that answers everybody."""
        self.kafka = kafka
        self.redis = redis
        self.directory = directory
        self._answers = port_answers if asks_for_login else kafka_answers

    def up(self) -> Endpoints:
        """Check that both answer; raises `NotAnswering` after ten seconds without."""
        if not wait_until(lambda: self._answers(self.kafka), _PATIENCE_SECONDS):
            raise NotAnswering("kafka", f"EUNOE_KAFKA={self.kafka}")
        if not wait_until(lambda: redis_answers(self.redis), _PATIENCE_SECONDS):
            raise NotAnswering("redis", f"EUNOE_REDIS ({without_credentials(self.redis)})")
        return Endpoints(kafka=self.kafka, redis=self.redis, provider="external", directory=self.directory)

    def down(self) -> tuple[str, ...]:
        return ()

    def status(self) -> tuple[ServiceStatus, ...]:
        return (
            ServiceStatus(
                service="kafka",
                state="running" if self._answers(self.kafka) else "not answering",
                address=self.kafka,
                pid=None,
            ),
            ServiceStatus(
                service="redis",
                state="running" if redis_answers(self.redis) else "not answering",
                address=without_credentials(self.redis),
                pid=None,
            ),
        )

    def log_directories(self) -> tuple[Path, ...]:
        return ()


def login_variables(where: Endpoints, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of ``environ`` that say how to log in to ``where``: none for a stack of our own."""
    if where.provider != "external":
        return {}
    names = (f"EUNOE_{each.upper()}" for each in LOGIN_SETTINGS)
    return {name: environ[name] for name in names if environ.get(name)}


def without_credentials(url: str) -> str:
    """``redis://user:secret@host:1/0?password=x`` as ``redis://host:1/0``: options may hold a password too."""
    scheme, separator, rest = url.partition("://")
    where = rest.partition("?")[0]
    if "@" in rest and "@" not in where:  # in an option, or a password has a "?": nothing of it is sure to be none
        return f"{scheme}{separator}…"
    return f"{scheme}{separator}{where.rpartition('@')[2]}"
