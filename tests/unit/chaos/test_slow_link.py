"""The proxy before the broker: passes on what it is given, late if it is told to, and cuts."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from eunoe.stack.ports import free_ports
from eunoe.testing.chaos.slow_link import SlowLink, slow_link

PIECE = bytes(range(256)) * 1_000


@pytest.fixture
async def link() -> AsyncIterator[SlowLink]:
    """Before a server that answers with what it is sent."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    (port,) = free_ports(1)
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    with slow_link(port, lambda: server.sockets[0].getsockname()[1]) as made:
        yield made
    server.close()


async def answered(link: SlowLink, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.readexactly(len(data)), 20)
    finally:
        writer.close()


async def test_it_passes_on_everything_in_order(link: SlowLink) -> None:
    assert await answered(link, PIECE) == PIECE


async def test_it_holds_back_what_passes_each_way(link: SlowLink) -> None:
    link.delay = 0.2
    began = time.monotonic()
    assert await answered(link, b"late") == b"late"
    assert time.monotonic() - began >= 0.4


async def test_it_cuts_every_connection(link: SlowLink) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    writer.write(b"here")
    assert await asyncio.wait_for(reader.readexactly(4), 20) == b"here"
    assert link.cut() == 2
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(reader.readexactly(1), 20)
    writer.close()
    assert await answered(link, b"anew") == b"anew"


async def test_with_nothing_behind_it_a_connection_ends_at_once() -> None:
    mine, behind = free_ports(2)
    with slow_link(mine, lambda: behind):
        reader, writer = await asyncio.open_connection("127.0.0.1", mine)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1), 20)
        writer.close()
