"""Somebody else's Kafka and Redis, named by EUNOE_KAFKA and EUNOE_REDIS. Used, never started or stopped."""

from pathlib import Path

from eunoe.stack.errors import NotAnswering
from eunoe.stack.probes import kafka_answers, redis_answers, wait_until
from eunoe.stack.provider import Endpoints, ProviderName, ServiceStatus

_PATIENCE_SECONDS = 10.0


class ExternalStack:
    """``kafka`` is a bootstrap list, ``redis`` a URL; it may hold a password, so it is never part of an error."""

    provider: ProviderName = "external"

    def __init__(self, kafka: str, redis: str, directory: Path) -> None:
        self.kafka = kafka
        self.redis = redis
        self.directory = directory

    def up(self) -> Endpoints:
        """Check that both answer; raises `NotAnswering` after ten seconds without."""
        if not wait_until(lambda: kafka_answers(self.kafka), _PATIENCE_SECONDS):
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
                state="running" if kafka_answers(self.kafka) else "not answering",
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


def without_credentials(url: str) -> str:
    """``redis://user:secret@host:1/0`` as ``redis://host:1/0``."""
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"
