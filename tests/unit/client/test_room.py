"""A client that is overloaded with searches says so at once."""

import asyncio
from typing import Any, cast

import pytest

from eunoe.client.no_memory import NoMemory, or_no_memory
from eunoe.client.reading import Reading
from eunoe.client.room import Busy, Room
from eunoe.client.tracing import Tracer
from eunoe.schemas.ids import PrincipalName

SCOPE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}


class SlowReader:
    """Answers once it is let."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.asked = 0

    async def search(self, *_: object, **__: object) -> Any:
        self.asked += 1
        await self.open.wait()
        return Answer()


class Answer:
    records = ()


class NoTraces:
    def searched(self, _scope: object, _query: str, result: Any, **_: object) -> Any:
        return result


def reading(reader: SlowReader, at_once: int) -> Reading:
    return Reading(
        principal=PrincipalName("me"),
        gate=cast(Any, None),
        reader=cast(Any, reader),
        histories=cast(Any, None),
        tenants=cast(Any, None),
        tracer=cast(Tracer, NoTraces()),
        room=Room(at_once),
    )


async def test_a_hundred_at_once_are_answered_or_told_that_it_is_busy() -> None:
    reader = SlowReader()
    reads = reading(reader, 10)
    asked = [asyncio.create_task(reads.search("tea", **SCOPE)) for _ in range(100)]
    done, going = await asyncio.wait(asked, timeout=5.0, return_when=asyncio.FIRST_EXCEPTION)
    done, going = await asyncio.wait(asked, timeout=0)
    assert (len(done), len(going), reader.asked) == (90, 10, 10), "nobody queues"
    for each in done:
        with pytest.raises(Busy, match="EUNOE_SEARCHES_AT_ONCE") as busy:
            each.result()
        assert (busy.value.retryable, busy.value.retry_after) == (True, 1_000)
    without = await or_no_memory(reads.search("tea", **SCOPE), "ask", 1.0)
    assert without == NoMemory(reason="busy", fallback="ask", retryable=True)
    reader.open.set()
    assert len(await asyncio.gather(*going)) == 10
    assert await reads.search("tea", **SCOPE) is not None, "there is room again"


async def test_a_search_that_fails_or_is_given_up_leaves_its_room() -> None:
    room = Room(1)
    with pytest.raises(KeyError), room.taken():
        raise KeyError
    with room.taken(), pytest.raises(Busy), room.taken():
        pass
    reader = SlowReader()
    reads = reading(reader, 1)
    given_up = asyncio.create_task(reads.search("tea", **SCOPE))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    reader.open.set()
    assert await reads.search("tea", **SCOPE) is not None
