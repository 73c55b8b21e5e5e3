"""The erasure ledger: closed generations, numbered and hash-chained, in a file outside the cluster (DESIGN §5).

A restored Kafka has forgotten the forgetting; this file has not. One JSON object a line, appended under a lock and
flushed to the disk before anybody is told that a person is forgotten. A partition, an offset and an event id say which
closing event is meant; tenant and pseudonym, whom to forget again where a restored log lacks it. The pseudonym is an
HMAC under the tenant's key: nobody learns a name from it.

Two lines frame a restore that forgets again: `RESTORING` before the first of them, `RESTORED` after the last. Without
the second, some of the missing ones may not have been forgotten again, and nothing may be served.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from eunoe.runtime.errors import LogFault
from eunoe.schemas.ids import EventId, LogId, Offset, Partition, Pseudonym, TenantId

_FIRST: Final = "0" * 64


CLOSED: Final = "closed"
SETTLED: Final = "settled"
RESTORING: Final = "restoring"
RESTORED: Final = "restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """A closing event: where it lies, and who was forgotten; without a ``subject`` a whole tenant, whose incarnation
    ``generation`` then is."""

    partition: Partition
    offset: Offset
    event_id: EventId
    tenant: TenantId
    subject: Pseudonym | None
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureEntry:
    """``number`` counts from 1; ``previous`` is the SHA-256 of the line before, in hex.

    ``kind``: `CLOSED`; `SETTLED`, where a restored log needs nothing more; `RESTORING` or `RESTORED`. ``closing`` of
    the first two.
    """

    number: int
    log_id: LogId
    kind: str
    closing: Closing | None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``restoring``: a restore was begun and not finished. ``newest``: the last closing of each forgotten person and
    of each forgotten incarnation of a tenant, for one that has the name later does not stand for those before it."""

    restoring: bool
    newest: tuple[ErasureEntry, ...]

    @property
    def highest(self) -> Mapping[Partition, Closing]:
        """The closing of the highest offset in each partition: a log that holds it holds those before it."""
        found: dict[Partition, Closing] = {}
        for each in self.newest:
            closing = each.closing
            assert closing is not None
            if closing.partition not in found or closing.offset > found[closing.partition].offset:
                found[closing.partition] = closing
        return found


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

    def append(self, log_id: LogId, closing: Closing, kind: str = CLOSED) -> ErasureEntry:
        """As `append_all`, of one."""
        (entry,) = self.append_all(log_id, (closing,), kind)
        return entry

    def append_all(self, log_id: LogId, closings: Sequence[Closing], kind: str = CLOSED) -> Sequence[ErasureEntry]:
        """The entry of each closing event, all of them flushed to the disk; the one that is there already, if it is.

        However many they are, the file is read once and flushed once. Raises `BrokenErasureLedger`, ``OSError``; then
        some of them may be entered, and entering all of them again is right.
        """
        return self._write(log_id, kind, closings)

    def mark(self, log_id: LogId, kind: str) -> ErasureEntry:
        """`RESTORING` or `RESTORED`, written and flushed to the disk."""
        (entry,) = self._write(log_id, kind, (None,))
        return entry

    def standing(self, log_id: LogId) -> "Standing":
        """What must be true of this log. Raises `BrokenErasureLedger`."""
        newest: dict[tuple[TenantId, Pseudonym | int], ErasureEntry] = {}
        restoring = False
        for each in self.entries():
            if each.log_id != log_id:
                continue
            restoring = each.kind == RESTORING or (restoring and each.kind != RESTORED)
            if (closing := each.closing) is not None:
                newest[closing.tenant, closing.generation if closing.subject is None else closing.subject] = each
        return Standing(restoring=restoring, newest=tuple(each for each in newest.values() if each.kind == CLOSED))

    def _write(self, log_id: LogId, kind: str, closings: Sequence[Closing | None]) -> Sequence[ErasureEntry]:
        with self._locked() as file:
            found = tuple(_checked(self.path, _whole(file)))
            known = {_identity(each): each for each in reversed(found)}
            number, previous = len(found), _hash(found[-1].line) if found else _FIRST
            entries = []
            for closing in closings:
                entry = None if closing is None else known.get((log_id, kind, closing))
                if entry is None:
                    number += 1
                    entry = ErasureEntry(number=number, log_id=log_id, kind=kind, closing=closing, previous=previous)
                    # Line by line: whoever is killed here leaves whole lines.
                    os.write(file, entry.line + b"\n")
                    previous = _hash(entry.line)
                    known[_identity(entry)] = entry
                entries.append(entry)
            os.fsync(file)  # those that were there as well: whoever wrote them may have been killed before this line
            return entries

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


def _identity(entry: ErasureEntry) -> tuple[LogId, str, Closing | None]:
    return entry.log_id, entry.kind, entry.closing


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
            entry = _entry(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BrokenErasureLedger(path, number, "is no entry") from None
        if entry.number != number or entry.previous != previous or entry.line != line:
            raise BrokenErasureLedger(path, number, "does not follow the line before")
        previous = _hash(line)
        yield entry


def _entry(fields: dict[str, Any]) -> ErasureEntry:
    closing = fields.pop("closing")
    return ErasureEntry(**fields, closing=None if closing is None else Closing(**closing))


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
