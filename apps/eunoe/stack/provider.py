"""What every provider offers, whoever runs the broker and Redis."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

ProviderName = Literal["external", "compose", "local"]
PROVIDERS: tuple[ProviderName, ...] = ("external", "compose", "local")
"""In the order in which they are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where the stack is: all a client needs, and all that `eunoe up --json` prints.

    ``kafka`` is a bootstrap list (``host:port[,host:port]``), ``redis`` a ``redis://`` URL, ``directory`` the folder
    that holds the stack's state (the data too, for `local`).
    """

    kafka: str
    redis: str
    provider: ProviderName
    directory: Path

    def as_json(self) -> dict[str, str]:
        return {
            "kafka": self.kafka,
            "redis": self.redis,
            "provider": self.provider,
            "directory": str(self.directory),
        }


ServiceName = Literal["kafka", "redis", "worker", "worker-decide", "worker-project"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStatus:
    """One line of `eunoe status`. ``pid`` is None where this machine does not run the process itself."""

    service: ServiceName
    state: Literal["running", "not answering", "stopped"]
    address: str
    pid: int | None


class Stack(Protocol):
    """A broker and a Redis. All methods block; none is called from an event loop that has other work."""

    @property
    def provider(self) -> ProviderName: ...

    def up(self) -> Endpoints:
        """Start what is not running and return when both answer. Repeat-safe: a second call finds the first.

        Raises `StackError`; what this call had started is stopped again then.
        """
        ...

    def down(self) -> tuple[str, ...]:
        """Stop exactly what this provider started and return the names of the services stopped."""
        ...

    def status(self) -> tuple[ServiceStatus, ...]: ...

    def log_directories(self) -> tuple[Path, ...]:
        """Folders with the broker's segment files, for a search for bytes. Empty where they cannot be reached."""
        ...
