"""Memory that is switched off or away is an answer that an agent can go on with (B69), and withheld is not empty."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eunoe.client.memory import Memory, NoMemory
from eunoe.crypto.errors import KeySourceUnavailable
from eunoe.readmodels.errors import StoreUnavailable
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.readmodels.recall.result import SearchResult
from eunoe.runtime.control_state import switch_body
from eunoe.runtime.errors import ForeignLog
from eunoe.runtime.installation import open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import SWITCH_PREFIX, Switch
from eunoe.schemas.ids import Offset, Partition, PrincipalName
from eunoe.schemas.outcomes import Token
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT, apply_development, remembered
from eunoe.stack.local import LocalStack
from eunoe.testing.control import put_in_force
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}
FALLBACK = "answer without memory"


async def answer(memory: Memory, **more: Any) -> SearchResult | NoMemory:
    return await memory.try_search("tea", **(SCOPE | more))


async def test_reads_that_are_off_are_refused_with_what_to_do_without_memory(
    memory: Memory, settings: Settings
) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    found = await answer(memory, after=outcome.token)
    assert isinstance(found, SearchResult)
    assert len(found.records) == 1
    await switch(settings, memory, "acme/support", Switch(reads=False))
    await until(lambda: refused(memory), 5)
    with pytest.raises(ReadRefused, match="reads_off; without memory: answer without memory") as off:
        await memory.search("tea", **SCOPE)
    assert (off.value.reason, off.value.fallback) == ("reads_off", FALLBACK)
    assert await answer(memory) == NoMemory(reason="reads_off", fallback=FALLBACK, retryable=False)
    assert (await answer(memory)).records == ()
    # Another purpose is not switched off.
    assert isinstance(await answer(memory, purpose="billing"), SearchResult)


async def refused(memory: Memory) -> bool:
    return isinstance(await answer(memory), NoMemory)


async def test_what_is_the_callers_fault_is_no_reason_to_go_on_without_memory(memory: Memory) -> None:
    with pytest.raises(BadScope):
        await answer(memory, purpose="no such name")
    with pytest.raises(BadScope):
        await answer(memory, limit=-1)


async def test_what_has_not_come_yet_is_no_memory_yet(memory: Memory) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    token = Token.parse(outcome.token)
    later = Token(log_id=token.log_id, partition=Partition(token.partition), position=Offset(token.position + 1_000))
    found = await answer(memory, after=later.text, timeout=0.3)
    assert found == NoMemory(reason="not_yet", fallback=FALLBACK, retryable=True)


@pytest.fixture
async def lone(own_stack: LocalStack, tmp_path: Path) -> AsyncIterator[Memory]:
    """On a stack of its own, which a test may stop."""
    bare = Settings(kafka=own_stack.kafka, redis=own_stack.redis, partitions=1)
    async with topic_admin(bare.kafka) as admin:
        await apply_topics(admin, TopicNames(), 1, 1)
    installation = await open_installation(bare.kafka, TopicNames())
    prepared = await apply_development(bare, installation, tmp_path / "secrets")
    settings = replace(prepared, principal=PrincipalName(AGENT))
    async with running_services(settings) as running, Memory.connect(settings) as memory:
        await running.ready()
        yield memory


async def test_away_is_an_answer_in_time_and_a_read_never_waits_for_its_trace(
    lone: Memory, own_stack: LocalStack
) -> None:
    outcome = await lone.remember("Prefers green tea.", **WHERE)
    assert isinstance(await answer(lone, after=outcome.token), SearchResult)
    writer = lone.reading.tracer.writer
    assert writer is not None
    assert await writer.flushed(20)

    own_stack.broker.pause()
    try:
        for _ in range(20):
            started = time.monotonic()
            found = await lone.search("tea", **SCOPE)
            assert time.monotonic() - started < 1
            assert (len(found.records), found.traced) == (1, True)
        assert not await writer.flushed(0.2)  # they wait: nothing is taken for written
    finally:
        own_stack.broker.resume()
    assert await writer.flushed(60)
    assert len((await lone.traces("acme")).traces) == 21  # none was lost, and each is there once

    own_stack.redis_server.pause()
    try:
        started = time.monotonic()
        assert await answer(lone, timeout=1) == NoMemory(reason="store_away", fallback=FALLBACK, retryable=True)
        assert time.monotonic() - started < 3
    finally:
        own_stack.redis_server.resume()
    assert isinstance(await answer(lone), SearchResult)

    own_stack.redis_server.kill()
    assert await answer(lone, timeout=5) == NoMemory(reason="store_away", fallback=FALLBACK, retryable=True)
    with pytest.raises(StoreUnavailable):
        await lone.search("tea", **SCOPE)
    own_stack.redis_server.restart()
    await until(lambda: back(lone))


async def back(memory: Memory) -> bool:
    found = await answer(memory)
    return isinstance(found, SearchResult) and len(found.records) == 1


async def switch(settings: Settings, memory: Memory, of: str, to: Switch) -> None:
    await put_in_force(settings, memory.installation, f"{SWITCH_PREFIX}{of}", switch_body(to))


async def test_an_agent_that_starts_without_redis_goes_on_and_has_memory_once_it_is_back(
    lone: Memory, own_stack: LocalStack
) -> None:
    outcome = await lone.remember("Prefers green tea.", **WHERE)
    assert isinstance(await answer(lone, after=outcome.token), SearchResult)
    for away in (own_stack.redis_server.pause, own_stack.redis_server.kill):
        away()
        started = time.monotonic()
        async with Memory.connect(lone.settings) as late:
            assert await answer(late, timeout=1) == NoMemory(reason="store_away", fallback=FALLBACK, retryable=True)
            assert time.monotonic() - started < 6
            with pytest.raises(StoreUnavailable):
                await late.search("tea", **SCOPE)
            with pytest.raises((KeySourceUnavailable, StoreUnavailable)):
                await late.remember("Prefers milk.", timeout=2, **WHERE)
            code, document = await program(lone.settings, "search", "tea", *AS_OPTIONS)
            assert (code, document["no_memory"]["reason"]) == (3, "store_away")
            assert document["no_memory"]["fallback"] == FALLBACK
            code, document = await program(
                lone.settings, "remember", "Prefers rum.", *AS_OPTIONS, *SOURCED, "--timeout", "2"
            )
            assert (code, "secret" in document["message"]) == (3, False), document
            if away == own_stack.redis_server.pause:
                own_stack.redis_server.resume()
            else:
                own_stack.redis_server.restart()
            await until(lambda: back(late), 20)


async def test_a_redis_of_another_log_is_found_out_late_too(lone: Memory, own_stack: LocalStack) -> None:
    own_stack.redis_server.pause()
    async with Memory.connect(lone.settings) as late:
        own_stack.redis_server.resume()
        await lone.reading.reader.redis.set("eunoe:installation:", "another-log")

        async def told() -> bool:
            try:
                await late.search("tea", **SCOPE)
            except ForeignLog:
                return True
            except StoreUnavailable:
                return False
            return False

        await until(told, 20)


SOURCED = ("--uri", "crm://1", "--ttl", "P1D")
AS_OPTIONS = ("--tenant", "acme", "--agent", "bot", "--purpose", "support")


async def program(settings: Settings, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The command line on these settings: its code and its JSON document."""
    given = {
        f"EUNOE_{name.upper()}": ",".join(value) if isinstance(value, list) else str(value)
        for name, value in remembered(settings).items()
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eunoe.cli.main", *arguments, "--json"),
        env={**os.environ, **given},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert b"Traceback" not in err, err
    return process.returncode or 0, json.loads(out)
