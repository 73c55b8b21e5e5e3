"""The ledger's key names in Redis. Nothing else builds them."""

from typing import Final

from eunoe.domain.entries import LedgerKey
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import LogId, Partition

_MODEL: Final = "ledger"


def ledger_prefix(log_id: LogId, partition: Partition) -> Prefix:
    return Prefix(log_id, partition, _MODEL)


def entry(prefix: Prefix, key: LedgerKey) -> str:
    """One entry; the ledger key holds a colon, so it cannot be one of the names below."""
    return prefix.key(key)


def due(prefix: Prefix) -> str:
    """Sorted set: ledger key of a record that can still expire -> ``expires_at``."""
    return prefix.key("due")


def lapsing(prefix: Prefix) -> str:
    """Sorted set: ledger key of an entry that means nothing after a while -> the log time at which it was decided."""
    return prefix.key("lapsing")
