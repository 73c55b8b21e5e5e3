"""What was delivered is on ``memory-access``: to whom, why, under which rules, without content; and read back."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.memory import Memory
from eunoe.client.traces import ReadTrace
from eunoe.producers.traces import TraceWriter
from eunoe.readmodels.recall.errors import BadScope, ReadRefused
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.topics import Topic
from eunoe.schemas.traces import TraceKind
from eunoe.worker.embedded import RunningServices

SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}


@pytest.fixture
async def others(settings: Settings, services: RunningServices) -> AsyncIterator[dict[str, Memory]]:
    async with AsyncExitStack() as closing:
        yield {
            name: await closing.enter_async_context(
                Memory.connect(replace(settings, principal=PrincipalName(f"dev-{name}")))
            )
            for name in ("reviewer", "officer")
        }


def writer_of(memory: Memory) -> TraceWriter:
    writer = memory.reading.tracer.writer
    assert writer is not None
    return writer


async def kept(memory: Memory, reader: Memory | None = None, **filters: Any) -> tuple[ReadTrace, ...]:
    """The traces once all that ``memory`` wrote are there."""
    assert await writer_of(memory).flushed(20)
    found = await (reader or memory).traces("acme", **filters)
    assert found.unreadable == 0
    return found.traces


async def raw_values(memory: Memory) -> list[bytes]:
    installation = memory.installation
    place = TopicPartition(installation.topic(Topic.ACCESS), installation.partition_of(TenantId("acme")))
    consumer = AIOKafkaConsumer(bootstrap_servers=memory.settings.kafka, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([place])
        end, found = (await consumer.end_offsets([place]))[place], []
        while await consumer.position(place) < end:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += [each.value for each in records]
        return found
    finally:
        await consumer.stop()


async def test_a_search_leaves_a_trace_of_what_it_delivered(memory: Memory, others: dict[str, Memory]) -> None:
    short = await memory.remember("Prefers zebra tea.", subject="anna", **WHERE)
    long = await memory.remember("Zebra zebra zebra " + "and so on " * 100, **WHERE)
    other = await memory.remember("Zebra notes.", **(WHERE | {"agent": "someone-else"}))
    result = await memory.search(
        "zebra tea", **SCOPE, budget=60, surface="chat", after=other.token, trace_id="t-1", session_id="s-1"
    )
    assert [each.memory_id for each in result.records] == [short.memory_id]
    assert (result.trace_id, result.session_id, result.traced) == ("t-1", "s-1", True)
    assert (result.policy_version, len(result.policy_hash)) == (1, 64)
    assert await kept(memory, session_id="another") == ()
    (found,) = await kept(memory, session_id="s-1")
    trace = found.trace
    assert (trace.trace_id, trace.session_id, trace.kind) == ("t-1", "s-1", TraceKind.SEARCHED)
    assert (trace.principal, trace.agent, trace.purpose, trace.surface) == ("dev-agent", "bot", "support", "chat")
    assert [each.memory_id for each in trace.delivered] == [short.memory_id]  # after the budget, not before (M71)
    assert [each.memory_id for each in trace.skipped] == [long.memory_id]
    assert trace.delivered[0].reasons == result.records[0].reasons
    assert trace.delivered[0].score == result.records[0].score
    assert (trace.limits.limit, trace.limits.budget, trace.examined) == (10, 60, 2)
    assert (trace.policy_hash, trace.control_offset) == (result.policy_hash, result.control_offset)
    assert trace.position == result.freshness.position
    assert found.query == "zebra tea"
    raw = b"".join(await raw_values(memory))
    assert b"t-1" in raw  # the control: this is where it lies
    for word in (b"zebra", b"Zebra", b"anna", b"crm"):
        assert word not in raw


async def test_who_may_see_a_trace_and_what_was_asked(memory: Memory, others: dict[str, Memory]) -> None:
    outcome = await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await memory.search("tea", **SCOPE, subject="anna", after=outcome.token)
    (own,) = await kept(memory)
    assert (own.query, own.subject) == ("tea", "anna")
    reviewer, officer = others["reviewer"], others["officer"]
    (seen,) = await kept(memory, reviewer)
    assert (seen.trace, seen.query, seen.subject) == (own.trace, None, None)
    (seen,) = await kept(memory, officer)
    assert (seen.query, seen.subject) == ("tea", "anna")
    await officer.search("tea", **SCOPE)
    assert len(await kept(officer)) == 2
    assert [each.trace.principal for each in await kept(memory)] == ["dev-agent"]
    with pytest.raises(ReadRefused):
        async with Memory.connect(
            replace(memory.settings, principal=PrincipalName("eunoe-sweeper"), secret_file=None)
        ) as sweeper:
            await sweeper.traces("acme")


async def test_the_answers_a_memory_went_into_are_found_when_it_is_withdrawn(
    memory: Memory, others: dict[str, Memory]
) -> None:
    tea = await memory.remember("Prefers green tea.", **WHERE)
    coffee = await memory.remember("Prefers coffee.", **WHERE)
    first = await memory.search("tea", **SCOPE, after=coffee.token)
    await memory.search("coffee", **SCOPE)
    both = await memory.search("prefers", **SCOPE)
    await memory.retract(tea.memory_id or "", tenant="acme", expected_version=1)
    used = await kept(memory, others["reviewer"], memory_id=tea.memory_id)
    assert [each.trace.trace_id for each in used] == [first.trace_id, both.trace_id]
    (one,) = await kept(memory, trace_id=both.trace_id)
    assert one.trace.trace_id == both.trace_id
    assert await kept(memory, since=one.trace.at + 1) == ()
    assert len(await kept(memory, since=one.trace.at)) == 1


async def test_looking_is_traced_as_looking_and_changes_no_ranking(memory: Memory) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    await memory.remember("Drinks tea at four.", **WHERE)
    assert outcome.memory_id is not None
    before = await memory.search("tea", **SCOPE, after=outcome.token)
    for _ in range(3):
        why = await memory.why(outcome.memory_id, "tea", **SCOPE)
        await memory.inspect(**SCOPE)
    assert why.selected
    after = await memory.search("tea", **SCOPE)
    assert [(each.memory_id, each.terms[0]) for each in after.records] == [
        (each.memory_id, each.terms[0]) for each in before.records
    ]
    used = await kept(memory, memory_id=outcome.memory_id, kind=TraceKind.SEARCHED)
    assert [each.trace.trace_id for each in used] == [before.trace_id, after.trace_id]
    assert len(await kept(memory, kind=TraceKind.INSPECTED)) == 6


async def test_a_full_buffer_costs_the_trace_and_not_the_read(memory: Memory) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    writer = writer_of(memory)
    writer._room = 0
    result = await memory.search("tea", **SCOPE, after=outcome.token)
    assert (len(result.records), result.traced) == (1, False)
    writer._room = 10
    assert (await memory.search("tea", **SCOPE)).traced
    assert len(await kept(memory)) == 1


async def test_ids_that_would_stand_in_the_clear_must_be_names(memory: Memory) -> None:
    for field in ("trace_id", "session_id"):
        with pytest.raises(BadScope, match=field):
            await memory.search("tea", **SCOPE, **{field: "Prefers tea, says Anna"})


async def test_one_key_a_tenant_and_day_however_many_clients_ask(memory: Memory, others: dict[str, Memory]) -> None:
    outcome = await memory.remember("Prefers green tea.", **WHERE)
    for client in (memory, *others.values()):
        await client.search("tea", **SCOPE, after=outcome.token)
    for client in (memory, *others.values()):
        assert await writer_of(client).flushed(20)
    found = (await others["officer"].traces("acme")).traces
    assert len(found) == 3
    assert len({each.trace.key_id for each in found}) == 1
    assert {each.query for each in found} == {"tea"}
