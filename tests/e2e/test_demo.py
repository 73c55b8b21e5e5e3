"""`eunoe demo` as anybody calls it, and the byte search that it ends with, which must find what is really there."""

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from redis.asyncio import Redis

from eunoe.operations.byte_patterns import Wanted
from eunoe.operations.byte_search import RECORDS, REDIS, REDIS_FILES, SEGMENTS, Where, search_bytes
from eunoe.runtime.kafka import topic_admin
from eunoe.stack.probes import wait_until
from eunoe.stack.processes import ProcessRecord, is_running
from eunoe.stack.provider import Endpoints
from eunoe.testing.waiting import until

PROGRAM = Path(sys.executable).with_name("eunoe")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support"
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background of a shell
from eunoe.cli.main import main
main(["demo"])
"""
SECRET = "Maren Lindholm wants parcels delivered after 18:00."


def environ(**over: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EUNOE_")}
    if "EUNOE_CACHE" in os.environ:
        kept["EUNOE_CACHE"] = os.environ["EUNOE_CACHE"]
    return {**kept, **over}


def demo(*arguments: str, **where: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a demo."""
    done = subprocess.run(
        [str(PROGRAM), "demo", "--json", *arguments],
        env=environ(**where),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def on(stack: Endpoints) -> dict[str, str]:
    return {"EUNOE_KAFKA": stack.kafka, "EUNOE_REDIS": stack.redis}


def two_chapters(folder: Path, old: str = "", new: str = "") -> Path:
    """The beginning of the example, with ``old`` replaced by ``new``."""
    shutil.copytree(EXAMPLE, folder)
    script = folder / "scenario.toml"
    head, first, second, *_ = script.read_text("utf-8").split("[[chapter]]")
    text = "[[chapter]]".join((head, first, second))
    assert old in text
    script.write_text(text.replace(old, new), "utf-8")
    return folder


async def left_behind(stack: Endpoints, prefix: str) -> list[str]:
    """Topics and Redis keys of one demo."""
    async with topic_admin(stack.kafka) as admin:
        topics = [name for name in await admin.partition_counts() if name.startswith(prefix)]
    async with Redis.from_url(stack.redis) as redis:
        return topics + [key.decode() async for key in redis.scan_iter(match=f"eunoe:installation:{prefix}*")]


async def test_the_demo_goes_as_expected_and_leaves_nothing_behind(stack: Endpoints) -> None:
    code, document = demo(**on(stack))
    assert [step for step in document["steps"] if not step["ok"]] == []
    assert (code, document["passed"]) == (0, True)
    seen = [step["seen"] for step in document["steps"]]
    assert {"status": "quarantined", "reason": "untrusted_source", "version": 1, "memory": "mail-address"} in seen
    assert any(each.get("skipped") == ["tent-long"] for each in seen)
    assert {"status": "duplicate", "version": 1, "memory": "tobias-boots", "first": "tobias-boots"} in seen
    assert {(each["tenant"], each["fact"]) for each in document["happened"]} >= {
        ("aurora", "SubjectForgotten"),
        ("aurora", "MemoryExpired"),
        ("aurora", "CommandRejected (version_conflict)"),
        ("beryoza", "MemoryAccepted"),
    }
    looked = document["bytes"]
    assert (looked["clean"], looked["found"], looked["too_short"]) == (True, 0, 0)
    assert looked["plaintexts"]["statement"] > 20
    assert looked["control"]["found_in"] == [RECORDS, REDIS]
    assert sum(each["sealed_bodies"] for each in looked["places"] if each["where"] == REDIS) > 0
    topic = next(each["topic"] for each in looked["places"] if each["where"] == RECORDS)
    prefix = "-".join(topic.split("-")[:2])
    assert prefix.startswith("demo-")

    async def gone() -> bool:  # a topic goes a moment after it was deleted
        return await left_behind(stack, prefix) == []

    await until(gone)


def test_a_stack_of_its_own_is_searched_down_to_its_files_and_is_gone_afterwards(tmp_path: Path) -> None:
    scenario, folder = two_chapters(tmp_path / "scenario"), tmp_path / "tmp"
    folder.mkdir()
    code, document = demo("--scenario", str(scenario), EUNOE_STACK="local", TMPDIR=str(folder))
    assert (code, document["passed"], document["stack"]) == (0, True, "local")
    looked = document["bytes"]
    assert looked["control"]["found_in"] == [RECORDS, SEGMENTS, REDIS, REDIS_FILES]
    assert looked["files_searched"]
    bodies = looked["sealed_bodies"]
    assert bodies == 16
    seen = {(each["where"], (each["topic"] or "").partition("-memory-")[2]): each for each in looked["places"]}
    for group, topic in ((SEGMENTS, "events"), (SEGMENTS, "lifecycle"), (RECORDS, "events"), (REDIS_FILES, "")):
        assert seen[group, topic]["sealed_bodies"] == bodies, (group, topic)
    assert list(folder.glob("eunoe-*")) == []


def test_a_wrong_expectation_is_marked_and_exits_1(stack: Endpoints, tmp_path: Path) -> None:
    right, wrong = 'expect = { status = "done", version = 2 }', 'expect = { status = "done", version = 3 }'
    code, document = demo("--scenario", str(two_chapters(tmp_path / "scenario", right, wrong)), **on(stack))
    assert (code, document["passed"]) == (1, False)
    assert [(each["number"], each["expected"]["version"]) for each in document["steps"] if not each["ok"]] == [(8, 3)]
    assert document["steps"][-1]["number"] == 9, "the steps after it are played too"


def test_a_file_of_the_users_own_is_ingested_searched_and_looked_for(stack: Endpoints, tmp_path: Path) -> None:
    code, document = demo("--input", str(EXAMPLE / "memories.jsonl"), **on(stack))
    assert (code, document["passed"]) == (0, True)
    assert document["outcomes"]["accepted"] == 15
    assert [each["rank"] for each in document["searches"]] == [1] * 5
    assert document["bytes"]["clean"]

    mixed = tmp_path / "mixed.jsonl"
    good, *_ = (EXAMPLE / "memories.jsonl").read_text("utf-8").splitlines()
    outside = json.loads(good) | {"idempotency_key": "mail", "source": {"kind": "third_party", "uri": "mail://1"}}
    outside |= {"statement": "Maren moved to the coast.", "key": "address.town"}
    forget = {"op": "forget", "tenant": "aurora", "subject": outside["subject"]}
    late = json.loads(good) | {"idempotency_key": "late"}
    lines = [good, json.dumps(outside), '{"op": "remember", "tenant": "a b"}', json.dumps(forget), json.dumps(late)]
    mixed.write_text("\n".join(lines), "utf-8")
    code, document = demo("--input", str(mixed), **on(stack))
    assert (code, document["passed"]) == (1, False)
    outcomes = document["outcomes"]
    assert (outcomes["accepted"], outcomes["quarantined"], outcomes["done"]) == (1, 1, 1)
    assert outcomes["rejected: subject_closed"] == 1
    assert [each["line"] for each in document["problems"]] == [3, 5]
    assert document["bytes"]["clean"]


async def test_the_byte_search_finds_what_leaks_in_each_place(
    stack: Endpoints,
    kafka_log_directories: tuple[Path, ...],
    redis_client: Redis,
    topic_prefix: str,
    tmp_path: Path,
) -> None:
    topic, keys = f"{topic_prefix}leak", f"{topic_prefix}keys:"
    where = Where(
        kafka=stack.kafka,
        redis=redis_client,
        prefix=topic_prefix,
        keys=f"{keys}*",
        scratch=keys,
        kafka_folders=kafka_log_directories,
        redis_folders=(tmp_path,),
    )
    texts = [Wanted("statement", SECRET), Wanted("subject", "customer-4711"), Wanted("subject", "bo")]
    before = await search_bytes(where, texts)
    assert (before.clean, before.found, before.too_short) == (True, 0, 1), before.conclusion
    assert set(before.control_in) == {RECORDS, SEGMENTS, REDIS}

    client: Any = redis_client
    leaks: Mapping[str, tuple[bytes, set[str]]] = {
        RECORDS: (SECRET.encode(), {"utf-8"}),
        REDIS: (b"customer-4711".hex().encode(), {"hex"}),
        REDIS_FILES: (base64.b64encode(b".." + SECRET.encode()), {"base64"}),
    }
    await send(stack.kafka, topic, leaks[RECORDS][0])
    await client.zadd(f"{keys}terms", {b"t:" + leaks[REDIS][0]: 1})
    (tmp_path / "appendonly.aof").write_bytes(b"x" * 4_999 + leaks[REDIS_FILES][0])
    try:
        after = await search_bytes(where, texts)
    finally:
        await client.unlink(f"{keys}terms")
        async with topic_admin(stack.kafka) as admin:
            await admin.delete([topic])
    assert (after.clean, after.found) == (False, 2)
    assert SECRET not in repr(after)
    for group, (_, forms) in leaks.items():
        seen = [
            form for place in after.places if place.group == group for each in place.indexes.values() for form in each
        ]
        assert set(seen) >= forms, group
    assert {place.topic for place in after.places if place.group == SEGMENTS and place.indexes} == {topic}


async def send(kafka: str, topic: str, value: bytes) -> None:
    async with topic_admin(kafka) as admin:
        await admin.create(topic, 1, 1, {"compression.type": "uncompressed"})
    producer = AIOKafkaProducer(bootstrap_servers=kafka, acks="all")
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"\x00\x01\x02" + value, headers=[("h", b"1")])
    finally:
        await producer.stop()


async def test_a_search_that_looks_in_the_wrong_place_is_not_clean(
    stack: Endpoints, redis_client: Redis, topic_prefix: str, tmp_path: Path
) -> None:
    where = Where(
        kafka=stack.kafka,
        redis=redis_client,
        prefix=topic_prefix,
        keys=f"{topic_prefix}*",
        scratch=f"other-{topic_prefix}",
        kafka_folders=(tmp_path,),
    )
    searched = await search_bytes(where, [Wanted("statement", SECRET)], [b"a sealed body that is nowhere"])
    assert (searched.found, searched.clean) == (0, False)
    assert set(searched.missed) == {SEGMENTS, REDIS}
    assert set(searched.unseen) == {RECORDS, SEGMENTS}
    assert "NOT in" in searched.conclusion


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_leaves_nothing_running(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE],
        env=environ(EUNOE_STACK="local", TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        for line in running.stdout:  # the first step is done: everything runs
            if "ok" in line:
                break
        records = [ProcessRecord.load(path) for path in tmp_path.glob("eunoe-*/*/process.json")]
        processes = [each for each in records if each is not None]
        assert len(processes) == 2
        assert all(is_running(each) for each in processes)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 130, said
    assert "Traceback" not in said, said
    assert wait_until(lambda: not any(is_running(each) for each in processes), 10.0)
    assert wait_until(lambda: list(tmp_path.glob("eunoe-*")) == [], 10.0)
