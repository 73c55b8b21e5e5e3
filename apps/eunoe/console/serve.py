"""Running the console: its socket, its server, its gatherer; stopped by SIGTERM or Ctrl-C."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator, Sequence
from typing import Final

import uvicorn

from eunoe.console.access import Access
from eunoe.console.app import Console, make_app
from eunoe.console.board import Board
from eunoe.console.gatherer import Source, gathering
from eunoe.runtime.clock import SystemClock

_CONNECTIONS: Final = 256
_STOP_S: Final = 3
_BACKLOG: Final = 128


class _Server(uvicorn.Server):
    """uvicorn raises the signal again once it has stopped; we were told to stop, and that is no failure."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on. ``port`` 0: any free one. Raises ``OSError``."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
    except OSError:
        found.close()
        raise
    return found


def address_of(bound: socket.socket) -> str:
    """Where a browser of this machine finds it."""
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


async def serve(bound: socket.socket, access: Access, sources: Sequence[Source]) -> None:
    """Until SIGTERM or SIGINT."""
    clock = SystemClock().now
    board = Board(clock)
    console = Console(board, access, clock, stopping=lambda: server.should_exit)
    config = uvicorn.Config(
        make_app(console, access, clock),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_S,
    )
    server = _Server(config)
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, lambda: setattr(server, "should_exit", True))
    async with gathering(board, sources):
        await server.serve(sockets=[bound])
