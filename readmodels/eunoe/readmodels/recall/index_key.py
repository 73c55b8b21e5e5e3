"""The key that blinds a tenant's search terms in one generation of the read model: made, stored and opened here.

The projector makes it, wraps it under the tenant key and stores it with the first record that needs it, in the same
step. Search terms are blinded under it, so what Redis holds tells no word without the tenant key; it dies with the
generation and with the tenant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from redis.asyncio import Redis

from eunoe.crypto.cipher import new_key
from eunoe.crypto.hierarchy import KeyKind, KeyMeta, WrappedKey, unwrap_key, wrap_key
from eunoe.crypto.keys import IndexKey, TenantKeys
from eunoe.readmodels.recall import keys as names
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.errors import AnalyserChanged, UnreadableStored
from eunoe.readmodels.recall.rank import Bm25
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, TenantId

ID_BYTES: Final = 36


def rules_of(analyser: Analyser, ranking: Bm25) -> str:
    """Names all that a generation's postings depend on: the rules of its terms, and those of their impact."""
    return f"{analyser.version}/bm25-{ranking.k1:g}.{ranking.b:g}.{ranking.average_length:g}"


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    key: WrappedKey
    rules: str


_DECODER: Final = msgspec.msgpack.Decoder(_Stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantIndex:
    """An opened index key, and the bytes it is stored as. ``rules`` as `rules_of`."""

    key: IndexKey
    stored: bytes
    rules: str

    @property
    def key_id(self) -> KeyId:
        return self.key.key_id


def make_index(tenant_keys: TenantKeys, log_id: LogId, generation: int, key_id: KeyId, rules: str) -> TenantIndex:
    """A fresh index key of the tenant for this generation."""
    plain = new_key()
    meta = KeyMeta(
        key_id=key_id,
        kind=KeyKind.INDEX,
        tenant=tenant_keys.tenant,
        incarnation=tenant_keys.incarnation,
        generation=generation,
        bucket=Bucket(names.MODEL),
        created_at=Millis(0),
    )
    wrapped = wrap_key(tenant_keys, log_id, plain, meta)
    stored = key_id.encode() + msgspec.msgpack.encode(_Stored(wrapped, rules))
    return TenantIndex(key=IndexKey(meta, plain), stored=stored, rules=rules)


def open_index(tenant_keys: TenantKeys, log_id: LogId, stored: bytes, rules: str) -> TenantIndex | None:
    """The stored key; None where it belongs to an earlier incarnation of the tenant, whose key is destroyed.

    Raises `AnalyserChanged` where other rules made the postings, `UnreadableStored`, or ``SealBroken``.
    """
    found = _decoded(stored)
    if found.key.incarnation != tenant_keys.incarnation:
        return None
    if found.rules != rules:
        raise AnalyserChanged(tenant_keys.tenant, found.rules, rules)
    plain = unwrap_key(tenant_keys, log_id, found.key)
    return TenantIndex(key=IndexKey(found.key, plain), stored=stored, rules=rules)


def rules_in(stored: bytes) -> str:
    """The rules that the stored key's postings were made by. Raises `UnreadableStored`."""
    return _decoded(stored).rules


def wrapper_in(stored: bytes) -> str:
    """What wrapped the stored key. Raises `UnreadableStored`."""
    return _decoded(stored).key.wrapped_by


def _decoded(stored: bytes) -> _Stored:
    try:
        return _DECODER.decode(stored[ID_BYTES:])
    except msgspec.MsgspecError as error:
        raise UnreadableStored("index key") from error


async def read_stored(redis: Redis, prefix: Prefix, tenant: TenantId) -> bytes | None:
    """The bytes the tenant's index key is stored as, or None."""
    found: Any = await redis.get(prefix.key(names.index_key(tenant)))
    return None if found is None else bytes(found)


async def read_several(redis: Redis, prefix: Prefix, tenants: Sequence[TenantId]) -> Mapping[TenantId, bytes | None]:
    """As `read_stored`, of each of ``tenants``."""
    if len(tenants) <= 1:
        return {tenant: await read_stored(redis, prefix, tenant) for tenant in tenants}
    found: Any = await redis.mget([prefix.key(names.index_key(tenant)) for tenant in tenants])
    return {tenant: None if stored is None else bytes(stored) for tenant, stored in zip(tenants, found, strict=True)}
