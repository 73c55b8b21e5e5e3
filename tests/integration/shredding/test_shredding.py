"""Forgetting on the real stack: tombstones, compaction, and nobody else's keys."""

from datetime import UTC, datetime, timedelta

from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.processors.shredding.issued import record_of
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.events import KeyIssued
from eunoe.schemas.keys import HEARTBEAT
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices
from shred_log import SCOPE, WHERE, forgotten, gone, held, key_values, log_of


async def test_a_forgotten_persons_keys_leave_the_log_and_nobody_elses(
    settings: Settings, memory: Memory, officer: Memory
) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await memory.remember("Prefers black tea.", subject="boris", **WHERE)
    await memory.remember("Has a sister who likes tea.", subject="carla", about=("anna",), **WHERE)
    before = await held(settings)
    keys = await forgotten(settings, officer, "anna")
    assert len(keys) >= 3, "root, month and the key of the record about her"
    assert keys < before

    await until(lambda: gone(settings, keys))
    assert await held(settings) == before - keys
    values = await key_values(settings)
    assert all(set(values.get(each, [])) <= {None} for each in keys)
    left = [each.statement for each in (await memory.search("tea", **SCOPE)).records]
    assert left == ["Prefers black tea."]


async def test_heartbeats_end_and_are_no_key_to_anybody(
    settings: Settings, memory: Memory, officer: Memory, services: RunningServices, redis: Redis
) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    keys = await forgotten(settings, officer, "anna")

    async def beaten() -> bool:
        return HEARTBEAT in await key_values(settings) and not keys & await held(settings)

    await until(beaten)
    prefix = f"eunoe:{services.foundation.installation.log_id}:"
    assert [each async for each in redis.scan_iter(f"{prefix}*keys*heartbeat*")] == []
    assert [each async for each in redis.scan_iter(f"{prefix}*shred*:todo")] == []


async def test_a_readmitted_persons_new_keys_stay(settings: Settings, memory: Memory, officer: Memory) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    old = await forgotten(settings, officer, "anna")
    await officer.readmit("anna", tenant="acme")
    outcome = await memory.remember("Prefers white tea.", subject="anna", **WHERE)
    assert outcome.status is OutcomeStatus.ACCEPTED

    await until(lambda: gone(settings, old))
    fresh = {each.fact.key_id for each in await log_of(settings) if isinstance(each.fact, KeyIssued)} - old
    assert fresh <= await held(settings)
    assert [each.statement for each in (await memory.search("tea", **SCOPE)).records] == ["Prefers white tea."]


async def test_what_a_hold_keeps_is_not_destroyed_with_somebody_elses_keys(
    settings: Settings, memory: Memory, officer: Memory
) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await memory.remember("Prefers black tea.", subject="carla", **WHERE)
    about = await memory.remember("Has a sister who likes tea.", subject="carla", about=("anna",), **WHERE)
    held_until = datetime.now(UTC) + timedelta(days=30)
    assert not (await officer.hold("anna", tenant="acme", review_at=held_until)).refused
    keys = await forgotten(settings, officer, "carla")
    events = await log_of(settings)
    (kept,) = (
        each.fact.key_id
        for each in events
        if isinstance(each.fact, KeyIssued) and record_of(each.fact) == about.memory_id
    )
    assert kept in keys
    await until(lambda: gone(settings, keys - {kept}))
    assert kept in await held(settings)


async def test_what_is_folded_can_be_folded_anew(
    settings: Settings, memory: Memory, officer: Memory, redis: Redis, installation: Installation
) -> None:
    """Redis loses the shredder's state: everything is found again in the log, and destroyed again at most."""
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await memory.remember("Prefers black tea.", subject="boris", **WHERE)
    keys = await forgotten(settings, officer, "anna")
    done = f"eunoe:{installation.log_id}:{{p0}}:shred:g1:done"

    async def destroyed() -> bool:
        return await redis.hlen(done) == 1

    await until(destroyed)
    names = [each async for each in redis.scan_iter(f"eunoe:{installation.log_id}:{{p0}}:shred*")]
    await redis.unlink(*names)
    await until(destroyed)
    await until(lambda: gone(settings, keys))
    assert [each.statement for each in (await memory.search("tea", **SCOPE)).records] == ["Prefers black tea."]
