"""A broker that does not answer is never taken for success (M83)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.client.reading import scope_of
from eunoe.producers.errors import NotSent
from eunoe.runtime.installation import open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.metrics import TRACES, Metric, SilentMeter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import MemoryId, PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT, apply_development
from eunoe.stack.local import LocalStack
from eunoe.worker.embedded import running_services

LINE = (
    b'{"op": "remember", "tenant": "acme", "agent": "bot", "purposes": ["support"], "statement": "Prefers tea.",'
    b' "source": {"kind": "user_explicit", "uri": "crm://1"}, "ttl": "P30D"}'
)
SCOPE: Final[Any] = {"tenant": "acme", "agent": "bot", "purpose": "support"}
CLOSING_S: Final = 10.0


@pytest.fixture
async def settings(own_stack: LocalStack, tmp_path: Path) -> AsyncIterator[Settings]:
    """Of a running worker, on a stack of its own."""
    bare = Settings(kafka=own_stack.kafka, redis=own_stack.redis, partitions=1)
    async with topic_admin(bare.kafka) as admin:
        await apply_topics(admin, TopicNames(), 1, 1)
    installation = await open_installation(bare.kafka, TopicNames())
    prepared = await apply_development(bare, installation, tmp_path / "secrets")
    settings = replace(prepared, principal=PrincipalName(AGENT))
    async with running_services(settings) as running:
        await running.ready()
        yield settings


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[Memory]:
    """Its producer gives up after two seconds."""
    async with Memory.connect(replace(settings, delivery_timeout=2_000)) as memory:
        yield memory


async def test_what_kafka_does_not_confirm_is_not_reported_as_written(memory: Memory, own_stack: LocalStack) -> None:
    assert (await ingest(memory, [LINE])).accepted == 1
    own_stack.broker.pause()
    try:
        report = await ingest(memory, [LINE.replace(b"tea", b"coffee")], timeout=20)
        assert [each.line for each in report.failed] == [1]
        assert "Kafka did not confirm" in report.failed[0].problem
        with pytest.raises(NotSent):
            await memory.remember(
                "Prefers milk.",
                tenant="acme",
                agent="bot",
                purposes=["support"],
                source={"kind": "tool"},
                ttl="P30D",
                timeout=1,
            )
    finally:
        own_stack.broker.resume()


class Fates(SilentMeter):
    """What became of traces."""

    def __init__(self) -> None:
        self.counted = Counter[str]()

    def add(self, metric: Metric, *labels: str, amount: float = 1) -> None:
        if metric is TRACES:
            self.counted[labels[0]] += int(amount)


async def test_a_read_whose_trace_kafka_does_not_take_closes_in_time_and_the_loss_is_counted(
    settings: Settings, own_stack: LocalStack, caplog: pytest.LogCaptureFixture
) -> None:
    fates, clock = Fates(), asyncio.get_running_loop().time
    async with AsyncExitStack() as closing:
        memory = await closing.enter_async_context(Memory.connect(settings, meter=fates))
        said = await memory.remember(
            "Prefers tea.",
            agent="bot",
            purposes=["support"],
            source={"kind": "user_explicit", "uri": "crm://1"},
            tenant="acme",
            ttl="P30D",
        )
        scope = scope_of(memory.reading.principal, **SCOPE)
        # Without a search, for that would ask for the key of the day.
        assert await memory.reading.reader.get(scope, MemoryId(said.memory_id or ""), after=said.token)
        own_stack.broker.pause()
        try:
            found = await memory.search("tea", **SCOPE)
            assert (len(found.records), found.traced) == (1, True)
            started = clock()
            await closing.aclose()
            took = clock() - started
        finally:
            own_stack.broker.resume()
    assert took < CLOSING_S
    assert fates.counted["not_confirmed"] == 1
    assert "1 trace of reads was not confirmed by Kafka" in caplog.text
