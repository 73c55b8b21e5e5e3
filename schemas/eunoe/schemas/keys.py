"""The record of ``memory-keys``: a wrapped key. Its Kafka key is the key id, and a tombstone means destroyed."""

from typing import Final

from msgspec import Struct

from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId

HEARTBEAT: Final = KeyId("heartbeat")
"""The Kafka key of records without a value that mean nothing and make a quiet partition's segment roll. No key id is
this word; whoever reads the topic leaves them out."""


class KeyRecord(Struct, frozen=True, kw_only=True):
    """``kind`` is a value of ``eunoe.crypto.hierarchy.KeyKind``; ``wrapped_by`` names the KEK or the tenant key.

    ``earlier`` and ``earlier_by``: as in `eunoe.crypto.hierarchy.WrappedKey`.
    """

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
    earlier: bytes | None = None
    earlier_by: str | None = None
