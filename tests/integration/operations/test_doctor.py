"""The doctor finds every fault that is planted, says what to do, repairs what is safe, and finds nothing otherwise."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_until
from eunoe.operations.doctor import visiting
from eunoe.operations.doctor_finding import Checked
from eunoe.readmodels.recall.keys import MODEL, Member
from eunoe.runtime.clock import ManualClock, SystemClock
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Watermark
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import KEY_RECORDS
from eunoe.schemas.ids import KeyId, Millis, Partition, PrincipalName, Pseudonym, TenantId, new_id
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.receipts import BY_ITSELF, Stage
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.stack.development import AGENT
from eunoe.testing.platform import Platform, install
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import ALL, Role

ACME: Final = TenantId("acme")
SCOPE: Final = {"tenant": "acme", "agent": "bot", "purpose": "support"}
SAME: Final = "every record is in recall what its history says"
DIGESTS: Final = "every read model holds what its digest says"
HELD: Final = (SAME, DIGESTS)
DOCUMENTS = "every document in recall has a live record"
ENTRIES = "every entry of recall's indexes has its document"
COUNTS = "every scope of recall counts its records"
LACKING = "every live record is in recall"
STRANGERS = "every key belongs to somebody whom the log knows"
LEFT = "no key of a forgotten person or tenant is left"
STORED = "Redis holds no destroyed key"
RECEIPTS = "every erasure has its receipts"
TOPICS = "topics are set as they must be"
AHEAD = "no fold is ahead of its log"
BEHIND = "no fold is behind for over a minute"
HOUR: Final = 3_600_000


@pytest.fixture
async def platform(
    kafka_bootstrap: str,
    redis_url: str,
    topic_names: TopicNames,
    kafka_log_directories: tuple[Path, ...],
    tmp_path: Path,
) -> Platform:
    made = await install(kafka_bootstrap, redis_url, topic_names, tmp_path, partitions=1)
    agent = PrincipalName(AGENT)
    return replace(
        made,
        settings=replace(made.settings, principal=agent, kafka_log_dirs=kafka_log_directories, key_cache_age=500),
    )


@asynccontextmanager
async def clients(platform: Platform, roles: frozenset[Role] = ALL) -> AsyncIterator[tuple[Memory, Memory]]:
    """A worker, and an agent's and an officer's clients."""
    officer = replace(platform.settings, principal=PrincipalName("dev-officer"))
    async with (
        running_services(platform.settings, roles) as running,
        Memory.connect(platform.settings) as agent,
        Memory.connect(officer) as erasing,
    ):
        await running.ready()
        yield agent, erasing


async def remember(memory: Memory, subject: str, statement: str) -> Any:
    outcome = await memory.remember(
        statement,
        tenant="acme",
        agent="bot",
        purposes=["support"],
        subject=subject,
        source={"kind": "user_explicit", "uri": f"crm://{subject}"},
        ttl="P30D",
    )
    assert outcome.memory_id is not None
    await memory.search("anything", after=outcome.token, **SCOPE)
    return outcome


async def examined(settings: Settings, later: int = 0) -> dict[str, Checked]:
    clock = ManualClock(Millis(SystemClock().now() + later))
    async with visiting(settings, clock) as doctor:
        return {each.name: each for each in await doctor.examine()}


def found(checks: dict[str, Checked]) -> set[str]:
    return {name for name, each in checks.items() if each.findings}


def prefix_of(platform: Platform, model: str = MODEL) -> Prefix:
    return Prefix(platform.installation.log_id, Partition(0), model)


def program(platform: Platform, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "eunoe.cli.main", "doctor", "--json", *arguments],
        env=platform.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


async def test_after_writing_and_forgetting_it_looks_at_everything_and_finds_nothing(platform: Platform) -> None:
    async with clients(platform) as (memory, officer):
        for name in ("anna", "bruno"):
            await remember(memory, name, f"{name} prefers deliveries before noon.")
        forgotten = await officer.forget_subject("anna", tenant="acme")
        where = (platform.settings, platform.installation, ACME, [forgotten.command_id])
        assert len(await receipts_until(*where, Stage.SCANNED, 60.0)) == len(BY_ITSELF)
        checks = await examined(platform.settings, later=HOUR)
    assert found(checks) == set()
    for name in (
        DOCUMENTS,
        ENTRIES,
        COUNTS,
        LACKING,
        STRANGERS,
        LEFT,
        STORED,
        RECEIPTS,
        TOPICS,
        AHEAD,
        BEHIND,
        SAME,
        DIGESTS,
    ):
        assert checks[name].examined > 0, f"{name}: looked at nothing"


async def test_beside_writers_it_finds_nothing(platform: Platform) -> None:
    async with clients(platform) as (memory, officer):
        await remember(memory, "anna", "Prefers deliveries before noon.")
        stop = asyncio.Event()

        async def busy(name: str) -> int:
            made = 0
            while not stop.is_set():
                outcome = await remember(memory, f"{name}-{made}", f"{name} wants parcel {made} at the back door.")
                if made % 3 == 1:
                    await memory.retract(outcome.memory_id, tenant="acme", expected_version=1)
                if made % 3 == 2:
                    await officer.forget_subject(f"{name}-{made}", tenant="acme")
                made += 1
            return made

        writers = [asyncio.create_task(busy(f"writer-{number}")) for number in range(4)]
        looks = [await examined(platform.settings) for _ in range(4)]
        stop.set()
        written = await asyncio.gather(*writers)
    assert min(written) > 3, "all kinds of change happened meanwhile"
    assert looks[-1][DOCUMENTS].examined > looks[0][DOCUMENTS].examined
    assert [found(each) for each in looks] == [set()] * 4


async def test_what_was_written_past_the_projectors_is_found(platform: Platform, redis_client: Redis) -> None:
    redis: Any = redis_client
    history = prefix_of(platform, "history")
    async with clients(platform) as (memory, _):
        anna = await remember(memory, "anna", "Prefers deliveries before noon.")
        await memory.confirm(anna.memory_id, tenant="acme", expected_version=1)
        await remember(memory, "bruno", "Pays by invoice, always.")
        assert not found(await examined(platform.settings))
        key = history.key(f"memory:acme:{anna.memory_id}")
        fields = sorted(await redis.hkeys(key), key=int)
        last = await redis.hget(key, fields[-1])
        await redis.hdel(key, fields[-1])
        checks = await examined(platform.settings)
        assert found(checks) == {SAME, DIGESTS}
        assert [each.where for each in checks[DIGESTS].findings] == ["history[0] generation 1"]
        assert anna.memory_id in checks[SAME].findings[0].what
        await redis.hset(key, fields[-1], last)
        assert not found(await examined(platform.settings))


async def test_orphans_in_recall_are_found_repaired_and_nothing_else_is_touched(
    platform: Platform, redis_client: Redis
) -> None:
    redis: Any = redis_client
    prefix = prefix_of(platform)
    async with clients(platform) as (memory, _):
        kept = await remember(memory, "anna", "Prefers deliveries before noon.")
        gone = await remember(memory, "bruno", "Pays by invoice, always.")
        ids = await redis.hgetall(prefix.key("i:acme"))
        before = {number: await redis.get(prefix.key(f"d:{int(number)}")) for number in ids.values()}
        done = await memory.retract(gone.memory_id, tenant="acme", expected_version=1)
        await memory.search("anything", after=done.token, **SCOPE)
        assert not found(await examined(platform.settings))

        (lost,) = {int(each) for each in ids.values()} - {int(each) for each in await redis.hvals(prefix.key("i:acme"))}
        (live,) = {int(each) for each in ids.values()} - {lost}
        await redis.set(prefix.key(f"d:{lost}"), before[str(lost).encode()])  # came back, without its entries
        await redis.set(prefix.key("d:900001"), before[str(live).encode()])  # of no record at all
        posting, *_ = [each async for each in redis.scan_iter(match=f"{prefix}t:*", count=1_000)]
        member = (await redis.zrange(posting, 0, 0))[0]
        stray = replace(Member.unpack(member), number=900_002).pack()
        await redis.zadd(posting, {stray: 1})
        await redis.sadd(prefix.key("s:acme:nobody:1"), 900_003)
        await redis.hset(prefix.key("i:acme"), b"0123456789abcdef", 900_004)

        checks = await examined(platform.settings)
        assert found(checks) == {DOCUMENTS, ENTRIES, DIGESTS}
        assert checks[DOCUMENTS].findings[0].what.endswith(f": {lost}, 900001")
        assert checks[ENTRIES].findings[0].what.endswith(": 900002, 900003, 900004")
        assert all("--repair" in each.findings[0].todo for each in (checks[DOCUMENTS], checks[ENTRIES]))

        code, document = await asyncio.to_thread(program, platform)
        assert (code, document["clean"], document["repaired"]) == (1, False, 0)
        code, document = await asyncio.to_thread(program, platform, "--repair")
        assert (code, document["clean"]) == (0, True), document
        assert document["repaired"] >= 5
        assert await redis.get(prefix.key(f"d:{live}")) == before[str(live).encode()]
        assert await redis.zrange(posting, 0, -1) == [member]
        assert [int(await redis.get(each)) async for each in redis.scan_iter(match=f"{prefix}n:*", count=1_000)] == [1]
        result = await memory.search("deliveries before noon", **SCOPE)
        assert [each.memory_id for each in result.records] == [kept.memory_id]

        (scope,) = [each async for each in redis.scan_iter(match=f"{prefix}n:*", count=1_000)]
        await redis.set(scope, 7)
        checks = await examined(platform.settings)
        assert found(checks) == {COUNTS}
        code, document = await asyncio.to_thread(program, platform, "--repair")
        assert (code, document["repaired"], int(await redis.get(scope))) == (0, 1, 1)

        await redis.unlink(prefix.key(f"d:{live}"))
        checks = await examined(platform.settings)
        assert found(checks) == {ENTRIES, LACKING, COUNTS, SAME, DIGESTS}
        assert checks[LACKING].findings[0].what.endswith(f": {live}")


async def test_keys_left_receipts_missing_and_folds_that_do_not_run_are_found(platform: Platform) -> None:
    async with clients(platform, frozenset({Role.DECIDE, Role.PROJECT})) as (memory, officer):
        await remember(memory, "anna", "Prefers deliveries before noon.")
        await officer.forget_subject("anna", tenant="acme")
        assert found(await examined(platform.settings)) == {BEHIND}, "in time, but nobody shreds or attests"
        checks = await examined(platform.settings, later=HOUR)
        assert found(checks) == {BEHIND, LEFT, RECEIPTS}
    assert {each.where for each in checks[BEHIND].findings} == {"shred[0]", "shred-letters[0]", "attest[0]"}
    assert "no receipt of logical, compacted, scanned" in checks[RECEIPTS].findings[0].what
    assert "role shred" in checks[LEFT].findings[0].todo


async def test_strange_and_destroyed_keys_and_a_fold_ahead_of_its_log_are_found(
    platform: Platform, redis_client: Redis
) -> None:
    redis: Any = redis_client
    strange, destroyed = KeyId(new_id()), KeyId(new_id())
    async with clients(platform) as (memory, _):
        await remember(memory, "anna", "Prefers deliveries before noon.")
        assert not found(await examined(platform.settings))
        records = [_key(platform, each) for each in (strange, destroyed)]
        await send(platform, [(each.key_id, KEY_RECORDS.encode(each)) for each in records] + [(destroyed, None)])
        stored = prefix_of(platform, "keys").key(f"key:{destroyed}")

        async def gone() -> bool:
            return (await redis.get(stored) or b"").startswith(b"gone:")

        await until(gone)
        await redis.set(stored, KEY_RECORDS.encode(records[1]))
        checks = await examined(platform.settings)
        assert found(checks) == {STRANGERS, STORED, DIGESTS}
        assert strange in checks[STRANGERS].findings[0].what
        assert destroyed in checks[STORED].findings[0].what

    history = prefix_of(platform, "history")
    position = await Watermark(redis_client, history).position()
    await redis.hset(history.watermark, "position", position + 1_000)
    checks = await examined(replace(platform.settings, keys_segment=600_000))
    assert found(checks) == {STRANGERS, STORED, AHEAD, TOPICS, DIGESTS}
    assert checks[AHEAD].findings[0].where == "history[0]"
    assert checks[TOPICS].findings[0].what == "segment.ms is 2000, wanted 600000"


def _key(platform: Platform, key_id: KeyId) -> KeyRecord:
    return KeyRecord(
        log_id=platform.installation.log_id,
        key_id=key_id,
        kind="data",
        tenant=ACME,
        incarnation=1,
        subject=Pseudonym("ab" * 16),
        generation=1,
        bucket=None,
        wrapped_by="nobody",
        wrapped=bytes(60),
        created_at=Millis(1),
    )


async def send(platform: Platform, records: list[tuple[KeyId, bytes | None]]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=platform.settings.kafka, acks="all")
    await producer.start()
    try:
        topic = platform.installation.topic(Topic.KEYS)
        for key_id, value in records:
            await producer.send_and_wait(topic, value, key=key_id.encode(), partition=0)
    finally:
        await producer.stop()
