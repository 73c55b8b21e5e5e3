"""A broker's segment files are looked into: values and tombstones by key, bytes wherever they lie."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from eunoe.processors.attesting.segments import folders_of, scan
from eunoe.runtime.kafka import topic_admin

KEY, OTHER, GONE = b"key-1", b"key-2", b"key-3"
WRAPPED = b"\x00wrapped bytes of a key\xff"


@pytest.fixture
async def topic(kafka_bootstrap: str, topic_prefix: str) -> str:
    name = f"{topic_prefix}segments"
    async with topic_admin(kafka_bootstrap) as admin:
        await admin.create(name, 2, 1, {"compression.type": "uncompressed"})
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        for key, value in ((KEY, WRAPPED), (OTHER, b"another"), (GONE, None), (None, b"no key")):
            await producer.send_and_wait(name, value=value, key=key, partition=1)
    return name


async def test_values_tombstones_and_bytes_are_told_apart(
    topic: str, kafka_log_directories: Mapping[str, Path] | tuple[Path, ...]
) -> None:
    directories = tuple(Path(each) for each in kafka_log_directories)
    folders = folders_of(directories, topic, 1)
    assert len(folders) == 1
    found = scan(folders, frozenset({KEY, GONE}), (WRAPPED, b"never written"))
    assert (found.values, found.tombstones, found.needles) == (frozenset({KEY}), 1, frozenset({0}))
    assert found.records == 3
    assert scan(folders_of(directories, topic, 0), frozenset({KEY}), (WRAPPED,)).needles == frozenset()


async def test_what_the_broker_only_renamed_is_found_too(
    topic: str, kafka_log_directories: tuple[Path, ...], tmp_path: Path
) -> None:
    (folder,) = folders_of([Path(each) for each in kafka_log_directories], topic, 1)
    content = next(folder.glob("*.log")).read_bytes()
    for name, file in (
        (f"{topic}-1.0a1b-delete", "00000000000000000000.log"),
        (f"{topic}-1", "00000000000000000000.log.deleted"),
        (f"{topic}-1", "00000000000000000000.log.cleaned"),
        (f"{topic}-1", "00000000000000000000.log.swap"),
        (f"{topic}-11", "00000000000000000000.log"),
    ):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / file).write_bytes(content)
    found = scan(folders_of([tmp_path], topic, 1), frozenset({KEY}), (WRAPPED,))
    assert (found.files, found.values, found.needles) == (4, frozenset({KEY}), frozenset({0}))
