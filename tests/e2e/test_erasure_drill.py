"""`eunoe drill erasure` passes on an installation that erases, and fails on one that leaks or does not erase."""

import asyncio
import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.operations.byte_search import REDIS
from eunoe.operations.drill_plan import Person, Plan, Step
from eunoe.operations.erasure_drill import drilling
from eunoe.schemas.ids import PrincipalName, SecretId, TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.stack.development import AGENT
from eunoe.testing.platform import Platform, install
from eunoe.worker.embedded import running_services

PROGRAM = Path(sys.executable).with_name("eunoe")
PLAN = Plan(tenant=TenantId("eunoe-drill"), officer=PrincipalName("dev-officer"), timeout=60.0)
NOWHERE = "the planted control is found, the canaries are nowhere"
STEPS = 16


@pytest.fixture
async def platform(
    kafka_bootstrap: str,
    redis_url: str,
    topic_names: TopicNames,
    kafka_log_directories: tuple[Path, ...],
    tmp_path: Path,
) -> AsyncIterator[Platform]:
    """With a worker of every role, and a broker whose segment files can be searched."""
    made = await install(kafka_bootstrap, redis_url, topic_names, tmp_path, partitions=1)
    settings = replace(
        made.settings, principal=PrincipalName(AGENT), kafka_log_dirs=kafka_log_directories, key_cache_age=500
    )
    async with running_services(settings) as running:
        await running.ready()
        yield replace(made, settings=settings)


async def rehearsed(platform: Platform, plan: Plan = PLAN, person: Person | None = None) -> list[Step]:
    async with drilling(platform.settings, plan) as drill:
        drill.person = person or drill.person
        return [step async for step in drill.run()]


async def test_it_passes_as_a_program_and_shows_no_canary(platform: Platform) -> None:
    folder = platform.directory / "logs"
    folder.mkdir()
    (folder / "worker.log").write_text("nothing of anybody")
    process = await _program(platform, "drill", "erasure", "--also", str(folder))
    document: dict[str, Any] = json.loads(process.stdout)
    assert (process.returncode, document["passed"]) == (0, True), process.stderr + process.stdout
    assert [step["ok"] for step in document["steps"]] == [True] * STEPS
    found = {step["step"]: step["found"] for step in document["steps"]}
    assert found["what was exported before is brought in: refused"] == "rejected: erased; standing as they were 1"
    assert "canary" not in process.stdout.replace("canaries", "") + process.stderr
    assert any("erasure ledger" in each for each in document["remains"])


async def test_it_finds_what_leaks_as_a_digest_and_says_where(platform: Platform, redis_client: Redis) -> None:
    person = Person()
    key = f"eunoe:{platform.installation.log_id}:leak"
    await redis_client.set(key, b"..." + hashlib.sha256(person.line["statement"].encode()).digest())
    steps = {each.name: each for each in await rehearsed(platform, person=person)}
    assert len(steps) == STEPS
    assert [name for name, each in steps.items() if not each.ok] == [NOWHERE]
    assert "1 of 7 plaintexts found; " in steps[NOWHERE].found
    assert steps[NOWHERE].found.endswith(f"found in: {REDIS}")
    assert person.word not in steps[NOWHERE].found


async def test_who_may_not_erase_fails_it_and_the_rest_is_not_done(platform: Platform) -> None:
    steps = await rehearsed(platform, replace(PLAN, officer=PrincipalName(AGENT)))
    assert [each.ok for each in steps] == [True, True, True, False, *[None] * (STEPS - 5), False]
    assert steps[2].found.startswith("left out: the export is refused: not_allowed")
    assert steps[3].found == "only asked for: the officer may not erase"
    assert steps[-1].found.endswith("; what was written ends by itself in a day")


async def test_a_receipt_of_another_signer_does_not_count(platform: Platform) -> None:
    foreign = base64.b64encode(Ed25519Signer(SecretId("other"), bytes(range(32))).verifier().public).decode()
    steps = await rehearsed(platform, replace(PLAN, key=foreign))
    assert [(each.name, each.found.partition(":")[0]) for each in steps if not each.ok] == [
        ("the receipts are what was signed", "the signature does not fit")
    ]


async def _program(platform: Platform, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [str(PROGRAM), *arguments, "--json"],
        env={**platform.environ, "COLUMNS": "200"},
        cwd=platform.directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
