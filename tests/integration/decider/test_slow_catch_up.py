"""A catch-up that takes longer than the session must not cost the partition: lanes work outside the callbacks."""

import asyncio
from collections.abc import Sequence

import pytest
from aiokafka import AIOKafkaProducer

from eunoe.processors.ledger.ledger import Change, Ledger, Marks
from eunoe.runtime.lane import Lanes
from eunoe.runtime.membership import GroupTimes
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import Partition, TenantId
from eunoe.schemas.topics import Topic
from eunoe.testing.deciding import Surroundings
from eunoe.testing.tenant import TestTenant, deciding
from eunoe.testing.waiting import until

SESSION_MS = 6_000
SLOW_S = 10.0


async def test_ten_seconds_of_catching_up_under_a_session_of_six_do_not_rebalance_the_group(
    around: Surroundings, tenant: TestTenant, producer: AIOKafkaProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with deciding(around):
        await tenant.subject("customer-17")
    installation = around.installation
    async for name in around.redis.scan_iter(f"eunoe:{installation.log_id}:*"):
        await around.redis.unlink(name)
    slept = 0
    write = Ledger.write

    async def slowly(self: Ledger, before: Marks, changes: Sequence[Change], after: Marks) -> None:
        nonlocal slept
        if before.position == 0:
            slept += 1
            await asyncio.sleep(SLOW_S)
        await write(self, before, changes, after)

    monkeypatch.setattr(Ledger, "write", slowly)
    lanes: Lanes

    async def work(partition: Partition) -> None:
        decider = around.decider(partition)
        object.__setattr__(decider.acquisition, "confirms", lanes.membership.confirms)
        await decider.run()

    lanes = Lanes(
        around.bootstrap,
        installation.topic(Topic.EVENTS),
        around.group,
        work,
        times=GroupTimes(session=SESSION_MS, heartbeat=SESSION_MS // 3),
    )
    await lanes.start()
    try:
        command_id = await around.send(producer, IssueKey(tenant=TenantId("another")))

        async def decided() -> bool:
            return command_id in {each.header.command_id for each in await around.events()}

        await until(decided, 40.0)
        assert slept == installation.partitions, "the catch-up was not slow, or began again"
        assert lanes.membership.joins == 1
        assert all(each.restarts == 0 for each in lanes.status.values())
    finally:
        await lanes.stop()
