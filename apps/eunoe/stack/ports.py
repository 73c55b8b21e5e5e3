"""Free ports on loopback."""

import random
import socket
from contextlib import ExitStack

# Below every usual ephemeral range (Linux 32768+, BSD and macOS 49152+). A client that keeps dialling a stopped
# broker's port can otherwise be handed that port as its own source port and connect to itself, and the broker can
# then never bind it again.
_FIRST, _LAST = 20_000, 32_000
_TRIES = 2_000


def free_ports(count: int) -> tuple[int, ...]:
    """``count`` different ports that nothing on 127.0.0.1 is bound to at this moment; nothing reserves them."""
    found: list[int] = []
    with ExitStack() as held:
        for _ in range(_TRIES):
            if len(found) == count:
                return tuple(found)
            candidate = held.enter_context(socket.socket())
            port = random.randrange(_FIRST, _LAST)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    raise OSError(f"no {count} free ports on 127.0.0.1 between {_FIRST} and {_LAST}")


def is_free(port: int) -> bool:
    """Whether ``port`` of 127.0.0.1 could be bound now (connections in TIME_WAIT do not count)."""
    with socket.socket() as candidate:
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
