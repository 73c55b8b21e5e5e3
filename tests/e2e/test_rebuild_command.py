"""`eunoe rebuild` as an operator runs it: killed wherever it may be, under another clock, beside live workers."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import Platform, WorkerProcess, install, workers

LINES: Final = 600
KILLS: Final = 10
_SECONDS: Final = 120
SEED: Final = int(os.environ.get("EUNOE_TEST_SEED", "7"))


@pytest.fixture
async def platform(kafka_bootstrap: str, redis_url: str, topic_names: TopicNames, tmp_path: Path) -> Platform:
    return await install(kafka_bootstrap, redis_url, topic_names, tmp_path)


def start(platform: Platform, *arguments: str, environ: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    who = "dev-officer" if arguments[0] in ("rebuild", "forget") else "dev-agent"
    return subprocess.Popen(
        [sys.executable, "-m", "eunoe.cli.main", *arguments, "--as", who, "--json"],
        env={**platform.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def done(platform: Platform, *arguments: str, environ: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    process = start(platform, *arguments, environ=environ)
    out, problem = process.communicate(timeout=_SECONDS)
    assert process.returncode == 0, problem.decode()
    document: Mapping[str, Any] = json.loads(out)
    return document


def written(folder: Path) -> Path:
    file = folder / "lines.jsonl"
    with file.open("w") as lines:
        for number in range(LINES):
            line = {
                "op": "remember",
                "tenant": ("acme", "globex", "initech")[number % 3],
                "agent": "bot",
                "subject": f"customer-{number % 11}",
                "purposes": ["support"],
                "statement": f"Order {number} is a kettle in green.",
                "source": {"kind": "user_explicit", "uri": "crm://1"},
                "ttl": "P30D",
            }
            print(json.dumps(line), file=lines)
    return file


def started(*running: WorkerProcess) -> None:
    """All of them are ready: nobody else counts the time that a start takes on a busy machine."""
    deadline = time.monotonic() + _SECONDS
    for each in running:
        while not each.answers("readyz"):
            assert time.monotonic() < deadline, each.problems()
            time.sleep(0.1)


def digests(rows: Sequence[Mapping[str, Any]], role: str) -> Mapping[int, tuple[int, str]]:
    return {each["partition"]: (each["items"], each["digest"]) for each in rows if each["role"] == role}


def killed_after(platform: Platform, seconds: float, *arguments: str) -> bool:
    """Whether it was killed; False where it had come to its end before."""
    process = start(platform, *arguments)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    return False


def test_killed_anywhere_it_goes_on_and_ends_with_the_same_digest(platform: Platform) -> None:
    chance = random.Random(SEED)
    with workers(platform, 1, "project,attest") as some, workers(platform, 1, "decide,shred") as others:
        started(*some, *others)
        ingested = done(platform, "ingest", str(written(platform.directory)))
        assert ingested["accepted"] == LINES
        done(platform, "forget", "--tenant", "acme", "--subject", "customer-3", "--until", "logical")
        killed = 0
        for _ in range(KILLS):
            arguments = ("rebuild", "recall", "--rate", "150", "--no-switch")
            killed += killed_after(platform, chance.uniform(0.4, 2.5), *arguments)
        assert killed >= KILLS // 2
        begun = done(platform, "rebuild", "recall", "--status")["generations"]
        assert {each["generation"] for each in begun} <= {1, 2}
        elsewhere = {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "4242"}
        # A worker that joins and one that is killed take partitions from each other meanwhile (S17).
        with workers(platform, 1, "project"):
            report = done(platform, "rebuild", "recall", environ=elsewhere)
        assert {each["partition"] for each in report["switched"]} == {0, 1}
        rows = done(platform, "rebuild", "recall", "--status")["generations"]
        assert digests(rows, "serving") == digests(rows, "kept")
        assert sum(items for items, _ in digests(rows, "serving").values()) > LINES * 0.8
        scope = ("--tenant", "globex", "--agent", "bot", "--purpose", "support", "--limit", "100")
        found = done(platform, "search", "kettle", *scope)
        assert len(found["records"]) == 100
