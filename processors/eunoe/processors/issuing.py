"""Making the keys that a `KeyIssued` fact names: fresh random bytes, wrapped for ``memory-keys``.

A key is made once per fact that says ``created``; the wrapped form is written in the same transaction as the fact, so
neither exists without the other.
"""

from dataclasses import dataclass

from eunoe.crypto.hierarchy import KekWrapper, KeyKind, KeyMeta, WrappedKey, Wrapper, new_plain, wrap_key
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.crypto.keyring import Keyring
from eunoe.domain.known import Opened
from eunoe.schemas.events import KeyIssued
from eunoe.schemas.ids import LogId, Millis, TenantId


@dataclass(frozen=True, slots=True)
class Issuer:
    """Wraps with the KEK what the installation holds, with the tenant key what the tenant holds."""

    log_id: LogId
    kek: KeyEncryptionKey
    keyring: Keyring

    async def make(self, tenant: TenantId, fact: KeyIssued, opened: Opened, now: Millis) -> tuple[WrappedKey, ...]:
        """The wrapped keys that ``fact`` creates, held in the keyring from here on.

        Where the transaction does not commit, the caller evicts the tenant from the keyring: its keys were never made.
        """
        if not fact.created:
            return ()
        metas = [_meta(tenant, fact, now)]
        if fact.subject is not None and fact.root_key_id == opened.fresh_root_key_id:
            metas.insert(0, _root_meta(tenant, fact, now))
        return tuple([await self._wrap(meta) for meta in metas])

    async def _wrap(self, meta: KeyMeta) -> WrappedKey:
        wrapper: Wrapper
        wrapper = KekWrapper(self.kek) if meta.kind is KeyKind.TENANT else await self.keyring.wrapper(meta.tenant)
        wrapped = wrap_key(wrapper, self.log_id, new_plain(meta.kind), meta)
        if meta.kind is KeyKind.SUBJECT_ROOT and meta.subject is not None:
            self.keyring.evict_subject(meta.tenant, meta.subject)  # the root of an earlier generation
        await self.keyring.admit(wrapped)
        return wrapped


def _kind(fact: KeyIssued) -> KeyKind:
    if fact.subject is not None:
        return KeyKind.DATA
    return KeyKind.TENANT if fact.bucket is None else KeyKind.ACCESS


def _meta(tenant: TenantId, fact: KeyIssued, now: Millis) -> KeyMeta:
    return KeyMeta(
        key_id=fact.key_id,
        kind=_kind(fact),
        tenant=tenant,
        incarnation=fact.incarnation,
        subject=fact.subject,
        generation=fact.generation,
        bucket=fact.bucket,
        created_at=now,
    )


def _root_meta(tenant: TenantId, fact: KeyIssued, now: Millis) -> KeyMeta:
    assert fact.root_key_id is not None
    return KeyMeta(
        key_id=fact.root_key_id,
        kind=KeyKind.SUBJECT_ROOT,
        tenant=tenant,
        incarnation=fact.incarnation,
        subject=fact.subject,
        generation=fact.generation,
        created_at=now,
    )
