"""A read model filled anew while it is used: proved, switched to, taken back, removed, or kept as of then."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.memory import Memory
from eunoe.operations.rebuilding import Rebuilding, RebuildRefused, Wishes, rebuilding
from eunoe.operations.restoring import restoring
from eunoe.readmodels.errors import BeingFilled, UnknownPlace
from eunoe.readmodels.rebuild.errors import AlreadyRebuilding, NoSuchGeneration, NotFound, NotTheSame
from eunoe.readmodels.rebuild.lease import leased
from eunoe.readmodels.rebuild.rebuilding import Rebuild
from eunoe.readmodels.recall.errors import BadScope, KeyStillUnknown
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings, SettingsError
from eunoe.schemas.ids import Offset, Partition, PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.topics import Topic
from eunoe.testing.waiting import until
from eunoe.worker.embedded import RunningServices, running_services
from eunoe.worker.roles import Role

TENANTS: Final = ("acme", "globex", "initech")
MODELS: Final = ("keys", "subjects", "outcomes", "history", "recall", "review")
WRITE: Final[dict[str, Any]] = {
    "agent": "bot",
    "purposes": ["support"],
    "source": {"kind": "user_explicit", "uri": "crm://1"},
    "ttl": "P30D",
}
ASK: Final[dict[str, Any]] = {"agent": "bot", "purpose": "support"}
SOON: Final = Wishes(patience=5.0)


@pytest.fixture
def officer(settings: Settings) -> Settings:
    return replace(settings, principal=PrincipalName("dev-officer"))


@asynccontextmanager
async def of(settings: Settings, model: str = "recall") -> AsyncIterator[Rebuilding]:
    async with rebuilding(settings, model, lambda _: None) as at:
        yield at


async def remember(memory: Memory, count: int, start: int = 0, tenants: Sequence[str] = TENANTS) -> list[Outcome]:
    outcomes = await asyncio.gather(
        *(
            memory.remember(
                f"Order {number} is a kettle in green.",
                tenant=tenants[number % len(tenants)],
                subject=f"customer-{number % 5}",
                **WRITE,
            )
            for number in range(start, start + count)
        )
    )
    await settled(memory, outcomes)
    return outcomes


async def settled(memory: Memory, outcomes: Sequence[Outcome]) -> None:
    """Readers see all of it."""
    for tenant in TENANTS:
        for token in {each.token for each in outcomes}:
            with contextlib.suppress(UnknownPlace):
                await memory.search("kettle", tenant=tenant, **ASK, after=token)


async def found(memory: Memory, tenant: str, **more: Any) -> set[str]:
    result = await memory.search("kettle", tenant=tenant, limit=100, **ASK, **more)
    return {each.statement for each in result.records}


async def keys_of(services: RunningServices, model: str, generation: int, start: str) -> list[bytes]:
    """Of this installation alone: one Redis serves the tests of a run."""
    installation = services.foundation.installation
    stems = [Prefix(installation.log_id, Partition(each), model, generation).key(start) for each in range(2)]
    return [key for stem in stems async for key in services.foundation.redis.scan_iter(match=f"{stem}*")]


async def serving(at: Rebuilding) -> Mapping[int, int]:
    return {prefix.partition: each.serving for prefix, each in (await at.places.generations()).items()}


async def ends(services: RunningServices) -> Mapping[str, int]:
    installation = services.foundation.installation
    topics = (Topic.EVENTS, Topic.LIFECYCLE, Topic.KEYS, Topic.ACCESS, Topic.RECEIPTS, Topic.DEAD_LETTERS)
    places = [TopicPartition(installation.topic(topic), each) for topic in topics for each in range(2)]
    consumer = AIOKafkaConsumer(bootstrap_servers=services.foundation.settings.kafka)
    await consumer.start()
    try:
        return {f"{place.topic}/{place.partition}": at for place, at in (await consumer.end_offsets(places)).items()}
    finally:
        await consumer.stop()


async def still(services: RunningServices) -> Mapping[str, int]:
    """As `ends`, once nothing has come for a second: a search leaves a trace, and asks for a key of the day for it."""
    told, since = await ends(services), time.monotonic()

    async def quiet() -> bool:
        nonlocal told, since
        if (now := await ends(services)) != told:
            told, since = now, time.monotonic()
        return time.monotonic() - since > 1.0

    await until(quiet)
    return told


async def test_each_model_is_rebuilt_proved_switched_and_taken_back(
    memory: Memory, officer: Settings, services: RunningServices
) -> None:
    outcomes = await remember(memory, 12)
    for number, model in enumerate(MODELS):
        await back_and_forth(memory, officer, services, model, outcomes, 100 + number)


async def back_and_forth(
    memory: Memory, officer: Settings, services: RunningServices, model: str, outcomes: Sequence[Outcome], number: int
) -> None:
    late = f"Order {number} is a kettle in green."
    before = {tenant: await found(memory, tenant) for tenant in TENANTS}
    quiet = await still(services)
    async with of(officer, model) as at:
        report = await at.rebuild(SOON)
        assert {each.partition for each in report.proofs} == {0, 1}
        assert sum(each.content.items for each in report.proofs) > 0 or model == "review"
        assert await serving(at) == {0: 2, 1: 2}
        assert await ends(services) == quiet, "a rebuild publishes nothing"
        assert {tenant: await found(memory, tenant) for tenant in TENANTS} == before
        assert (await memory.history("acme", outcomes[0].memory_id or "", **ASK)).entries
        assert await memory.outcome("acme", outcomes[0].command_id) == outcomes[0]
        await remember(memory, 1, number, ("acme",))
        assert late in await found(memory, "acme")
        with pytest.raises(NoSuchGeneration, match="generation 1 is still kept"):
            await at.rebuild(SOON)
        await at.roll_back()
        assert await serving(at) == {0: 1, 1: 1}
        assert late in await found(memory, "acme")
        removed = await at.remove("kept")
        assert removed.keys > 0 or model == "review"
        left = await keys_of(services, model, 2, "")
        assert all(key.endswith(b":watermark") for key in left)
        assert late in await found(memory, "acme")


async def test_readers_and_writers_notice_nothing(memory: Memory, officer: Settings) -> None:
    await remember(memory, 60)
    wanted = {tenant: await found(memory, tenant) for tenant in TENANTS}
    assert all(len(each) == 20 for each in wanted.values())
    asked, written, over = 0, 60, asyncio.Event()

    async def read() -> None:
        nonlocal asked
        while not over.is_set():
            for tenant in TENANTS:
                assert await found(memory, tenant) >= wanted[tenant]
                asked += 1

    async def write() -> None:
        nonlocal written
        # A search answers with a hundred at most, and has to find all of them in the end.
        while not over.is_set() and written < 3 * 100:
            await remember(memory, 3, written)
            written += 3

    async with of(officer) as at, asyncio.TaskGroup() as group:
        group.create_task(read())
        group.create_task(write())
        for _ in range(2):
            await at.rebuild(Wishes(patience=30.0))
            await at.roll_back()
            await at.roll_back()
            await at.remove("kept")
        over.set()
    assert asked > 50
    assert written > 60
    everything = set[str]().union(*[await found(memory, tenant) for tenant in TENANTS])
    assert len(everything) == written


async def test_a_difference_is_named_and_nothing_is_switched(
    memory: Memory, officer: Settings, services: RunningServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = (await remember(memory, 1, tenants=("acme",)))[0]
    redis, partition = services.foundation.redis, services.foundation.installation.partition_of(TenantId("acme"))
    async with of(officer, "history") as at:
        key = at.places.prefix(partition).key(f"memory:acme:{outcome.memory_id}")
        (field,) = await redis.hkeys(key)
        # What a projector's bug would leave: other content, and the digest of that.
        await services.models[0].foundation.redis.hset(at.places.prefix(partition).watermark, "digest", "1" * 36)
        await redis.hset(key, field, b"something else")
        with pytest.raises(NotTheSame, match="is different") as differs:
            await at.rebuild(replace(SOON, patience=1.0))
        assert differs.value.partition == partition
        assert [(each.key, each.how) for each in differs.value.found] == [
            (f"memory:acme:{outcome.memory_id}", "different")
        ]
        assert await serving(at) == {0: 1, 1: 1}
        # What is written while the two are compared, before workers fold into the new one too, is not lost to readers.
        late: list[Outcome] = []
        join = Rebuild.join

        async def write_and_join(rebuild: Rebuild, prefixes: Sequence[Prefix]) -> None:
            late.extend(await remember(memory, 1, 7, ("acme",)))

            async def folded() -> bool:
                return bool((await memory.history("acme", late[0].memory_id or "", **ASK)).entries)

            await until(folded, 20)
            await join(rebuild, [])

        monkeypatch.setattr(Rebuild, "join", write_and_join)
        report = await at.rebuild(replace(SOON, patience=10.0, accept=True))
        assert len(report.proofs) == 1
        assert await serving(at) == {0: 2, 1: 2}
    assert len((await memory.history("acme", late[0].memory_id or "", **ASK)).entries) == 1
    assert len((await memory.history("acme", outcome.memory_id or "", **ASK)).entries) == 1


async def test_records_that_are_not_found_by_their_words_stop_the_switch(
    memory: Memory, officer: Settings, services: RunningServices
) -> None:
    """The digest says nothing of postings: they are looked at by asking."""
    await remember(memory, 6)
    redis = services.foundation.redis
    async with of(officer) as at:
        await at.rebuild(replace(SOON, switch=False))
        await redis.delete(*await keys_of(services, "recall", 2, "t:"))
        with pytest.raises(NotFound, match="are not found by their own rarest words"):
            await at.rebuild(SOON)
        assert await serving(at) == {0: 1, 1: 1}
        await at.remove("building")
        assert (await at.rebuild(SOON)).switched[0].serving == 3


async def test_the_forgotten_stay_forgotten_and_an_unknown_key_stops(
    memory: Memory, officer: Settings, services: RunningServices
) -> None:
    await remember(memory, 10, tenants=("acme",))
    async with Memory.connect(officer) as privacy:
        gone = await privacy.forget_subject("customer-3", tenant="acme")
    assert len(await found(memory, "acme", after=gone.token)) == 8
    async with of(officer) as at:
        await at.rebuild(SOON)
        assert len(await found(memory, "acme")) == 8
        await at.remove("kept")
    async with of(officer) as at:
        client: Any = services.foundation.redis
        for key in await keys_of(services, "keys", 1, "subject:acme:"):
            for bucket, key_id in (await client.hgetall(key)).items():
                if bucket != b"root":
                    await client.delete(key.split(b":subject:")[0] + b":key:" + key_id)
        before = await serving(at)
        with pytest.raises(KeyStillUnknown):
            await at.rebuild(SOON)
        assert await serving(at) == before


async def test_as_of_then_nothing_later_leaks_in_but_who_is_forgotten_is_gone(
    memory: Memory, officer: Settings, services: RunningServices
) -> None:
    early = await remember(memory, 4, tenants=("acme",))
    position = max(int((each.token or "").rsplit(":", 1)[1]) for each in early)
    late = (await remember(memory, 1, 4, ("acme",)))[0]
    await memory.retract(early[1].memory_id or "", tenant="acme", expected_version=1)
    async with of(officer) as at:
        report = await at.rebuild(Wishes(until_offset=Offset(position)))
        assert {each.generation for each in report.frozen} == {2}
        assert await serving(at) == {0: 1, 1: 1}

        async def then() -> set[int]:
            return {int(each.split()[1]) for each in await found(memory, "acme", generation=2)}

        assert await then() == {0, 1, 2, 3}
        assert {int(each.split()[1]) for each in await found(memory, "acme", after=late.token)} == {0, 2, 3, 4}
        async with Memory.connect(officer) as privacy:
            await privacy.forget_subject("customer-2", tenant="acme")

        async def forgotten() -> bool:
            return await then() == {0, 1, 3}

        await until(forgotten)
        await remember(memory, 1, 7, ("acme",))
        assert await then() == {0, 1, 3}
        with pytest.raises(BadScope, match="of that number there is none; 1 serves"):
            await found(memory, "acme", generation=3)
        await at.remove_frozen(2)
        with pytest.raises(BadScope):
            await found(memory, "acme", generation=2)


async def test_one_rebuild_at_a_time_by_whoever_may_operate(
    memory: Memory, settings: Settings, officer: Settings, services: RunningServices
) -> None:
    async with of(officer) as at:
        async with leased(services.foundation.redis, at.places.prefix(0)):
            with pytest.raises(AlreadyRebuilding, match="being rebuilt by another process"):
                await at.rebuild(SOON)
        with pytest.raises(NoSuchGeneration, match="no generation from before the last switch"):
            await at.roll_back()
        with pytest.raises(NoSuchGeneration, match="being built"):
            await at.remove("building")
    async with of(settings) as at:
        with pytest.raises(RebuildRefused, match="dev-agent may not change what readers of recall"):
            await at.rebuild(SOON)
    async with of(replace(officer, control_key=None)) as at:
        with pytest.raises(SettingsError, match="a change of generation is one"):
            await at.rebuild(SOON)
    with pytest.raises(NoSuchGeneration, match="no such read model; there are history, keys"):
        async with of(officer, "recal"):
            pass


async def test_a_worker_that_starts_later_projects_what_serves(settings: Settings, officer: Settings) -> None:
    async with running_services(settings) as first, Memory.connect(settings) as memory:
        await first.ready()
        await remember(memory, 6)
        async with of(officer) as at:
            await at.rebuild(SOON)
    async with running_services(settings, frozenset({Role.PROJECT, Role.DECIDE})) as second:
        await second.ready()
        async with Memory.connect(settings) as memory:
            written = (await remember(memory, 1, 6, ("acme",)))[0]
            assert "Order 6 is a kettle in green." in await found(memory, "acme", after=written.token)
        recall = next(each for each in second.models if each.model.name == "recall")
        assert {partition: each.serving.generation for partition, each in recall.following.items()} == {0: 2, 1: 2}


async def test_after_redis_lost_everything_it_comes_back_and_says_how_far_it_is(
    settings: Settings, officer: Settings
) -> None:
    async with running_services(settings) as first, Memory.connect(settings) as memory:
        await first.ready()
        outcomes = await remember(memory, 12)
        before = {tenant: await found(memory, tenant) for tenant in TENANTS}
        async with of(officer) as at:
            await at.rebuild(SOON)
            held = {(each.partition, each.digest) for each in await at.status() if each.role == "serving"}
    log_id = first.foundation.installation.log_id
    async with Memory.connect(settings) as memory:
        redis = memory.reading.reader.redis
        async for key in redis.scan_iter(match=f"eunoe:{log_id}:*"):
            await redis.delete(key)
        with pytest.raises(BeingFilled, match="recall is being rebuilt from the log"):
            await found(memory, "acme")
        with pytest.raises(BeingFilled, match="history is being rebuilt"):
            await memory.history("acme", outcomes[0].memory_id or "", **ASK)
        told: list[str] = []
        async with restoring(settings, lambda model, _: told.append(model)) as restore:
            done = await restore.run()
        assert list(dict.fromkeys(told))[:2] == ["keys", "subjects"]
        assert {each.model for each in done} == set(MODELS)
        assert {tenant: await found(memory, tenant) for tenant in TENANTS} == before
        assert (await memory.history("acme", outcomes[0].memory_id or "", **ASK)).entries
        async with of(officer) as at:
            now = {(each.partition, each.digest) for each in await at.status() if each.role == "serving"}
        assert now == held
    async with running_services(settings) as second, Memory.connect(settings) as memory:
        await second.ready()
        assert len(await remember(memory, 3, 12)) == 3
