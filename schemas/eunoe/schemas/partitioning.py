"""Which partition a tenant lives in: Kafka's murmur2, the same in every process and every client language.

Decider and reader need the answer as much as the producer does. Python's ``hash`` differs between processes, so it
is never used here. Golden vectors from the Java client are in ``tests/unit/schemas/test_partitioning.py``.
"""

from functools import lru_cache
from typing import Final

from eunoe.schemas.ids import Partition, TenantId

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The unsigned 32-bit murmur2 hash of ``data``, as ``org.apache.kafka.common.utils.Utils.murmur2``."""
    length = len(data)
    h = (_SEED ^ length) & _MASK
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ (k >> 24)) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if tail := data[whole:]:
        h = (h ^ int.from_bytes(tail, "little")) * _M & _MASK
    h = (h ^ (h >> 13)) * _M & _MASK
    return h ^ (h >> 15)


@lru_cache(maxsize=65_536)
def partition_of(tenant: TenantId, partitions: int) -> Partition:
    """The partition of a tenant among ``partitions``: the Java client's default for this key."""
    return Partition((murmur2(tenant.encode()) & 0x7FFFFFFF) % partitions)
