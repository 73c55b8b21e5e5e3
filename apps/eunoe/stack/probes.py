"""Does it answer? Asked over a plain socket, so that a probe needs no event loop and no client library."""

import socket
import struct
import time
from collections.abc import Callable
from urllib.parse import urlsplit

_TIMEOUT_SECONDS = 2.0
_POLL_SECONDS = 0.05

# Kafka protocol: Metadata (api key 3) version 1, no client id, an empty list of topics, which in v1 means "no topics".
_METADATA_REQUEST = struct.pack(">hhihi", 3, 1, 1, -1, 0)
_PING = b"*1\r\n$4\r\nPING\r\n"


def kafka_answers(bootstrap: str) -> bool:
    """Whether one of ``bootstrap`` answers a metadata request and lists a broker that is not fenced.

    An open port is not enough: a KRaft broker accepts connections before it may serve. Plaintext listeners only.
    """
    return any(_metadata_lists_a_broker(address) for address in bootstrap.split(","))


def port_answers(bootstrap: str) -> bool:
    """Whether one of ``bootstrap`` takes connections: all that can be asked where one has to log in first."""
    return any(_takes_connections(address) for address in bootstrap.split(","))


def redis_answers(url: str) -> bool:
    """Whether the Redis at ``url`` answers PING, be it with "authenticate first". While it loads, it does not.

    Over TLS it is only asked whether it takes connections.
    """
    parts = urlsplit(url)
    if parts.scheme == "rediss":
        return _takes_connections(f"{parts.hostname}:{parts.port or 6379}")
    try:
        with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 6379), _TIMEOUT_SECONDS) as peer:
            peer.sendall(_PING)
            return peer.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    except (OSError, ValueError):
        return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition`` became true within ``seconds``; asked again every 50 ms."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _takes_connections(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _metadata_lists_a_broker(address: str) -> bool:
    host, _, port = address.strip().rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_SECONDS) as peer:
            peer.sendall(struct.pack(">i", len(_METADATA_REQUEST)) + _METADATA_REQUEST)
            (size,) = struct.unpack(">i", _receive(peer, 4))
            if not 8 <= size < 1 << 20:
                return False
            correlation, brokers = struct.unpack(">ii", _receive(peer, size)[:8])
    except (OSError, ValueError, struct.error):
        return False
    return bool(correlation == 1 and brokers > 0)


def _receive(peer: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = peer.recv(size - len(data))
        if not chunk:
            raise ConnectionResetError("closed before the whole answer came")
        data += chunk
    return data
