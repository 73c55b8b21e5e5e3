"""Between a wrapped key and its record on ``memory-keys``."""

from eunoe.crypto.hierarchy import KeyKind, WrappedKey
from eunoe.schemas.ids import LogId
from eunoe.schemas.keys import KeyRecord


def to_record(log_id: LogId, key: WrappedKey) -> KeyRecord:
    return KeyRecord(
        log_id=log_id,
        key_id=key.key_id,
        kind=key.kind.value,
        tenant=key.tenant,
        incarnation=key.incarnation,
        subject=key.subject,
        generation=key.generation,
        bucket=key.bucket,
        wrapped_by=key.wrapped_by,
        wrapped=key.wrapped,
        earlier=key.earlier,
        earlier_by=key.earlier_by,
        created_at=key.created_at,
    )


def from_record(record: KeyRecord) -> WrappedKey:
    """Raises ValueError for a kind this version does not know."""
    return WrappedKey(
        key_id=record.key_id,
        kind=KeyKind(record.kind),
        tenant=record.tenant,
        incarnation=record.incarnation,
        subject=record.subject,
        generation=record.generation,
        bucket=record.bucket,
        wrapped_by=record.wrapped_by,
        wrapped=record.wrapped,
        earlier=record.earlier,
        earlier_by=record.earlier_by,
        created_at=record.created_at,
    )
