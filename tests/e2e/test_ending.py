"""A worker of each role that is told to end, does so within its budget, and nothing is lost (S10, S20)."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import psutil
import pytest

from eunoe.schemas.events import PartitionOpened
from eunoe.schemas.ids import TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.stack.local import LocalStack
from eunoe.testing.crashing import Load, published
from eunoe.testing.platform import Platform, WorkerProcess, install
from eunoe.testing.waiting import until
from eunoe.worker.ending import CLOSE_S, END_S

ROLES: Final = ("decide", "project", "shred", "attest")
BUDGET_S: Final = 10.0
"""Of docs/runbooks/workers.md, where Kafka and Redis answer; `END_S` where they do not."""
PATIENCE: Final = 60.0


@pytest.fixture
async def platform(own_stack: LocalStack, tmp_path: Path) -> Platform:
    return await install(
        own_stack.kafka,
        own_stack.redis,
        TopicNames(),
        tmp_path,
        session_timeout=6_000,
        heartbeat_interval=1_000,
        decide_batch=100,
    )


@pytest.fixture
async def load(platform: Platform) -> AsyncIterator[Load]:
    async with published(platform, [TenantId(f"tenant-{n}") for n in range(4)]) as load:
        yield load


async def running(platform: Platform) -> list[WorkerProcess]:
    """One of each role, ready."""
    workers = [platform.start_worker(role) for role in ROLES]
    for each in workers:

        async def ready(worker: WorkerProcess = each) -> bool:
            return await asyncio.to_thread(worker.answers, "readyz")

        await until(ready, PATIENCE)
    return workers


async def ended(workers: list[WorkerProcess]) -> dict[str, tuple[int, float]]:
    """By role: the exit code, and seconds from SIGTERM to the end, when all are told at one moment."""
    began = time.monotonic()

    def stop(worker: WorkerProcess) -> tuple[int, float]:
        return worker.stop(3 * END_S), time.monotonic() - began

    try:
        found = await asyncio.gather(*(asyncio.to_thread(stop, each) for each in workers))
    finally:
        for each in workers:
            each.kill()
    return dict(zip(ROLES, found, strict=True))


@pytest.mark.timeout(240)
async def test_workers_end_in_time_whatever_does_not_answer_and_nothing_is_lost(
    platform: Platform, load: Load, own_stack: LocalStack
) -> None:
    ids = await load.remember(1_000)
    workers = await running(platform)
    await until(lambda: load.decided(200), PATIENCE)
    well = await ended(workers)  # in the middle of a batch
    assert {role: code for role, (code, _) in well.items()} == dict.fromkeys(ROLES, 0)
    assert max(took for _, took in well.values()) < BUDGET_S, well

    ids += await load.remember(300)
    workers = await running(platform)
    own_stack.broker.pause()
    own_stack.redis_server.pause()
    try:
        hung = await ended(workers)
    finally:
        own_stack.broker.resume()
        own_stack.redis_server.resume()
    assert {role: code for role, (code, _) in hung.items()} == dict.fromkeys(ROLES, 0)
    assert max(took for _, took in hung.values()) < END_S, hung

    workers = await running(platform)
    try:
        await until(lambda: load.decided(len(ids)), PATIENCE)
        outcomes = Counter(each.header.command_id for each in await load.events() if not opens(each.fact))
        assert [each for each in ids if outcomes[each] != 1] == [], "each exactly once"
        await until(load.projected, PATIENCE)
    finally:
        for each in workers:
            each.kill()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("signalled", [signal.SIGTERM, signal.SIGINT])
async def test_a_worker_that_is_told_to_end_during_its_first_checks_ends_well(
    platform: Platform, own_stack: LocalStack, signalled: signal.Signals
) -> None:
    own_stack.broker.pause()
    try:
        worker = platform.start_worker("decide")
        try:
            await until(lambda: asks_kafka(worker, own_stack), PATIENCE)
            assert not worker.answers("healthz"), "it is not up yet"
            began = time.monotonic()
            code = await asyncio.to_thread(worker.stop, 3 * END_S, signalled)
            assert (code, worker.log.read_text()) == (0, "")
            assert time.monotonic() - began < BUDGET_S
        finally:
            worker.kill()
    finally:
        own_stack.broker.resume()


async def asks_kafka(worker: WorkerProcess, stack: LocalStack) -> bool:
    port = int(stack.kafka.rpartition(":")[2])
    connections = psutil.Process(worker.pid).net_connections("tcp")
    return any(each.raddr and each.raddr.port == port for each in connections)


def opens(fact: object) -> bool:
    return isinstance(fact, PartitionOpened)


def test_the_budget_covers_what_the_parts_wait_for() -> None:
    assert BUDGET_S < CLOSE_S < END_S < 30.0, "30 s is the grace period of the usual supervisors"
