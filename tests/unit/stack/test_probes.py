"""An open port is not an answer."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from eunoe.stack.ports import free_ports, is_free
from eunoe.stack.probes import kafka_answers, redis_answers

Serve = Callable[[bytes], int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A server that gives one answer to whatever comes; returns its port."""
    servers: list[socket.socket] = []

    def run(answer: bytes) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        servers.append(server)

        def once() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(1024)
                peer.sendall(answer)

        threading.Thread(target=once, daemon=True).start()
        return int(server.getsockname()[1])

    yield run
    for server in servers:
        server.close()


def metadata(brokers: int, correlation: int = 1) -> bytes:
    body = struct.pack(">ii", correlation, brokers) + b"rest"
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        (metadata(1), True),
        (metadata(0), False),
        (metadata(1, correlation=2), False),
        (metadata(1)[:9], False),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", False),
        (b"", False),
    ],
)
def test_kafka_answers_when_it_lists_a_broker(serve: Serve, answer: bytes, answers: bool) -> None:
    assert kafka_answers(f"127.0.0.1:{serve(answer)}") is answers


def test_one_of_several_servers_is_enough(serve: Serve) -> None:
    (closed,) = free_ports(1)
    assert kafka_answers(f"127.0.0.1:{closed},127.0.0.1:{serve(metadata(3))}")
    assert not kafka_answers(f"127.0.0.1:{closed}")


@pytest.mark.parametrize("address", ["", "nonsense", "127.0.0.1:", "127.0.0.1:99999"])
def test_an_address_that_is_none_does_not_answer(address: str) -> None:
    assert not kafka_answers(address)
    assert not redis_answers(f"redis://{address}/0" if address else "")


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        (b"+PONG\r\n", True),
        (b"-NOAUTH Authentication required.\r\n", True),
        (b"-LOADING Redis is loading the dataset in memory\r\n", False),
        (b"", False),
    ],
)
def test_redis_answers_when_it_may_serve(serve: Serve, answer: bytes, answers: bool) -> None:
    assert redis_answers(f"redis://127.0.0.1:{serve(answer)}/0") is answers


def test_ports_are_different_free_and_outside_the_ephemeral_range() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(is_free(port) and port < 32_768 for port in ports)


def test_a_port_in_use_is_not_free() -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
