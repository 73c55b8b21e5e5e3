"""Everything folded anew from offset 0 when destroyed keys are really gone: erased stays erased, unknown stops."""

from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.events import KeyIssued
from eunoe.schemas.ids import KeyId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.testing.crashing import flush_installation
from eunoe.testing.projections import contents, differences
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices, running_services
from shred_log import SCOPE, WHERE, forgotten, gone, log_of

MODELS = ("subjects", "history", "recall", "review")
"""Not outcomes: a search asks for the key of its day whenever it likes."""


async def own_key(settings: Settings, memory_id: str | None) -> KeyId:
    for each in await log_of(settings):
        if isinstance(each.fact, KeyIssued) and each.fact.bucket == memory_id:
            return each.fact.key_id
    raise AssertionError("the record has no key of its own")


async def caught_up(services: RunningServices) -> bool:
    lanes = [lane for model in services.models for lane in model.running.values()]
    return len(lanes) == len(services.models) and all(lane.behind == 0 for lane in lanes)


async def positions(redis: Redis, installation: Installation) -> dict[bytes, int]:
    """Of what is folded all the time: the ledger catches up with its next command."""
    found = [each async for each in redis.scan_iter(f"eunoe:{installation.log_id}:*:watermark")]
    names = [each for each in found if b":ledger:" not in each]
    return {each: int(await redis.hget(each, "position") or 0) for each in names}


async def rebuilt(services: RunningServices, redis: Redis, installation: Installation) -> None:
    """Redis loses everything at one moment; the running lanes fill it again from the log."""
    await until(lambda: caught_up(services))
    before = await positions(redis, installation)
    await flush_installation(redis, installation.log_id)

    async def again() -> bool:
        now = await positions(redis, installation)
        return all(now.get(each, 0) >= position for each, position in before.items()) and not services.problems()

    await until(again)


async def test_what_is_folded_from_the_start_is_what_was_live(
    settings: Settings,
    memory: Memory,
    officer: Memory,
    services: RunningServices,
    redis: Redis,
    installation: Installation,
) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await memory.remember("Prefers black tea.", subject="boris", **WHERE)
    await memory.remember("Has a sister who likes tea.", subject="carla", about=("anna",), **WHERE)
    single = await memory.remember("Drinks tea with a friend.", subject="carla", about=("boris",), **WHERE)
    assert single.memory_id is not None
    one = await own_key(settings, single.memory_id)
    await officer.forget_memory(single.memory_id, tenant="acme")
    keys = await forgotten(settings, officer, "anna") | {one}
    await until(lambda: gone(settings, keys))
    expected = [each.statement for each in (await memory.search("tea", **SCOPE)).records]
    assert expected == ["Prefers black tea."]

    async def swept() -> bool:
        return not [each async for each in redis.scan_iter(f"eunoe:{installation.log_id}:*recall*:x*")]

    await until(swept)
    before = await contents(redis, installation.log_id, MODELS)
    await rebuilt(services, redis, installation)
    await until(swept)
    after = await contents(redis, installation.log_id, MODELS)
    assert differences(before, after) == []
    assert [each.statement for each in (await memory.search("tea", **SCOPE)).records] == expected


async def test_the_decider_goes_on_after_folding_anew(
    settings: Settings,
    memory: Memory,
    officer: Memory,
    services: RunningServices,
    redis: Redis,
    installation: Installation,
) -> None:
    await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    await until_gone(settings, officer, "anna")
    await rebuilt(services, redis, installation)
    refused = await memory.remember("Prefers green tea.", subject="anna", **WHERE)
    assert (refused.status, refused.reason) == (OutcomeStatus.REJECTED, "subject_closed")
    taken = await memory.remember("Prefers black tea.", subject="boris", **WHERE)
    assert taken.status is OutcomeStatus.ACCEPTED


async def until_gone(settings: Settings, officer: Memory, subject: str) -> None:
    keys = await forgotten(settings, officer, subject)
    await until(lambda: gone(settings, keys))


async def test_a_key_that_is_missing_for_no_reason_stops_the_fold(
    settings: Settings, redis: Redis, installation: Installation
) -> None:
    """The positive control: the log says that all are open. The key is gone, and it is not taken for erased."""
    async with running_services(settings) as services, Memory.connect(settings) as memory:
        await services.ready()
        kept = await memory.remember("Prefers green tea.", subject="anna", about=("boris",), **WHERE)
        assert kept.status is OutcomeStatus.ACCEPTED
        key = await own_key(settings, kept.memory_id)
        await until(lambda: caught_up(services))
    prefix = f"eunoe:{installation.log_id}:{{p0}}"
    assert await redis.unlink(f"{prefix}:keys:g1:key:{key}") == 1  # as if the topic of keys had lost it
    await redis.unlink(*[name async for name in redis.scan_iter(f"{prefix}:recall:*")])
    async with running_services(settings) as services:
        await until(lambda: stopped(services, key))


async def stopped(services: RunningServices, key: KeyId) -> bool:
    return any(each.startswith("recall") and "stalled" in each and key in each for each in services.problems())
