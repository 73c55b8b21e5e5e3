"""A broker that does not answer is never taken for success (M83)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from eunoe.client.ingesting import ingest
from eunoe.client.memory import Memory
from eunoe.producers.errors import NotSent
from eunoe.runtime.installation import open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT, apply_development
from eunoe.stack.local import LocalStack
from eunoe.worker.embedded import running_services

LINE = (
    b'{"op": "remember", "tenant": "acme", "agent": "bot", "purposes": ["support"], "statement": "Prefers tea.",'
    b' "source": {"kind": "user_explicit", "uri": "crm://1"}, "ttl": "P30D"}'
)


@pytest.fixture
async def memory(own_stack: LocalStack, tmp_path: Path) -> AsyncIterator[Memory]:
    """Of a running worker, on a stack of its own; a producer that gives up after two seconds."""
    bare = Settings(kafka=own_stack.kafka, redis=own_stack.redis, partitions=1, delivery_timeout=2_000)
    async with topic_admin(bare.kafka) as admin:
        await apply_topics(admin, TopicNames(), 1, 1)
    installation = await open_installation(bare.kafka, TopicNames())
    prepared = await apply_development(bare, installation, tmp_path / "secrets")
    settings = replace(prepared, principal=PrincipalName(AGENT))
    async with running_services(settings) as running, Memory.connect(settings) as memory:
        await running.ready()
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
