"""The keys, what each is called on the log, and how one wraps another (the key table of DESIGN §5).

A wrapped key is sealed under its wrapper with everything that describes it as AAD: moving it to another tenant,
subject, generation, bucket, id, kind or log breaks the seal.

A tenant key has two halves. One names (pseudonyms, idempotency hashes) and lives as long as the tenant. The other wraps
the tenant's other keys, and there is a fresh one for each KEK: so what was wrapped before a KEK was retired is opened
by nothing that is left once that KEK is destroyed, though the tenant lives on (ADR 0021).
"""

from enum import StrEnum
from typing import Final, Protocol, final

from msgspec import Struct, structs

from eunoe.crypto.cipher import KEY_BYTES, new_key
from eunoe.crypto.errors import KeyMisdescribed
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId

NO_TENANT: Final = TenantId("")
"""The tenant of a dead-letter day key, which belongs to the installation."""


class KeyKind(StrEnum):
    """One per row of the key table; the KEK itself is never on the log."""

    TENANT = "tenant"
    SUBJECT_ROOT = "subject_root"
    DATA = "data"
    INDEX = "index"
    DEAD_LETTER = "dead_letter"
    ACCESS = "access"


class KeyMeta(Struct, frozen=True, kw_only=True):
    """What a key is. ``generation``: of the subject, or of the read model for an index key; 0 where there is none.

    ``bucket``: a month or a memory id (data), the UTC day ``YYYY-MM-DD`` (dead letter, access), the read model (index).
    ``created_at``: the issuer's ``now``.
    """

    key_id: KeyId
    kind: KeyKind
    tenant: TenantId
    incarnation: int
    subject: Pseudonym | None = None
    generation: int = 0
    bucket: Bucket | None = None
    created_at: Millis


class WrappedKey(KeyMeta, frozen=True, kw_only=True):
    """A key as it lies in ``memory-keys``. ``wrapped_by``: a KEK id, or what `wrapper_of` says of the tenant key.

    ``earlier``: of a tenant key that was wrapped anew, how it was wrapped by ``earlier_by`` before: whatever the tenant
    has that is not wrapped anew yet is opened by the wrapping half in it.
    """

    wrapped_by: str
    wrapped: bytes
    earlier: bytes | None = None
    earlier_by: str | None = None


class Wrapper(Protocol):
    """What wraps a key: a tenant's keys, or a KEK as :class:`KekWrapper`."""

    @property
    def wrapper_id(self) -> str: ...
    def wrap(self, plain: bytes, aad: bytes) -> bytes: ...
    def unwrap(self, wrapped: bytes, aad: bytes, wrapped_by: str) -> bytes: ...


@final
class KekWrapper:
    """A KEK as a wrapper of keys."""

    __slots__ = ("_kek",)

    def __init__(self, kek: KeyEncryptionKey) -> None:
        self._kek = kek

    @property
    def wrapper_id(self) -> str:
        return self._kek.kek_id

    def opens(self, kek_id: str) -> bool:
        return self._kek.opens(kek_id)

    def wrap(self, plain: bytes, aad: bytes) -> bytes:
        return self._kek.wrap(plain, aad)

    def unwrap(self, wrapped: bytes, aad: bytes, wrapped_by: str) -> bytes:
        return self._kek.unwrap(wrapped, aad)


class _Shape(Struct, frozen=True):
    tenant: bool
    subject: bool
    bucket: bool | None  # None: may be there or not


_SHAPES: Final = {
    KeyKind.TENANT: _Shape(tenant=True, subject=False, bucket=False),
    KeyKind.SUBJECT_ROOT: _Shape(tenant=True, subject=True, bucket=False),
    KeyKind.DATA: _Shape(tenant=True, subject=True, bucket=True),
    KeyKind.INDEX: _Shape(tenant=True, subject=False, bucket=None),
    KeyKind.DEAD_LETTER: _Shape(tenant=False, subject=False, bucket=True),
    KeyKind.ACCESS: _Shape(tenant=True, subject=False, bucket=True),
}

KEK_WRAPPED: Final = frozenset({KeyKind.TENANT, KeyKind.DEAD_LETTER})
"""The kinds that a KEK wraps; every other one is wrapped by its tenant key."""


def new_plain(kind: KeyKind) -> bytes:
    """A fresh key of this kind: 32 bytes; of a tenant key two halves, what names and what wraps."""
    return new_key() + new_key() if kind is KeyKind.TENANT else new_key()


def wrapper_of(tenant_key: KeyId, kek_id: str) -> str:
    """What the tenant's keys name as their wrapper: the wrapping half that the tenant key has under this KEK."""
    return f"{tenant_key}/{kek_id}"


def kek_behind(wrapped_by: str) -> str:
    """The KEK without which a key that names this wrapper does not open."""
    return wrapped_by.rpartition("/")[2]


def check_shape(meta: KeyMeta) -> None:
    """Raises ``KeyMisdescribed`` where a field that its kind needs is absent, or one is there that means nothing."""
    shape = _SHAPES[meta.kind]
    for name, wanted, found in (
        ("tenant", shape.tenant, meta.tenant != NO_TENANT),
        ("subject", shape.subject, meta.subject is not None),
        ("bucket", shape.bucket, meta.bucket is not None),
    ):
        if wanted is not None and wanted != found:
            verb = "needs" if wanted else "has no"
            raise KeyMisdescribed(meta.key_id, f"a {meta.kind} key {verb} {name}")


def key_aad(log_id: LogId, meta: KeyMeta, wrapped_by: str) -> bytes:
    """Everything that describes the key, and the log that it belongs to."""
    return canonical(
        "eunoe/key-aad/1",
        log_id,
        meta.key_id,
        str(meta.kind),
        meta.tenant,
        meta.incarnation,
        meta.subject,
        meta.generation,
        meta.bucket,
        meta.created_at,
        wrapped_by,
    )


def wrap_key(wrapper: Wrapper, log_id: LogId, plain: bytes, meta: KeyMeta) -> WrappedKey:
    """``plain`` (as `new_plain`) wrapped for the log."""
    check_shape(meta)
    wrapped_by = wrapper.wrapper_id
    wrapped = wrapper.wrap(plain, key_aad(log_id, meta, wrapped_by))
    described = {name: getattr(meta, name) for name in KeyMeta.__struct_fields__}
    return WrappedKey(**described, wrapped_by=wrapped_by, wrapped=wrapped)


def unwrap_key(wrapper: Wrapper, log_id: LogId, key: WrappedKey) -> bytes:
    """The plain key. Raises ``SealBroken``, ``KeyMisdescribed``; ``WrongKek`` or ``RetiredKek`` from a KEK;
    ``WrongWrapper`` from a tenant key."""
    check_shape(key)
    return wrapper.unwrap(key.wrapped, key_aad(log_id, key, key.wrapped_by), key.wrapped_by)


def before_renewal(key: WrappedKey) -> WrappedKey | None:
    """The key as it was wrapped before; None where it never was wrapped anew."""
    if key.earlier is None or key.earlier_by is None:
        return None
    return structs.replace(key, wrapped_by=key.earlier_by, wrapped=key.earlier, earlier=None, earlier_by=None)


def renewed(wrapper: Wrapper, log_id: LogId, plain: bytes, key: WrappedKey) -> WrappedKey:
    """``key``, whose plain bytes these are, wrapped by another wrapper. A tenant key gets a fresh half that wraps."""
    if key.kind is not KeyKind.TENANT:
        return wrap_key(wrapper, log_id, plain, key)
    fresh = wrap_key(wrapper, log_id, plain[:KEY_BYTES] + new_key(), key)
    return structs.replace(fresh, earlier=key.wrapped, earlier_by=key.wrapped_by)
