"""Nothing is lost, doubled or judged blindly when deciders die, sleep, meet, or lose their Redis.

Each test fails when the step it is about is left out of `eunoe.processors.acquisition` or of the decider.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from eunoe.processors.decider import PartitionDecider
from eunoe.processors.errors import LedgerAheadOfLog, NotAMember
from eunoe.processors.ledger.ledger import Marks
from eunoe.processors.transaction import Writes
from eunoe.runtime.redis.errors import WatermarkMismatch
from eunoe.runtime.redis.watermark import Step, Watermark
from eunoe.schemas.commands import CorrectMemory, RememberMemory
from eunoe.schemas.events import CommandRejected, Event, MemoryAccepted, Reason
from eunoe.schemas.ids import CommandId, Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.testing.deciding import Surroundings
from eunoe.testing.tenant import TestTenant, deciding

DEADLINE_S = 30.0


@asynccontextmanager
async def surviving(decider: PartitionDecider, failures: list[Exception]) -> AsyncIterator[None]:
    """``decider`` started again whenever it fails, as `Lanes` does, for as long as the block runs."""

    async def again() -> None:
        while True:
            try:
                await decider.run()
            except Exception as error:  # noqa: BLE001 - what it was is for the test to judge
                failures.append(error)
            await asyncio.sleep(0.05)

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def every_outcome(around: Surroundings, commands: set[CommandId]) -> list[Event]:
    """The log once each of ``commands`` has an outcome; fails where one has two."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            events = await around.events()
            outcomes = Counter(each.header.command_id for each in events)
            if commands <= outcomes.keys():
                assert {each: n for each, n in outcomes.items() if n > 1} == {}
                return events
            await asyncio.sleep(0.1)


async def remembered(tenant: TestTenant, count: int) -> list[RememberMemory]:
    subject = await tenant.subject("customer-17")
    return [await tenant.remember(subject, f"Fact {n}.") for n in range(count)]


async def publish(around: Surroundings, producer: AIOKafkaProducer, commands: list[RememberMemory]) -> set[CommandId]:
    return {await around.send(producer, each) for each in commands}


def home(around: Surroundings, tenant: TestTenant) -> Partition:
    return around.installation.partition_of(tenant.name)


async def test_a_crash_between_commit_and_ledger_decides_nothing_twice(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with deciding(around):
        commands = await remembered(tenant, 12)
    decider = around.decider(home(around, tenant), batch=5)
    write = decider.ledger.write
    crashes = iter((True, False, True, False))

    async def dying(*args: object) -> None:
        if next(crashes, False):
            raise ConnectionResetError
        await write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(type(decider.ledger), "write", lambda _, *args: dying(*args))
    failures: list[Exception] = []
    async with surviving(decider, failures):
        events = await every_outcome(around, await publish(around, producer, commands))
    assert len([each for each in events if isinstance(each.fact, MemoryAccepted)]) == 12
    assert any(isinstance(each, ConnectionResetError) for each in failures), "the crash did not happen"


async def test_an_owner_that_a_stranger_fenced_goes_on_and_decides_each_command_once(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        commands = await remembered(tenant, 240)
    fenced: list[Exception] = []
    partition = home(around, tenant)
    async with surviving(around.decider(partition, batch=3), fenced):
        ids = await publish(around, producer, commands[:20])
        async with surviving(around.decider(partition, batch=3), []):
            async with asyncio.timeout(DEADLINE_S):
                # The owner notices when it commits, so it is given something to commit until it does.
                while not fenced:
                    ids |= await publish(around, producer, commands[len(ids) : len(ids) + 1])
                    await asyncio.sleep(0.1)
        ids |= await publish(around, producer, commands[len(ids) : len(ids) + 20])
        events = await every_outcome(around, ids)
    assert len([each for each in events if isinstance(each.fact, MemoryAccepted)]) == len(ids)
    assert any(isinstance(each, KafkaError | WatermarkMismatch) for each in fenced)


async def test_a_decider_that_slept_through_the_loss_of_its_partition_changes_nothing(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        commands = await remembered(tenant, 4)
    partition = home(around, tenant)
    sleeper = around.decider(partition)
    async with sleeper.acquisition.hold(partition, sleeper.ledger) as held:
        # Its partition moves on while it holds a producer, a consumer and marks that were right a moment ago.
        async with deciding(around, partition):
            ids = await publish(around, producer, commands)
            before = await every_outcome(around, ids)
        with pytest.raises((KafkaError, WatermarkMismatch)):
            await sleeper.decide_batch(held, held.marks, await sleeper.fetch(held))
        # And had it judged before it fell asleep, its transaction would be refused.
        with pytest.raises(KafkaError):
            await sleeper.transactions.commit(held.producer, Writes(), held.marks.next_input)
    assert [each.header.event_id for each in await around.events()] == [each.header.event_id for each in before]


async def test_a_decider_whose_membership_is_not_confirmed_fences_nobody(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    partition = home(around, tenant)
    async with deciding(around, partition):
        commands = await remembered(tenant, 1)
        stranger = around.decider(partition)

        async def denied(_: Partition) -> bool:
            return False

        object.__setattr__(stranger.acquisition, "confirms", denied)
        with pytest.raises(NotAMember):
            await stranger.run()
        await every_outcome(around, await publish(around, producer, commands))


async def test_a_flushed_ledger_judges_nothing_and_comes_back_from_the_log(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    partition = home(around, tenant)
    failures: list[Exception] = []
    decider = around.decider(partition)
    async with surviving(decider, failures):
        (first,) = await remembered(tenant, 1)
        await every_outcome(around, await publish(around, producer, [first]))
        keys = [each async for each in around.redis.scan_iter(f"eunoe:{around.installation.log_id}:*")]
        await around.redis.delete(*keys)
        # On an empty ledger the old record would not be found, and a correction of it refused.
        correction = CorrectMemory(
            tenant=tenant.name,
            draft=tenant.draft(first.draft.subject, "Another."),
            supersedes=first.draft.memory_id,
            expected_version=1,
            idempotency=await tenant.idempotency(),
        )
        command_id = await around.send(producer, correction)
        events = await every_outcome(around, {command_id})
    outcome = next(each.fact for each in events if each.header.command_id == command_id)
    assert isinstance(outcome, MemoryAccepted), outcome
    assert any(isinstance(each, WatermarkMismatch) for each in failures), "the loss was not noticed"


async def test_a_ledger_that_another_hand_moved_refuses_the_batch(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    partition = home(around, tenant)
    async with deciding(around, partition):
        commands = await remembered(tenant, 1)
    decider = around.decider(partition)
    async with decider.acquisition.hold(partition, decider.ledger) as held:
        await publish(around, producer, commands)
        mark = Watermark(around.redis, around.ledger_prefix(partition))
        await mark.move([Step(held.marks.position, held.marks.position + 1)])
        with pytest.raises(WatermarkMismatch):  # noqa: PT012 - an empty fetch comes back first
            async with asyncio.timeout(DEADLINE_S):
                marks: Marks = held.marks
                while True:
                    marks = await decider.decide_batch(held, marks, await decider.fetch(held))


async def test_a_ledger_ahead_of_its_log_stops_the_partition(around: Surroundings, tenant: TestTenant) -> None:
    partition = home(around, tenant)
    await Watermark(around.redis, around.ledger_prefix(partition)).move([Step(0, 99)])
    with pytest.raises(LedgerAheadOfLog, match="truncated or recreated"):
        await around.decider(partition).run()


async def test_the_group_offset_is_behind_and_the_ledger_knows_better(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    """Group offsets are only a hint: reset to the start, they must not let commands be decided again."""
    partition = home(around, tenant)
    async with deciding(around, partition):
        ids = await publish(around, producer, await remembered(tenant, 3))
        before = await every_outcome(around, ids)
    from aiokafka import AIOKafkaConsumer

    commands = TopicPartition(around.installation.topic(Topic.EVENTS), partition)
    consumer = AIOKafkaConsumer(bootstrap_servers=around.bootstrap, group_id=around.group, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([commands])
    await consumer.commit({commands: 0})
    await consumer.stop()
    decider = around.decider(partition)
    async with decider.acquisition.hold(partition, decider.ledger) as held:
        assert held.marks.next_input == Offset(max(each.header.input_offset for each in before) + 1)


async def test_fifty_corrections_of_one_version_have_one_winner(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    """M43."""
    async with deciding(around):
        (first,) = await remembered(tenant, 1)
        await every_outcome(around, await publish(around, producer, [first]))
        whom, old = first.draft.subject, first.draft.memory_id
        rivals = [await tenant.correct(whom, f"Version {n}.", old, 1) for n in range(50)]
        ids = set(await asyncio.gather(*(around.send(producer, each) for each in rivals)))
        events = await every_outcome(around, ids)
    facts = [each.fact for each in events if each.header.command_id in ids]
    assert sum(isinstance(each, MemoryAccepted) for each in facts) == 1
    refused = [each for each in facts if isinstance(each, CommandRejected)]
    assert {each.reason for each in refused} <= {Reason.VERSION_CONFLICT, Reason.WRONG_STATE}
    assert len(refused) == 49
