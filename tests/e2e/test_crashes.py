"""Workers killed, paused and raced with each other: every command has exactly one outcome, and projections agree.

Commands are published by an ordinary idempotent producer; deciders and projectors are real worker processes.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from redis.asyncio import Redis

from eunoe.schemas.events import CommandRejected, Event, MemoryAccepted
from eunoe.schemas.ids import CommandId, TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.stack.redis_server import RedisServer
from eunoe.testing.crashing import Load, published
from eunoe.testing.platform import Platform, WorkerProcess, install
from eunoe.testing.projections import differences
from eunoe.testing.waiting import until

COMMANDS = 20_000
"""Of the issue; spread over eight tenants in four partitions."""
PARTITIONS = 4
PATIENCE = 240.0
"""Seconds: what is shown here is that it ends, not how fast; the machine may be busy with other tests."""


@pytest.fixture
async def platform(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> Platform:
    return await install(
        kafka_bootstrap,
        redis_url,
        topic_names,
        tmp_path,
        PARTITIONS,
        session_timeout=6_000,
        heartbeat_interval=2_000,
        decide_batch=200,
    )


@pytest.fixture
async def load(platform: Platform) -> AsyncIterator[Load]:
    """A publisher with keys for its tenants, issued by a worker that is gone again."""
    async with published(platform, [TenantId(f"tenant-{n}") for n in range(8)]) as load:
        yield load


async def exactly_one_outcome(load: Load, ids: Sequence[CommandId]) -> list[Event]:
    """The facts, once every command has one; fails where one has two."""
    await until(lambda: load.decided(len(ids)), PATIENCE)
    events = await load.events()
    outcomes = Counter(each.header.command_id for each in events)
    missing = [each for each in ids if each not in outcomes]
    assert not missing, f"{len(missing)} commands without an outcome"
    assert not [each for each, count in outcomes.items() if count > 1]
    return events


def gapless(events: Sequence[Event]) -> None:
    """Per tenant, facts come in the order of their commands (S5)."""
    last: dict[str, int] = {}
    for each in events:
        header = each.header
        assert header.input_offset > last.get(header.tenant, -1)
        last[header.tenant] = header.input_offset


async def equals_a_single_run(load: Load, reference: str) -> None:
    """The live projections are what one undisturbed fold of the log makes (S6, M79)."""
    await until(load.projected, PATIENCE)
    live = await load.contents()
    assert len(live) > 100, "next to nothing was projected"
    assert differences(live, await load.folded_once(reference)) == []


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[str]:
    """An empty Redis of this test's own."""
    server = RedisServer(tmp_path / "reference", append_only=False)
    server.start()
    try:
        yield server.url
    finally:
        server.kill()


@pytest.mark.timeout(600)
async def test_workers_killed_in_the_middle_of_twenty_thousand_commands_give_each_exactly_one_outcome(
    platform: Platform, load: Load, reference: str
) -> None:
    """S1, S2, S5, S6, M79: kill -9 of a worker under load, and of a worker while a second takes over."""
    first = platform.start_worker()
    try:
        ids = await load.remember(COMMANDS)
        await until(lambda: load.decided(2_000), PATIENCE)
        second = platform.start_worker()
        try:
            await until(lambda: load.decided(4_000), PATIENCE)
            first.kill()  # its transactions are open, its partitions go to the second
            await until(lambda: load.decided(8_000), PATIENCE)
            third = platform.start_worker()
            try:
                second.kill()  # while the third is joining
                events = await exactly_one_outcome(load, ids)
                gapless(events)
                assert sum(isinstance(each.fact, MemoryAccepted) for each in events) >= COMMANDS
                await equals_a_single_run(load, reference)
            finally:
                third.kill()
        finally:
            second.kill()
    finally:
        first.kill()


@pytest.mark.timeout(300)
async def test_redis_flushed_while_running_judges_nothing_on_an_empty_ledger(
    platform: Platform, load: Load, redis_client: Redis, reference: str
) -> None:
    """S25: in the middle of a batch the whole of Redis goes; all of it comes back from the log."""
    with platform.start_worker():
        ids = await load.remember(3_000)
        await until(lambda: load.decided(500), PATIENCE)
        lost = await load.flush(redis_client)
        assert lost > 0, "there was nothing to lose"
        ids += await load.correct(500)
        events = await exactly_one_outcome(load, ids)
        gapless(events)
        refused = [each.fact for each in events if isinstance(each.fact, CommandRejected)]
        assert not refused, "judged on an empty ledger"
        await equals_a_single_run(load, reference)


@pytest.mark.timeout(300)
async def test_a_worker_that_sleeps_through_the_loss_of_its_partitions_changes_nothing(
    platform: Platform, load: Load, reference: str
) -> None:
    """A zombie: SIGSTOP, its partitions move, SIGCONT."""
    sleeper = platform.start_worker()
    try:
        ids = await load.remember(2_000)
        await until(lambda: load.decided(300), PATIENCE)
        sleeper.pause()
        with platform.start_worker() as owner:
            await until(lambda: load.decided(len(ids)), PATIENCE)
            ids += await load.remember(1_000)
            sleeper.resume()
            events = await exactly_one_outcome(load, ids)
            gapless(events)
            await until(partial(ready, sleeper), 90.0)
            assert owner.alive
            await equals_a_single_run(load, reference)
    finally:
        sleeper.resume()
        sleeper.kill()


async def ready(worker: WorkerProcess) -> bool:
    return await asyncio.to_thread(worker.answers, "readyz")
