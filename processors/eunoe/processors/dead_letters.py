"""Records that cannot be judged: kept for a while, sealed, with nothing but the reason and the origin in the clear.

The raw bytes may hold what a careless client put there, so they are sealed under a day key that is destroyed when the
letters' time is over. How many are too many is `BadRecordLimit`: one stray client must not stop a partition, and a
broken producer must not drain into the dead letters unread.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from eunoe.crypto.cipher import new_key
from eunoe.crypto.hierarchy import NO_TENANT, KekWrapper, KeyKind, KeyMeta, WrappedKey, wrap_key
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.crypto.keys import DayCipher
from eunoe.processors.receiving import RawRecord, Refused
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Offset, Partition, new_id

REASON_HEADER: Final = "eunoe-reason"
ORIGIN_HEADER: Final = "eunoe-origin"
KEY_HEADER: Final = "eunoe-key-id"


class DeadLetter(msgspec.Struct, frozen=True):
    """What is sealed: the record as it came."""

    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class SealedLetter:
    """A record of ``memory-dead-letters``. ``key`` is the tenant where it is known; an unknown key may hold text."""

    key: bytes | None
    value: bytes
    headers: Sequence[tuple[str, bytes]]


class DeadLetterBox:
    """Seals one partition's dead letters. The day key is fresh per acquisition and day; it is never read back here."""

    def __init__(self, log_id: LogId, topic: str, partition: Partition, kek: KeyEncryptionKey) -> None:
        self._log_id = log_id
        self._topic = topic
        self._partition = partition
        self._wrapper = KekWrapper(kek)
        self._day = ""
        self._cipher: DayCipher | None = None

    def seal(self, refused: Refused) -> tuple[SealedLetter, tuple[WrappedKey, ...]]:
        """The letter, and the day key to write in the same transaction where it is a new one."""
        record = refused.record
        cipher, fresh = self._cipher_of(record.timestamp)
        place = (self._topic, self._partition, record.offset)
        sealed = cipher.seal(place, msgspec.msgpack.encode(DeadLetter(record.key, record.value)))
        headers = (
            (REASON_HEADER, refused.why.value.encode()),
            (ORIGIN_HEADER, f"{self._topic}:{self._partition}:{record.offset}".encode()),
            (KEY_HEADER, cipher.key_id.encode()),
        )
        key = None if refused.tenant is None else refused.tenant.encode()
        return SealedLetter(key, sealed, headers), fresh

    def forget_key(self) -> None:
        """The transaction did not commit, so its day key is not on the log: make another."""
        self._cipher, self._day = None, ""

    def _cipher_of(self, at: Millis) -> tuple[DayCipher, tuple[WrappedKey, ...]]:
        day = datetime.fromtimestamp(at / 1000, UTC).date().isoformat()
        if self._cipher is not None and day == self._day:
            return self._cipher, ()
        meta = KeyMeta(
            key_id=KeyId(new_id()),
            kind=KeyKind.DEAD_LETTER,
            tenant=NO_TENANT,
            incarnation=0,
            bucket=Bucket(day),
            created_at=at,
        )
        plain = new_key()
        self._day, self._cipher = day, DayCipher(self._log_id, meta, plain)
        return self._cipher, (wrap_key(self._wrapper, self._log_id, plain, meta),)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRecordLimit:
    """When a partition stops instead of dead-lettering on.

    ``run``: so many unusable records in a row; ``ratio`` of the last ``window`` records, once the window is full. A
    stray client mixes with good ones and stays below; a producer with a wrong key or schema does not.
    """

    run: int = 50
    window: int = 200
    ratio: float = 0.5


class BadRecordGauge:
    """Counts against a limit. ``accepted``: offset ranges (inclusive) an operator said to go on over."""

    def __init__(self, limit: BadRecordLimit, accepted: Sequence[tuple[Offset, Offset]] = ()) -> None:
        self._limit = limit
        self._accepted = tuple(accepted)
        self._window: deque[bool] = deque(maxlen=limit.window)
        self._run = 0

    def too_many(self, record: RawRecord, bad: bool) -> bool:
        """Count one record; True where it is the one that exceeds the limit."""
        if any(first <= record.offset <= last for first, last in self._accepted):
            return False
        self._run = self._run + 1 if bad else 0
        self._window.append(bad)
        full = len(self._window) == self._limit.window
        return bad and (
            self._run > self._limit.run or (full and sum(self._window) > self._limit.ratio * self._limit.window)
        )
