"""The erasure ledger: closed generations, numbered and hash-chained, in a file outside the cluster (DESIGN §5).

A restored Kafka has forgotten the forgetting; this file has not. One JSON object a line, appended under a lock and
flushed to the disk before anybody is told that a person is forgotten. It names no person: a partition, an offset and
an event id say which closing event is meant.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from eunoe.runtime.errors import LogFault
from eunoe.schemas.ids import EventId, LogId, Offset, Partition

_FIRST: Final = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureEntry:
    """``number`` counts from 1; ``previous`` is the SHA-256 of the line before, in hex."""

    number: int
    log_id: LogId
    partition: Partition
    offset: Offset
    event_id: EventId
    previous: str

    @property
    def line(self) -> bytes:
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":")).encode()


@dataclass(eq=False)
class BrokenErasureLedger(LogFault):
    """The file is not what eunoe wrote. Nothing is appended to it; a person has to look."""

    path: Path
    line: int
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.problem}; the erasure ledger was changed by something else: "
            "restore it from its copy, for without it a restored log would bring forgotten people back"
        )


@dataclass(frozen=True, slots=True)
class ErasureLedger:
    """The file at ``path``. Every process that erases for one installation uses the same one."""

    path: Path

    def entries(self) -> tuple[ErasureEntry, ...]:
        """Every entry, its chain checked. Raises `BrokenErasureLedger`."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return ()
        return tuple(_checked(self.path, content))

    def append(self, log_id: LogId, partition: Partition, offset: Offset, event_id: EventId) -> ErasureEntry:
        """The entry of this closing event, written and flushed to the disk; the one that is there already, if it is.

        Raises `BrokenErasureLedger`, ``OSError``.
        """
        with self._locked() as file:
            found = tuple(_checked(self.path, _whole(file)))
            for each in found:
                if (each.log_id, each.event_id) == (log_id, event_id):
                    return each
            entry = ErasureEntry(
                number=len(found) + 1,
                log_id=log_id,
                partition=partition,
                offset=offset,
                event_id=event_id,
                previous=_hash(found[-1].line) if found else _FIRST,
            )
            os.write(file, entry.line + b"\n")
            os.fsync(file)
            return entry

    def last(self, log_id: LogId) -> Mapping[Partition, ErasureEntry]:
        """The entry of the highest offset in each partition of this log: what a log that is not an older one holds."""
        highest: dict[Partition, ErasureEntry] = {}
        for each in self.entries():
            known = highest.get(each.partition)
            if each.log_id == log_id and (known is None or each.offset > known.offset):
                highest[each.partition] = each
        return highest

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        created = not self.path.exists()
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if created:
                _flush_folder(self.path.parent)
            yield file
        finally:
            os.close(file)


def _whole(file: int) -> bytes:
    return os.pread(file, os.fstat(file).st_size, 0)


def _flush_folder(folder: Path) -> None:
    """The name of a new file is on the disk only once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked(path: Path, content: bytes) -> Iterator[ErasureEntry]:
    previous = _FIRST
    lines = content.split(b"\n")
    if lines.pop():
        raise BrokenErasureLedger(path, len(lines) + 1, "the last line is not whole")
    for number, line in enumerate(lines, start=1):
        try:
            entry = ErasureEntry(**json.loads(line))
        except (ValueError, TypeError):
            raise BrokenErasureLedger(path, number, "is no entry") from None
        if entry.number != number or entry.previous != previous or entry.line != line:
            raise BrokenErasureLedger(path, number, "does not follow the line before")
        previous = _hash(line)
        yield entry


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
