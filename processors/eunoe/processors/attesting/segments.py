"""Looking into a topic's segment files on a broker's disk: records by key, and bytes wherever they lie.

What the broker has renamed and not unlinked yet (``.deleted``, ``.cleaned``, ``.swap``, a folder ``…-delete``) still
holds its bytes, so it is looked into as well. Batches are decoded, for topics are uncompressed but record keys and
values lie apart in them; and every file is searched for byte strings besides, which needs no format at all.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aiokafka.errors import CorruptRecordException
from aiokafka.record.memory_records import MemoryRecords

_SEGMENT: Final = ".log"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentScan:
    """``size``: bytes looked at. ``values``: record keys (of those asked for) that were found with a value;
    ``tombstones``: how many records of those asked for have none. ``needles``: indexes of the byte strings found."""

    files: int
    size: int
    records: int
    values: frozenset[bytes]
    tombstones: int
    needles: frozenset[int]


def folders_of(directories: Iterable[Path], topic: str, partition: int) -> tuple[Path, ...]:
    """The partition's folder in every log directory that has one, and those the broker is about to delete."""
    name = f"{topic}-{partition}"
    found = [
        each
        for directory in directories
        if directory.is_dir()
        for each in directory.iterdir()
        if each.is_dir() and (each.name == name or each.name.startswith(f"{name}."))
    ]
    return tuple(sorted(found))


def scan(folders: Iterable[Path], keys: frozenset[bytes], needles: Sequence[bytes] = ()) -> SegmentScan:
    """Look into every file under ``folders``. A file that vanishes meanwhile was unlinked, and counts as gone."""
    files = size = records = tombstones = 0
    values: set[bytes] = set()
    found: set[int] = set()
    for path in _files(folders):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        files += 1
        size += len(content)
        found |= {index for index, each in enumerate(needles) if each in content}
        if _SEGMENT in path.name:
            for key, value in _records(content):
                records += 1
                if key not in keys:
                    continue
                if value is None:
                    tombstones += 1
                else:
                    values.add(key)
    return SegmentScan(
        files=files,
        size=size,
        records=records,
        values=frozenset(values),
        tombstones=tombstones,
        needles=frozenset(found),
    )


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(root) / name
                if path.is_file() and not path.is_symlink():
                    yield path


def _records(content: bytes) -> Iterator[tuple[bytes, bytes | None]]:
    """Key and value of every whole record; what follows the last whole batch (preallocated space) is left out."""
    batches = MemoryRecords(content)
    while True:
        try:
            batch = batches.next_batch()
        except (CorruptRecordException, ValueError, IndexError):
            return
        if batch is None:
            return
        if getattr(batch, "is_control_batch", False):
            continue
        for record in batch:
            if record.key is not None:
                yield bytes(record.key), None if record.value is None else bytes(record.value)
