"""A `KeySource` that keeps nothing: every key of every tenant and person is derived from one secret when asked for.

So a hundred thousand people cost no memory, and each process of a benchmark that is told the secret has the same keys.
A data key's id is its subject's pseudonym in another form, which is how it is found by its id. Which people have been
forgotten is a matter of their pseudonyms too: one in a hundred.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from eunoe.crypto.buckets import month_bucket
from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, WrappedKey, wrap_key
from eunoe.crypto.kek import LocalKek
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import TenantKeys
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId

_ONE_IN: Final = 100
_KEK: Final = "kek"
_ROOT: Final = "root"


def is_forgotten(subject: Pseudonym) -> bool:
    """Whether this person is one of those who are forgotten in the course of the log."""
    return int(subject[:8], 16) % _ONE_IN == 0


@dataclass(slots=True, kw_only=True)
class DerivedKeys:
    """``secret``: 32 bytes. ``expires_at``: of all records, for it names the month of the data keys. ``closing``: the
    log has been folded, and the forgotten are closed; else it stands before the first of them."""

    log_id: LogId
    secret: bytes
    expires_at: Millis
    closing: bool
    keyring: Keyring = field(init=False)
    _kek: LocalKek = field(init=False)
    _tenants: dict[TenantId, tuple[WrappedKey, TenantKeys]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._kek = LocalKek(self._plain(_KEK))
        self.keyring = Keyring(self.log_id, self._kek, self, SystemClock().now)

    @property
    def task(self) -> Mapping[str, Any]:
        """What `of` makes the same keys of in another process. Not for a log: it holds the secret."""
        return {"secret": self.secret.hex(), "expires_at": self.expires_at}

    @staticmethod
    def of(log_id: LogId, task: Mapping[str, Any], *, closing: bool) -> "DerivedKeys":
        secret, expires_at = bytes.fromhex(task["secret"]), Millis(task["expires_at"])
        return DerivedKeys(log_id=log_id, secret=secret, expires_at=expires_at, closing=closing)

    def subject_of(self, tenant: TenantId, name: str) -> Pseudonym:
        return self._tenant(tenant)[1].pseudonym(name)

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        return self._tenant(tenant)[0]

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        return self._data(tenant, Pseudonym(key_id.replace("-", "")))

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        served = generation == 1 and bucket == month_bucket(self.expires_at)
        return self._data(tenant, subject) if served else None

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        closed = self.closing and is_forgotten(subject)
        root = None if closed else _id(f"{_ROOT}/{tenant}/{subject}")
        return SubjectKeyState(generation=1, closed=closed, root_key_id=root)

    def _tenant(self, tenant: TenantId) -> tuple[WrappedKey, TenantKeys]:
        if (known := self._tenants.get(tenant)) is not None:
            return known
        meta = KeyMeta(key_id=_id(tenant), kind=KeyKind.TENANT, tenant=tenant, incarnation=1, created_at=Millis(0))
        plain = self._plain(tenant) + self._plain(f"{tenant}/wrapping")
        found = wrap_key(KekWrapper(self._kek), self.log_id, plain, meta), TenantKeys(meta, plain, self._kek.kek_id)
        self._tenants[tenant] = found
        return found

    def _data(self, tenant: TenantId, subject: Pseudonym) -> WrappedKey:
        meta = KeyMeta(
            key_id=_uuid(subject),
            kind=KeyKind.DATA,
            tenant=tenant,
            incarnation=1,
            subject=subject,
            generation=1,
            bucket=month_bucket(self.expires_at),
            created_at=Millis(0),
        )
        return wrap_key(self._tenant(tenant)[1], self.log_id, self._plain(f"{tenant}/{subject}"), meta)

    def _plain(self, name: str) -> bytes:
        return hashlib.blake2b(name.encode(), digest_size=32, key=self.secret).digest()


def _id(name: str) -> KeyId:
    return _uuid(hashlib.blake2b(name.encode(), digest_size=16).hexdigest())


def _uuid(digits: str) -> KeyId:
    return KeyId(f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}")
