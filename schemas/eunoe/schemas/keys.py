"""The record of ``memory-keys``: a wrapped key. Its Kafka key is the key id, and a tombstone means destroyed."""

from msgspec import Struct

from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId


class KeyRecord(Struct, frozen=True, kw_only=True):
    """``kind`` is a value of ``eunoe.crypto.hierarchy.KeyKind``; ``wrapped_by`` names the KEK or the tenant key."""

    log_id: LogId
    key_id: KeyId
    kind: str
    tenant: TenantId
    incarnation: int
    subject: Pseudonym | None = None
    generation: int = 0
    bucket: Bucket | None = None
    wrapped_by: str
    wrapped: bytes
    created_at: Millis
