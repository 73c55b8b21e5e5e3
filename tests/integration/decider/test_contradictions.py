"""Contradictions on a real broker and Redis: within one batch, across batches, and after the ledger was lost."""

from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis

from eunoe.schemas.commands import ResolveConflict, SeenRef
from eunoe.schemas.events import CommandRejected, ConflictResolved, MemoryAccepted, Reason
from eunoe.testing.deciding import Surroundings
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until

KEY = "配達.時間帯"


async def facts(around: Surroundings, ids: list[str]) -> list[object]:
    """The outcomes of these commands, in their order, once all are there."""

    async def all_there() -> bool:
        return {*ids} <= {each.header.command_id for each in await around.events()}

    await until(all_there)
    found = {each.header.command_id: each.fact for each in await around.events()}
    return [found[each] for each in ids]  # type: ignore[index]


async def test_a_tie_is_marked_on_both_and_answered(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer, redis_client: Redis
) -> None:
    async with deciding(around):
        subject, other = await tenant.subject("customer-17"), await tenant.subject("customer-18")
    # Both lie on the topic before anybody decides: one batch judges them.
    evening = await tenant.remember(subject, "After 18:00.", claim=KEY)
    morning = await tenant.remember(subject, "Before 9:00.", claim=KEY)
    somebody_else = await tenant.remember(other, "Before 9:00.", claim=KEY)
    without_claim = await tenant.remember(subject, "Around noon.")
    ids = [await around.send(producer, each) for each in (evening, morning, somebody_else, without_claim)]
    async with deciding(around):
        first, second, third, fourth = await facts(around, list(ids))
    for fact in (first, third, fourth):
        assert isinstance(fact, MemoryAccepted)
        assert fact.conflicts_with == ()
    assert isinstance(second, MemoryAccepted)
    assert [(each.memory_id, each.version) for each in second.conflicts_with] == [(evening.draft.memory_id, 2)]

    # What is known comes from the log: the answer is judged by a ledger that was built anew.
    lost = [each async for each in redis_client.scan_iter(match="*:ledger:*")]
    assert lost
    for key in lost:
        await redis_client.delete(key)
    async with deciding(around):
        stale = ResolveConflict(
            tenant=tenant.name,
            memory_id=evening.draft.memory_id,
            expected_version=1,
            idempotency=await tenant.idempotency(),
        )
        answer = ResolveConflict(
            tenant=tenant.name,
            memory_id=evening.draft.memory_id,
            expected_version=2,
            over=(SeenRef(memory_id=morning.draft.memory_id, version=1),),
            idempotency=await tenant.idempotency(),
        )
        again = await tenant.remember(subject, "After 18:00.", claim=KEY)
        refused, resolved, known = await facts(
            around, [await around.send(producer, each) for each in (stale, answer, again)]
        )
    assert isinstance(refused, CommandRejected)
    assert refused.reason is Reason.VERSION_CONFLICT
    assert isinstance(resolved, ConflictResolved)
    assert [each.memory_id for each in resolved.superseded] == [morning.draft.memory_id]
    assert isinstance(known, CommandRejected)
    assert (known.reason, known.memory_id) == (Reason.DUPLICATE_MEMORY, evening.draft.memory_id)
