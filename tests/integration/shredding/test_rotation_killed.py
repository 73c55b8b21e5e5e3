"""A rotation of which every call is killed before or after a record, and called again, comes to the same end."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eunoe.client.memory import Memory
from eunoe.crypto.hierarchy import KeyKind, kek_behind
from eunoe.crypto.kek import create_key_file, read_key_file
from eunoe.operations.keys_in_use import keys_in_use
from eunoe.runtime.installation import read_installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import CONTROL_RECORDS, KEY_RECORDS
from eunoe.schemas.topics import Topic
from eunoe.testing.platform import Platform
from eunoe.worker.embedded import running_services
from eunoe.worker.foundation import open_foundation
from restored_log import restored, topics_backup
from shred_log import SCOPE, WHERE, raw

DRIVER = Path(__file__).resolve().parents[2] / "killed_calls.py"
KILLED = -9
Point = tuple[str, str] | None


async def calls(settings: Settings, directory: Path, wanted: Sequence[tuple[Point, list[str]]]) -> list[int]:
    """The exit code of each, one after the other."""
    platform = Platform(settings, await read_installation(settings.kafka, settings.topics), directory)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, str(DRIVER)],
        env=platform.environ,
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    print(done.stderr)
    codes: list[int] = json.loads(done.stdout)
    return codes


async def stages(settings: Settings) -> list[str]:
    records = [CONTROL_RECORDS.decode(value) for _, value in await raw(settings, Topic.CONTROL) if value]
    return [json.loads(each.body)["stage"] for each in records if each.name == "kek"]


async def both_are_found(memory: Memory) -> None:
    for word in ("green", "black"):
        assert (await memory.search(word, **SCOPE)).records, word


async def test_killed_at_each_of_its_records_a_rotation_is_gone_on_with(settings: Settings, tmp_path: Path) -> None:
    create_key_file(tmp_path / "kek-new")
    first = replace(settings, kek_other_file=tmp_path / "kek-new")
    then = replace(first, kek_file=first.kek_other_file, kek_other_file=first.kek_file)
    assert first.kek_file is not None
    old, new = read_key_file(first.kek_file).kek_id, read_key_file(tmp_path / "kek-new").kek_id
    last = ["--patience", "40", "--as", "dev-officer"]
    rotate = ["keys", "rotate", "--until", "fenced", *last]
    async with running_services(first) as running, Memory.connect(first) as memory:
        await running.ready()
        await memory.remember("Prefers green tea.", subject="anna", **WHERE)
        outcome = await memory.remember("Prefers black tea.", subject="boris", **WHERE)
        assert (await memory.search("black", after=outcome.token, **SCOPE)).records
        points: list[Point] = [(when, stage) for stage in ("wrapping", "fenced") for when in ("before", "after")]
        assert await calls(first, tmp_path, [(each, rotate) for each in points]) == [KILLED] * 4
        assert await stages(first) == ["wrapping", "fenced"]
        await both_are_found(memory)
    there = await restored(then, await topics_backup(then))
    trial = ["keys", "try-backup", "--restored-kafka", there.kafka, "--restored-prefix", there.prefix, *last[2:]]
    destroy = ["keys", "rotate", "--attest", "There is no copy.", "--settle", "0.2", *last]
    async with running_services(then) as running, Memory.connect(then) as memory:
        await running.ready()
        killed: list[tuple[Point, list[str]]] = [
            (("before", "fenced"), trial),
            (("after", "fenced"), trial),
            (("before", "destroying"), destroy),
            (("after", "destroying"), destroy),
            (("before", "destroyed"), destroy),
        ]
        assert await calls(then, tmp_path, [*killed, (None, destroy)]) == [KILLED] * 5 + [0]
        assert await stages(then) == ["wrapping", "fenced", "fenced", "destroying", "destroyed"]
        assert not first.kek_file.exists(), "destroyed by the call that was killed before it could say so"
        await both_are_found(memory)
        await memory.remember("Prefers white tea.", subject="carla", **WHERE)
    async with open_foundation(then, "status") as foundation:
        assert set((found := await keys_in_use(foundation)).by_kek) == set(found.index_keys) == {new}
        assert not [each for each in found.holders if each.holder.startswith("rotate-")]
    records = [KEY_RECORDS.decode(value) for _, value in await raw(then, Topic.KEYS) if value]
    tenants = [each for each in records if each.kind == KeyKind.TENANT]
    wrapped = [kek_behind(each.wrapped_by) for each in tenants]
    assert wrapped.count(new) == 1, "a second wrapping half would lose what the first one wrapped"
    assert set(wrapped) <= {old, new}
