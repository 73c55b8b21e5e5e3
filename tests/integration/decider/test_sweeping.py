"""Expiry enters the log as a command, is judged by log time, and happens once."""

from functools import partial

from aiokafka import AIOKafkaProducer

from eunoe.crypto.buckets import month_bucket
from eunoe.processors.sweeper import WINDOW_MS, Proposed, Sweeper
from eunoe.runtime.clock import ManualClock, SystemClock
from eunoe.schemas.commands import ForgetSubject
from eunoe.schemas.events import CommandRejected, MemoryExpired, Reason
from eunoe.schemas.ids import CommandId, Millis
from eunoe.testing.deciding import OFFICER, Surroundings
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until

HOUR = 3_600_000


def sweeper(around: Surroundings, producer: AIOKafkaProducer, tenant: TestTenant, clock: ManualClock) -> Sweeper:
    async def publish(command: Proposed, command_id: CommandId) -> object:
        return await around.send(producer, command, command_id=command_id)

    return Sweeper(around.ledger(around.installation.partition_of(tenant.name)), clock, publish)


async def has(around: Surroundings, kind: type, count: int = 1) -> bool:
    return sum(isinstance(each.fact, kind) for each in await around.events()) >= count


async def test_a_clock_an_hour_ahead_expires_nothing_early_and_what_it_proposed_still_expires_when_due(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        now = SystemClock().now()
        soon = Millis(now + 4_000)
        whom = await tenant.subject("customer-17", bucket=month_bucket(soon))
        command = await tenant.remember(whom, "Stays at the hotel.", expires_at=soon, ttl=None)
        await around.send(producer, command)
        ledger = around.ledger(around.installation.partition_of(tenant.name))

        async def remembered() -> bool:
            return bool(await ledger.due(Millis(now + HOUR), 10))

        await until(remembered)
        clock = ManualClock(Millis(now + HOUR))
        ahead = sweeper(around, producer, tenant, clock)
        assert await ahead.sweep() == 1
        assert await ahead.sweep() == 0, "proposed twice in one window"
        await until(partial(has, around, CommandRejected))
        refused = [each.fact for each in await around.events() if isinstance(each.fact, CommandRejected)]
        assert [each.reason for each in refused] == [Reason.NOT_DUE]
        # The clock goes on; with the next window the same record is proposed again, and by then it is due.

        async def expired() -> bool:
            clock.advance(WINDOW_MS)
            await ahead.sweep()
            return await has(around, MemoryExpired)

        await until(expired)
        assert await ahead.sweep() == 0
    events = await around.events()
    facts = [each for each in events if isinstance(each.fact, MemoryExpired)]
    assert len(facts) == 1
    assert facts[0].header.decided_at >= soon


async def test_a_record_of_a_forgotten_subject_is_proposed_to_nobody(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer
) -> None:
    async with deciding(around):
        whom = await tenant.subject("customer-17")
        await around.send(producer, await tenant.remember(whom, "Likes tea."))
        clock = ManualClock(Millis(SystemClock().now() + 40 * 24 * HOUR))
        ledger = around.ledger(around.installation.partition_of(tenant.name))

        async def due() -> bool:
            return bool(await ledger.due(clock.now(), 10))

        await until(due)
        forget = ForgetSubject(tenant=tenant.name, subject=whom, idempotency=await tenant.idempotency())
        await around.send(producer, forget, OFFICER)

        async def nothing_due() -> bool:
            return not await due()

        await until(nothing_due)
        assert await sweeper(around, producer, tenant, clock).sweep() == 0
