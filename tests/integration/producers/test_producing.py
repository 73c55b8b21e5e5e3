"""What a producer sends is decided: on a real broker, by a real decider."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

from eunoe.producers.client import Asked, MemoryProducer, Proposal, Sent
from eunoe.producers.errors import KeyRefused, NoKeyYet, SubjectClosed, TooLarge
from eunoe.schemas.envelope import TRACEPARENT_HEADER
from eunoe.schemas.events import KeyIssued, MemoryAccepted
from eunoe.schemas.ids import AgentId, Millis, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.schemas.topics import Topic
from eunoe.schemas.values import SourceKind
from eunoe.testing.deciding import OFFICER, REVIEWER, Surroundings

MakeProducer = Callable[..., Awaitable[MemoryProducer]]
ACME = TenantId("acme")
WAIT = 20.0


def proposal(statement: str = "Prefers tea.", subject: str | None = "customer-17", **over: object) -> Proposal:
    fields: dict[str, object] = {
        "tenant": ACME,
        "agent": AgentId("bot"),
        "statement": statement,
        "subject": subject,
        "purposes": ["support"],
        "source_kind": SourceKind.USER_EXPLICIT,
        "source_uri": "crm://tickets/1",
        "ttl": timedelta(days=30),
    }
    return Proposal(**(fields | over))  # type: ignore[arg-type]  # the checks are what is tested


@pytest.mark.usefixtures("decided")
async def test_a_memory_is_accepted(make_producer: MakeProducer) -> None:
    producer = await make_producer()
    sent = await producer.remember(proposal())
    outcome = await sent.outcome(WAIT)
    assert (outcome.status, outcome.memory_id, outcome.version) == (OutcomeStatus.ACCEPTED, sent.memory_id, 1)


@pytest.mark.usefixtures("decided")
async def test_three_hundred_memories_on_twenty_subjects_need_one_key_each(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    producer = await make_producer()
    new = [proposal(f"Ordered thing {n}.", f"customer-{n % 20}") for n in range(300)]
    sent = await asyncio.gather(*(producer.remember(each) for each in new))
    found = await asyncio.gather(*(each.outcome(WAIT) for each in sent))
    assert {each.status for each in found} == {OutcomeStatus.ACCEPTED}
    assert len({each.memory_id for each in found}) == 300
    issued = [each.fact for each in await around.events() if isinstance(each.fact, KeyIssued)]
    assert len(issued) == 21  # the tenant, and each subject


@pytest.mark.usefixtures("decided")
async def test_two_producers_that_meet_a_new_subject_at_once_seal_with_one_key(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    producers = [await make_producer(), await make_producer()]
    sent = await asyncio.gather(
        *(each.remember(proposal(f"Ordered thing {number}.")) for number, each in enumerate(producers))
    )
    assert {(await each.outcome(WAIT)).status for each in sent} == {OutcomeStatus.ACCEPTED}
    drafts = [each.fact.draft for each in await around.events() if isinstance(each.fact, MemoryAccepted)]
    assert len(drafts) == 2
    assert len({each.key_id for each in drafts}) == 1


@pytest.mark.usefixtures("decided")
async def test_a_retry_under_its_command_id_has_the_first_outcome_and_makes_no_second_fact(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    producer = await make_producer()
    first = await producer.remember(proposal(), Asked(idempotency_key="ticket-1"))
    accepted = await first.outcome(WAIT)
    retry = Asked(idempotency_key="ticket-1", command_id=first.command_id)
    again = await producer.remember(proposal(), retry)
    assert again.memory_id != first.memory_id
    assert await again.outcome(WAIT) == accepted
    # A later command of the partition is decided, so the retry has been too.
    request = await producer.remember(proposal(), Asked(idempotency_key="ticket-1"))
    duplicate = await request.outcome(WAIT)
    assert (duplicate.status, duplicate.first_command_id) == (OutcomeStatus.DUPLICATE, first.command_id)
    facts = [each for each in await around.events() if each.header.command_id == first.command_id]
    assert len(facts) == 1


@pytest.mark.usefixtures("decided")
async def test_a_reviewer_promotes_with_a_signature_and_who_has_none_is_refused_on_the_log(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    agent, reviewer = await make_producer(), await make_producer(REVIEWER)
    held = await agent.remember(proposal(source_kind=SourceKind.THIRD_PARTY))
    quarantined = await held.outcome(WAIT)
    assert quarantined.status is OutcomeStatus.QUARANTINED
    assert held.memory_id is not None
    refused = await (await agent.promote(ACME, held.memory_id, 1)).outcome(WAIT)
    assert refused.status is OutcomeStatus.REJECTED
    promoted = await (await reviewer.promote(ACME, held.memory_id, 1)).outcome(WAIT)
    assert (promoted.status, promoted.version) == (OutcomeStatus.DONE, 2)
    (event,) = [each for each in await around.events() if each.header.command_id == promoted.command_id]
    assert event.header.authorization is not None


@pytest.mark.usefixtures("decided")
async def test_each_other_command_has_its_outcome(make_producer: MakeProducer) -> None:
    agent, reviewer, officer = await make_producer(), await make_producer(REVIEWER), await make_producer(OFFICER)
    first = await (await agent.remember(proposal())).outcome(WAIT)
    assert first.memory_id is not None
    second = await (
        await agent.correct(proposal("Prefers coffee."), supersedes=first.memory_id, expected_version=1)
    ).outcome(WAIT)
    assert (second.status, second.version) == (OutcomeStatus.ACCEPTED, 1)
    assert second.memory_id is not None
    held = await (await agent.remember(proposal("Moved.", source_kind=SourceKind.THIRD_PARTY))).outcome(WAIT)
    assert held.memory_id is not None
    about_the_tenant = await (await agent.remember(proposal("Opens at nine.", None, about=["anna"]))).outcome(WAIT)
    assert about_the_tenant.memory_id is not None

    async def kind(sent: Sent) -> str:
        return (await sent.outcome(WAIT)).kind

    # One after the other: what two producers send has no order.
    assert await kind(await reviewer.reject(ACME, held.memory_id, 1, "not_so")) == "MemoryRejected"
    assert await kind(await agent.retract(ACME, second.memory_id, 1)) == "MemoryRetracted"
    assert await kind(await officer.forget_memory(ACME, about_the_tenant.memory_id)) == "MemoryForgotten"
    assert await kind(await officer.forget_subject(ACME, "customer-17")) == "SubjectForgotten"
    readmitted = await officer.readmit_subject(ACME, "customer-17")
    assert (await readmitted.outcome(WAIT)).kind == "SubjectReadmitted"
    assert (await officer.outcome(ACME, readmitted.command_id, WAIT)).kind == "SubjectReadmitted"


@pytest.mark.usefixtures("decided")
async def test_a_forgotten_subject_takes_nothing_new(make_producer: MakeProducer, around: Surroundings) -> None:
    agent, officer = await make_producer(), await make_producer(OFFICER)
    await (await agent.remember(proposal())).outcome(WAIT)
    await (await officer.forget_subject(ACME, "customer-17")).outcome(WAIT)
    later = await make_producer()
    with pytest.raises(KeyRefused) as caught:
        await later.remember(proposal(ttl=timedelta(days=90)))  # of another month: its key is not there
    assert caught.value.outcome.reason == "subject_closed"


@pytest.mark.usefixtures("decided")
@pytest.mark.parametrize(
    ("end", "field", "reason"),
    [
        ({"ttl": timedelta(days=4_000)}, "ttl", "expiry_too_far"),
        ({"ttl": None, "expires_at": Millis(32_503_680_000_000)}, "expires_at", "expiry_too_far"),
    ],
)
async def test_a_month_for_which_there_is_no_key_is_told_as_what_was_given(
    make_producer: MakeProducer, end: dict[str, object], field: str, reason: str
) -> None:
    agent = await make_producer()
    agent._policy = lambda: None  # one that knows the maximum refuses by itself
    with pytest.raises(KeyRefused) as caught:
        await agent.remember(replace(proposal(), **end))  # type: ignore[arg-type]  # fields of a `Proposal`
    assert (caught.value.outcome.field, caught.value.outcome.reason) == (field, reason)


async def test_without_outcomes_a_closed_subject_is_refused_at_once(
    make_producer: MakeProducer, around: Surroundings, deciders: Callable[[], AbstractAsyncContextManager[None]]
) -> None:
    async with deciders():
        producer = await make_producer(awaits=False)
        sent = await producer.remember(proposal())
        assert await sent.written() == sent.command_id
    keys = await producer._keyring.tenant(ACME)
    around.keys.close_subject(ACME, keys.pseudonym("customer-17"))
    with pytest.raises(SubjectClosed):
        await (await make_producer(awaits=False)).remember(proposal())
    with pytest.raises(RuntimeError, match="OutcomeSource"):
        await sent.outcome(WAIT)


async def test_without_a_decider_the_missing_key_is_said_to_be_missing(
    make_producer: MakeProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await make_producer(awaits=False)
    monkeypatch.setattr(producer._keys, "_patience", 0.2)
    with pytest.raises(NoKeyYet, match="is a worker running"):
        await producer.remember(proposal())


@pytest.mark.usefixtures("decided")
async def test_what_is_too_large_is_refused_before_it_is_sent(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    producer = await make_producer()
    with pytest.raises(TooLarge) as caught:
        await producer.remember(proposal("tea " * 2_000))
    assert (caught.value.field, caught.value.limit, caught.value.found) == ("statement", 4_000, 8_000)
    assert await around.events() == []
    assert (await (await producer.remember(proposal("tea " * 1_000))).outcome(WAIT)).status is OutcomeStatus.ACCEPTED


@pytest.mark.usefixtures("decided")
async def test_a_trace_travels_in_a_header_and_its_kin_in_the_envelope(
    make_producer: MakeProducer, around: Surroundings
) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    producer = await make_producer()
    sent = await producer.remember(proposal(), Asked(traceparent=trace, correlation="ticket-1", causation="e-1"))
    outcome = await sent.outcome(WAIT)
    (event,) = [each for each in await around.events() if each.header.command_id == outcome.command_id]
    assert (event.header.correlation, event.header.causation) == ("ticket-1", "e-1")
    records = await commands(around)
    assert [record.headers for record in records if record.headers] == [((TRACEPARENT_HEADER, trace.encode()),)]
    assert {record.key for record in records} == {ACME.encode()}


async def commands(around: Surroundings) -> list[ConsumerRecord[bytes, bytes]]:
    """The records of the tenant's partition of ``memory-events``."""
    installation = around.installation
    where = TopicPartition(installation.topic(Topic.EVENTS), installation.partition_of(ACME))
    consumer = AIOKafkaConsumer(bootstrap_servers=around.bootstrap, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([where])
        end = (await consumer.end_offsets([where]))[where]
        found: list[ConsumerRecord[bytes, bytes]] = []
        while len(found) < end:
            found += (await consumer.getmany(where, timeout_ms=200)).get(where, [])
        return found
    finally:
        await consumer.stop()
