"""A TCP proxy between clients and the broker, in a thread of its own: it can hold back what passes, or cut everything.

Clients are told of it as the broker's address (`LocalOptions.advertised_port`), so whatever they send passes here.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from typing import Any, Final

_CHUNK: Final = 65_536
_START_S: Final = 10.0


class SlowLink:
    """Listens on ``port`` of loopback and passes on to what ``target`` says at each connection.

    ``delay``: seconds that every piece is held back, each way; may be set from any thread.
    """

    def __init__(self, port: int, target: Callable[[], int]) -> None:
        self.port = port
        self.delay = 0.0
        self._target = target
        self._open: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="slow-link", daemon=True)

    def start(self) -> None:
        """Returns when it listens. Raises `OSError` where the port is taken."""
        self._thread.start()
        if not self._ready.wait(_START_S):
            raise OSError(f"the proxy does not listen on port {self.port}")

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_START_S)

    def cut(self) -> int:
        """Close every connection now; how many sides there were."""
        count = len(self._open)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cut)
        return count

    def _cut(self) -> None:
        for each in list(self._open):
            each.transport.abort()

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
            self._loop = loop
            self._ready.set()
            loop.run_forever()
            self._cut()
            loop.run_until_complete(_ended(asyncio.all_tasks(loop)))
        finally:
            loop.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A task of our own: of one that asyncio makes, it reports a cancellation as an error."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self._target())
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, onward}
        self._open |= ends
        ways = {asyncio.create_task(self._pass(*way)) for way in ((reader, onward), (there, writer))}
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open -= ends
            for each in ends:
                each.transport.abort()
            await _ended(ways)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """In order, each piece as late as `delay` said when it came."""
        loop = asyncio.get_running_loop()
        held: deque[tuple[float, bytes]] = deque()
        more = asyncio.Event()

        async def read() -> None:
            while data := await reader.read(_CHUNK):
                held.append((loop.time() + self.delay, data))
                more.set()
            held.append((loop.time() + self.delay, b""))
            more.set()

        reading = asyncio.create_task(read())
        try:
            with contextlib.suppress(OSError):
                while True:
                    while not held:
                        more.clear()
                        await more.wait()
                    due, data = held.popleft()
                    if due > loop.time():
                        await asyncio.sleep(due - loop.time())
                    if not data:
                        return
                    writer.write(data)
                    await writer.drain()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def _ended(tasks: Set[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def slow_link(port: int, target: Callable[[], int]) -> Iterator[SlowLink]:
    """Open for the block."""
    link = SlowLink(port, target)
    link.start()
    try:
        yield link
    finally:
        link.stop()
