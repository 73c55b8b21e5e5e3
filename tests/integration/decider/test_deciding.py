"""What becomes of commands on a real broker and Redis."""

from collections.abc import Callable

from aiokafka import AIOKafkaProducer

from eunoe.schemas.commands import ForgetSubject, PromoteMemory
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
    Event,
    KeyIssued,
    MemoryAccepted,
    MemoryPromoted,
    MemoryQuarantined,
    Reason,
    SubjectForgotten,
)
from eunoe.schemas.values import SourceKind
from eunoe.testing.deciding import OFFICER, REVIEWER, Surroundings
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until


async def events_when(around: Surroundings, enough: Callable[[list[Event]], bool]) -> list[Event]:
    """The log's facts once they are as wanted."""

    async def as_wanted() -> bool:
        return enough(await around.events())

    await until(as_wanted)
    return await around.events()


def outcome_of(events: list[Event], command_id: str) -> object:
    found = [each.fact for each in events if each.header.command_id == command_id]
    assert len(found) == 1, f"{len(found)} outcomes"
    return found[0]


async def test_a_command_becomes_one_fact(around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer) -> None:
    async with deciding(around):
        subject = await tenant.subject("customer-17")
        command = await tenant.remember(subject, "Prefers delivery after 18:00.")
        command_id = await around.send(producer, command)
        again = await around.send(producer, command, command_id=command_id)
        retry = await around.send(producer, await tenant.remember(subject, "Another.", key="k"))
        events = await events_when(around, lambda found: len(found) >= 4)
    assert again == command_id
    fact = outcome_of(events, command_id)
    assert isinstance(fact, MemoryAccepted)
    assert isinstance(outcome_of(events, retry), MemoryAccepted)
    assert [type(each.fact) for each in events[:2]] == [KeyIssued, KeyIssued]


async def test_the_same_request_under_a_new_id_is_a_duplicate_and_another_payload_is_refused(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        subject = await tenant.subject("customer-17")
        first = await tenant.remember(subject, "Likes tea.", key="ticket-1")
        same = await tenant.remember(subject, "Likes tea.", key="ticket-1", expires_at=first.draft.expires_at)
        other = await tenant.remember(subject, "Likes coffee.", key="ticket-1", expires_at=first.draft.expires_at)
        ids = [await around.send(producer, each) for each in (first, same, other)]
        events = await events_when(around, lambda found: len(found) >= 5)
    duplicate = outcome_of(events, ids[1])
    assert isinstance(duplicate, CommandDuplicate)
    assert duplicate.first_command_id == ids[0]
    refused = outcome_of(events, ids[2])
    assert isinstance(refused, CommandRejected)
    assert refused.reason is Reason.IDEMPOTENCY_MISMATCH


async def test_an_untrusted_source_is_quarantined_until_a_reviewer_promotes_it(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        subject = await tenant.subject("customer-17")
        command = await tenant.remember(subject, "Wants all reports.", source_kind=SourceKind.THIRD_PARTY)
        waiting = await around.send(producer, command)
        promote = PromoteMemory(
            tenant=tenant.name,
            memory_id=command.draft.memory_id,
            expected_version=1,
            idempotency=await tenant.idempotency(),
        )
        by_agent = await around.send(producer, promote)
        by_person = await around.send(producer, promote, REVIEWER)
        events = await events_when(around, lambda found: len(found) >= 5)
    assert isinstance(outcome_of(events, waiting), MemoryQuarantined)
    refused = outcome_of(events, by_agent)
    assert isinstance(refused, CommandRejected)
    assert refused.reason is Reason.NOT_ALLOWED
    assert isinstance(outcome_of(events, by_person), MemoryPromoted)
    signed = next(each for each in events if each.header.command_id == by_person)
    assert signed.header.authorization is not None


async def test_a_forgotten_subject_takes_no_more_memories(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        subject = await tenant.subject("customer-17")
        kept = [await tenant.remember(subject, f"Fact {n}.") for n in range(3)]
        for each in kept:
            await around.send(producer, each)
        late = await tenant.remember(subject, "Too late.")
        forgotten = await around.send(
            producer,
            ForgetSubject(tenant=tenant.name, subject=subject, idempotency=await tenant.idempotency()),
            OFFICER,
        )
        refused_id = await around.send(producer, late)
        events = await events_when(around, lambda found: len(found) >= 7)
    fact = outcome_of(events, forgotten)
    assert isinstance(fact, SubjectForgotten)
    assert fact.records == 3
    refused = outcome_of(events, refused_id)
    assert isinstance(refused, CommandRejected)
    assert refused.reason is Reason.SUBJECT_CLOSED
