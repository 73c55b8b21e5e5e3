"""The ``keys`` read model: where the wrapped key for an id is, and which keys a tenant or subject has.

Folds ``memory-keys``. Under the partition's prefix:

``key:<key id>``                           the `KeyRecord` as it lies in the topic, or `Gone` after its tombstone
``tenant:<tenant>``                        hash: incarnation -> id of its tenant key, empty once that is destroyed
``subject:<tenant>:<subject>:<generation>``  hash: bucket (or ``root``) -> key id: every key that a generation has
``index:<tenant>``                         hash: ``<read model>:<its generation>`` -> key id
``access:<tenant>``                        hash: ``<UTC day>:<incarnation>`` -> key id
``dead-letter``                            hash: UTC day -> key id

Pointers outlive their keys: a destroyed key is told apart from one that never was. A model filled after compaction
knows no tombstones any more; then the closed generation or the month says so (``subjects``, the bucket's name).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.crypto.hierarchy import KeyKind
from eunoe.readmodels.errors import CannotApply
from eunoe.readmodels.source import KeyChange, KeyDestroyed, Positioned
from eunoe.readmodels.store import ask
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions, lua
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation
from eunoe.schemas.codec import KEY_RECORDS
from eunoe.schemas.ids import Bucket, KeyId, Offset, Pseudonym, TenantId
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.topics import Topic

NAME: Final = "keys"
ROOT: Final = "root"
"""The field of a subject's root beside its buckets, none of which is called so."""

_GONE: Final = b"gone:"
LIBRARY: Final = FunctionLibrary("eunoe_keys", lua("eunoe.readmodels", "keys.lua"))


class Gone(Struct, frozen=True):
    """A destroyed key, and whose it was; None where the tombstone is all that was ever seen."""

    tenant: TenantId | None


class KeyNames(Struct, frozen=True):
    """The model's Redis keys in one partition."""

    prefix: Prefix

    def key(self, key_id: KeyId) -> str:
        return self.prefix.key(f"key:{key_id}")

    def tenant(self, tenant: TenantId) -> str:
        return self.prefix.key(f"tenant:{tenant}")

    def subject(self, tenant: TenantId, subject: Pseudonym, generation: int) -> str:
        return self.prefix.key(f"subject:{tenant}:{subject}:{generation}")

    def index(self, tenant: TenantId) -> str:
        return self.prefix.key(f"index:{tenant}")

    def access(self, tenant: TenantId) -> str:
        return self.prefix.key(f"access:{tenant}")

    @property
    def dead_letter(self) -> str:
        return self.prefix.key("dead-letter")

    def pointer(self, record: KeyRecord) -> tuple[str, str]:
        """The hash and field under which ``record`` is found without its id. ``ValueError`` for an unknown kind."""
        bucket = record.bucket or ""
        match KeyKind(record.kind):
            case KeyKind.TENANT:
                return self.tenant(record.tenant), str(record.incarnation)
            case KeyKind.SUBJECT_ROOT:
                return self.subject(record.tenant, record.subject or Pseudonym(""), record.generation), ROOT
            case KeyKind.DATA:
                return self.subject(record.tenant, record.subject or Pseudonym(""), record.generation), bucket
            case KeyKind.INDEX:
                return self.index(record.tenant), index_field(Bucket(bucket), record.generation)
            case KeyKind.ACCESS:
                return self.access(record.tenant), access_field(Bucket(bucket), record.incarnation)
            case KeyKind.DEAD_LETTER:
                return self.dead_letter, bucket


def index_field(read_model: Bucket, generation: int) -> str:
    return f"{read_model}:{generation}"


def access_field(day: Bucket, incarnation: int) -> str:
    return f"{day}:{incarnation}"


def stored(value: bytes | None) -> KeyRecord | Gone | None:
    """What ``key:<id>`` holds. Raises `SchemaError` for a record that this version cannot read."""
    if value is None:
        return None
    if value.startswith(_GONE):
        return Gone(TenantId(value[len(_GONE) :].decode()) if len(value) > len(_GONE) else None)
    return KEY_RECORDS.decode(value)


class KeysModel:
    """The fold. Reads only what a tombstone is about, for a tombstone does not say."""

    name: Final = NAME
    source: Final = Topic.KEYS

    def __init__(self, redis: Redis) -> None:
        self.functions: Final[LoadedFunctions] = LIBRARY.load()
        self._redis = redis

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[KeyChange]]) -> Sequence[Sequence[Operation]]:
        names = KeyNames(prefix)
        known = await self._known(
            names, {each.value.key_id for each in records if isinstance(each.value, KeyDestroyed)}
        )
        operations = []
        for each in records:
            match each.value:
                case KeyDestroyed(key_id=key_id):
                    gone, writes = _destroyed(names, key_id, known.get(key_id))
                    known[key_id] = gone
                case KeyRecord() as record:
                    writes = _issued(names, record, each.offset)
                    known[record.key_id] = record
            operations.append(writes)
        return operations

    async def _known(self, names: KeyNames, ids: Iterable[KeyId]) -> dict[KeyId, KeyRecord | Gone | None]:
        wanted = sorted(ids)
        if not wanted:
            return {}
        values = await ask(self._redis, *(("GET", names.key(each)) for each in wanted))
        return {each: stored(value) for each, value in zip(wanted, values, strict=True)}


def _issued(names: KeyNames, record: KeyRecord, offset: Offset) -> Sequence[Operation]:
    try:
        where, field = names.pointer(record)
    except ValueError:
        raise CannotApply(offset, "a key of a kind that this version does not know") from None
    return (
        ("SET", names.key(record.key_id), KEY_RECORDS.encode(record)),
        ("HSET", where, field, record.key_id),
    )


def _destroyed(names: KeyNames, key_id: KeyId, known: KeyRecord | Gone | None) -> tuple[Gone, Sequence[Operation]]:
    gone = Gone(None if known is None else known.tenant)
    writes: tuple[Operation, ...] = (("SET", names.key(key_id), _GONE + (gone.tenant or "").encode()),)
    if isinstance(known, KeyRecord) and known.kind == KeyKind.TENANT:
        writes += (("HSET", names.tenant(known.tenant), str(known.incarnation), ""),)
    return gone, writes


def open_tenant_key(incarnations: Mapping[str, str], closed: int = 0) -> KeyId | None:
    """The tenant key of the highest incarnation in the hash ``tenant:<tenant>`` above the last ``closed`` one: empty
    where it is destroyed, None where none is known."""
    live = [int(each) for each in incarnations if int(each) > closed]
    return KeyId(incarnations[str(max(live))]) if live else None
