"""A person is forgotten, and nothing brings them back: one story, from writing to the restore of what was before."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_until
from eunoe.operations.byte_patterns import Wanted
from eunoe.operations.byte_search import search_bytes
from eunoe.operations.drill_places import places_of, sealed_bodies
from eunoe.operations.forgetting_again import forget_again
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.readmodels.recall.result import RecalledMemory
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import MemoryId, PrincipalName, TenantId
from eunoe.schemas.receipts import Stage
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT
from eunoe.testing.platform import Platform, install
from eunoe.worker.embedded import running_services
from eunoe.worker.older_log import OlderLog
from restored_log import another_database, put_back, redis_backup, restored, topics_backup

SEARCHING = Path(__file__).resolve().parents[1] / "searching_process.py"
PEOPLE = [(tenant, subject) for tenant in ("acme", "globex") for subject in ("anna", "boris")]
GONE, *OTHERS = PEOPLE
WHERE: dict[str, Any] = {
    "agent": "bot",
    "purposes": ["support"],
    "source": {"kind": "user_explicit", "uri": "crm://canary-source-of-a-ticket"},
    "ttl": "P30D",
}


def word(person: tuple[str, str]) -> str:
    return f"canary{'x'.join(person)}word"


def statement(person: tuple[str, str]) -> str:
    return f"The {word(person)} is what they said in confidence."


def scope(person: tuple[str, str]) -> dict[str, Any]:
    return {"tenant": person[0], "agent": "bot", "purpose": "support"}


@dataclass(slots=True)
class Other:
    """Another process that searches."""

    process: asyncio.subprocess.Process
    token: dict[str, str | None] = field(default_factory=dict)
    written: dict[tuple[str, str], MemoryId] = field(default_factory=dict)

    async def line(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(30.0):
            return (await self.process.stdout.readline()).decode().strip()

    async def finds(self, person: tuple[str, str]) -> bool:
        assert self.process.stdin is not None
        asked = {"query": word(person), "after": self.token[person[0]], **scope(person)}
        self.process.stdin.write(json.dumps(asked).encode() + b"\n")
        return self.written[person] in json.loads(await self.line())


@asynccontextmanager
async def another_process(platform: Platform) -> AsyncIterator[Other]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SEARCHING)),
        env=platform.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        other = Other(process)
        assert await other.line() == "ready"
        yield other
    finally:
        process.kill()
        await process.wait()


@dataclass(slots=True, kw_only=True)
class Story:
    settings: Settings
    memory: Memory
    other: Other
    token: dict[str, str | None]
    written: dict[tuple[str, str], MemoryId]

    async def found(self, person: tuple[str, str]) -> RecalledMemory | None:
        result = await self.memory.search(word(person), after=self.token[person[0]], timeout=20.0, **scope(person))
        return next((each for each in result.records if each.memory_id == self.written[person]), None)

    async def write(self) -> None:
        for person in PEOPLE:
            outcome = await self.memory.remember(statement(person), tenant=person[0], subject=person[1], **WHERE)
            assert outcome.memory_id is not None, outcome
            self.written[person], self.token[person[0]] = outcome.memory_id, outcome.token

    async def absent(self) -> None:
        """The one is found by nobody, in no way of asking, and all the others are."""
        assert await self.found(GONE) is None
        assert not await self.other.finds(GONE)
        shown = await self.memory.inspect(subject="anna", **scope(GONE))
        assert shown.records == ()
        for person in OTHERS:
            assert await self.found(person) is not None
            assert await self.other.finds(person)

    async def others(self) -> list[tuple[Any, ...]]:
        """All of theirs but what depends on the time of asking, with the sealed bytes on the log."""
        found = []
        for person in OTHERS:
            record, memory_id = await self.found(person), self.written[person]
            assert record is not None
            tenant = TenantId(person[0])
            bodies = await sealed_bodies(self.settings, self.memory.installation, tenant, frozenset({memory_id}))
            found.append((replace(record, score=0.0, terms=(), reasons=()), bodies[memory_id]))
        return found

    async def nowhere(self, redis: Redis) -> None:
        """No canary in any byte that can be reached; a planted one is found."""
        where, _ = await places_of(self.settings, self.memory.installation, redis, ())
        texts = [*map(statement, PEOPLE), *map(word, PEOPLE), WHERE["source"]["uri"]]
        searched = await search_bytes(where, [Wanted("canary", each) for each in texts], ())
        assert searched.clean, searched.conclusion


@pytest.fixture
async def settings(
    kafka_bootstrap: str,
    redis_url: str,
    topic_names: TopicNames,
    kafka_log_directories: tuple[Path, ...],
    tmp_path: Path,
) -> Settings:
    made = await install(kafka_bootstrap, redis_url, topic_names, tmp_path, partitions=1)
    return replace(
        made.settings, principal=PrincipalName(AGENT), kafka_log_dirs=kafka_log_directories, key_cache_age=500
    )


@pytest.mark.timeout(600)
async def test_nothing_brings_a_forgotten_person_back(
    settings: Settings, redis_client: Redis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    officers = replace(settings, principal=PrincipalName("dev-officer"))
    async with Memory.connect(settings) as memory, Memory.connect(officers) as officer:
        platform = Platform(settings, memory.installation, tmp_path)
        async with another_process(platform) as other:
            story = Story(settings=settings, memory=memory, other=other, token=other.token, written=other.written)
            async with running_services(settings) as running:
                await running.ready()
                await story.write()
                assert await story.found(GONE) is not None, "the control"
                assert await other.finds(GONE), "the control, and warm"
                before = await story.others()
                exported = await officer.export_tenant(tenant="acme", identity_checked="contract")
                old_redis = await redis_backup(redis_client, memory.installation.log_id)
                old_topics = await topics_backup(settings)

                outcome = await officer.forget_subject("anna", tenant="acme")
                story.token["acme"] = outcome.token
                await story.absent()
                await story.nowhere(redis_client)

                again = await memory.remember(statement(GONE), tenant="acme", subject="anna", **WHERE)
                assert again.reason == "subject_closed"
                await story.absent()

                requests = [outcome.command_id]
                receipts = await receipts_until(
                    settings, memory.installation, TenantId("acme"), requests, Stage.SCANNED, 60.0
                )
                assert Stage.SCANNED in {json.loads(each.body)["stage"] for each in receipts}
                await story.absent()
                await story.nowhere(redis_client)

                async with rebuilding(officers, "recall", lambda _: None) as at:
                    await at.rebuild(Wishes(patience=30.0))
                await story.absent()

                report = await officer.import_file(exported.content, tenant="acme")
                assert report.refused_records[story.written[GONE]] == "erased"
                await story.absent()

            await put_back(redis_client, memory.installation.log_id, old_redis)
            async with running_services(settings) as running:
                await running.ready()
                await story.absent()
                assert await story.others() == before, "byte for byte"
                assert "canary" not in caplog.text + repr(list(running.readings()))

            there = await restored(officers, old_topics)
            async with another_database(there, memory.installation.log_id, {}) as apart:
                with pytest.raises(OlderLog):
                    async with running_services(apart):
                        pass
                assert (await forget_again(apart, empty_redis=False)).forgotten == 1
                async with running_services(apart) as running, Memory.connect(apart) as reading:
                    await running.ready()
                    for person in PEOPLE:
                        found = await reading.search(word(person), **scope(person))
                        ids = [each.memory_id for each in found.records]
                        assert (story.written[person] in ids) is (person != GONE), person
