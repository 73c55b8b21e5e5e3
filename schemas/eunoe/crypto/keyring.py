"""Opened keys on top of a key source: bounded, and never unsure about the difference between gone and not found.

Three outcomes other than a key, never mixed: ``KeyClosed`` (erased, whether or not bytes remain), ``KeyUnknown`` (not
known to a source that answers: look again once it has caught up) and ``KeySourceUnavailable`` (nothing is known).

Whoever folds ``memory-lifecycle`` calls ``evict_subject`` and ``evict_tenant`` when it meets an erasure; the age limit
bounds how long a process that does not fold it goes on. One keyring belongs to one event loop.
"""

from collections.abc import Callable
from typing import Final, TypeVar, final

from eunoe.crypto.buckets import bucket_is_over, time_is_over
from eunoe.crypto.cache import AgedCache, CacheLimits
from eunoe.crypto.errors import KeyClosed, KeyMisdescribed, KeyUnknown, RetiredKek
from eunoe.crypto.hierarchy import (
    KEK_WRAPPED,
    NO_TENANT,
    KekWrapper,
    WrappedKey,
    before_renewal,
    kek_behind,
    unwrap_key,
)
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.crypto.key_source import KeySource, SubjectKeyState
from eunoe.crypto.keys import DataCipher, DayCipher, IndexKey, OpenedKey, SubjectRoot, TenantKeys, open_key
from eunoe.schemas.ids import Bucket, KeyId, LogId, Millis, Pseudonym, TenantId

_Key = TypeVar("_Key", bound=OpenedKey)
_Claim = tuple[TenantId, KeyId, Pseudonym | None, int]
"""What a record says of its key. A cached key is found only by the whole of it: a body copied into another tenant's
record, with that key's id, must not meet the key of the tenant it was taken from."""


@final
class Keyring:
    """Opens keys on demand and keeps them. ``clock``: wall-clock ms, for ages and for buckets whose month is over."""

    def __init__(
        self,
        log_id: LogId,
        kek: KeyEncryptionKey,
        source: KeySource,
        clock: Callable[[], Millis],
        limits: CacheLimits = CacheLimits(),  # noqa: B008  # a frozen value
    ) -> None:
        self._log_id: Final = log_id
        self._kek: Final = KekWrapper(kek)
        self._source: Final = source
        self._clock: Final = clock
        self._by_claim: AgedCache[_Claim, OpenedKey] = AgedCache(limits, clock)
        self._tenants: AgedCache[TenantId, TenantKeys] = AgedCache(limits, clock)
        self._roots: AgedCache[tuple[TenantId, Pseudonym], SubjectRoot] = AgedCache(limits, clock)
        self._sealing: AgedCache[tuple[TenantId, Pseudonym, Bucket], DataCipher] = AgedCache(limits, clock)
        self._evictions = 0

    @property
    def log_id(self) -> LogId:
        """Of the installation whose keys these are."""
        return self._log_id

    # Synchronous: for hot loops, which await only on None.

    def cached_tenant(self, tenant: TenantId) -> TenantKeys | None:
        """The tenant's keys if they are open here."""
        return self._tenants.get(tenant)

    def cached_data_cipher(
        self, tenant: TenantId, key_id: KeyId, subject: Pseudonym, generation: int
    ) -> DataCipher | None:
        """The cipher that opens what a record with these fields says sealed it, if it is open here."""
        found = self._by_claim.get((tenant, key_id, subject, generation))
        return found if type(found) is DataCipher else None

    def cached_sealing_cipher(self, tenant: TenantId, subject: Pseudonym, bucket: Bucket) -> DataCipher | None:
        """The cipher that seals for the subject's open generation, if it is open here."""
        return self._sealing.get((tenant, subject, bucket))

    def cached_subject_root(self, tenant: TenantId, subject: Pseudonym) -> SubjectRoot | None:
        """The root of the subject's open generation, if it is open here."""
        return self._roots.get((tenant, subject))

    # Asynchronous: each asks the source where the cache has nothing, and raises one of the three errors.

    async def tenant(self, tenant: TenantId) -> TenantKeys:
        """The keys of the tenant's open incarnation."""
        cached = self._tenants.get(tenant)
        return await self._load_tenant(tenant) if cached is None else cached

    async def wrapper(self, tenant: TenantId) -> TenantKeys:
        """`tenant`, to wrap a key with: under the KEK that wraps now, if the tenant key is there already.

        Raises ``RetiredKek`` where what the log has of it belongs to a KEK that must not wrap any more.
        """
        keys = await self.tenant(tenant)
        if keys.kek_id != self._kek.wrapper_id:
            keys = await self._load_tenant(tenant)
        if not self._opens(keys.kek_id):
            raise RetiredKek(keys.kek_id, "wrap")
        return keys

    async def opening(self, tenant: TenantId, wrapped_by: str) -> TenantKeys:
        """`tenant`, to unwrap what names this wrapper: looked at again where it was wrapped anew since."""
        keys = await self.tenant(tenant)
        return keys if keys.opens(wrapped_by) else await self._load_tenant(tenant)

    async def _load_tenant(self, tenant: TenantId) -> TenantKeys:
        seen = self._evictions
        wrapped = await self._source.tenant(tenant)
        if wrapped is None:
            raise KeyUnknown(tenant, None, None)
        if wrapped.tenant != tenant:
            raise KeyMisdescribed(wrapped.key_id, "the key source answered with another tenant's key")
        keys = _typed(TenantKeys, self._open(wrapped, None))
        self._hold(keys, seen)
        return keys

    async def subject_root(self, tenant: TenantId, subject: Pseudonym) -> SubjectRoot:
        """The root of the subject's open generation. For the decider."""
        cached = self._roots.get((tenant, subject))
        if cached is not None:
            return cached
        seen = self._evictions
        state = await self._open_subject(tenant, subject)
        if state.root_key_id is None:
            raise KeyUnknown(tenant, subject, None)
        root = await self._open_as(SubjectRoot, await self._wrapped(tenant, state.root_key_id, subject))
        _same_place(root, subject, state.generation)
        self._hold(root, seen)
        return root

    async def sealing_cipher(self, tenant: TenantId, subject: Pseudonym, bucket: Bucket) -> DataCipher:
        """What seals a new body for the subject; ``KeyUnknown`` means that a key has to be asked for first."""
        cached = self._sealing.get((tenant, subject, bucket))
        if cached is not None:
            return cached
        if bucket_is_over(bucket, self._clock()):
            raise KeyClosed("bucket", tenant, subject, None)
        seen = self._evictions
        await self.tenant(tenant)
        state = await self._open_subject(tenant, subject)
        wrapped = await self._source.data_key(tenant, subject, state.generation, bucket)
        if wrapped is None:
            raise KeyUnknown(tenant, subject, None)
        if (wrapped.tenant, wrapped.bucket) != (tenant, bucket):
            raise KeyMisdescribed(wrapped.key_id, "the key source answered with another key")
        cipher = await self._open_as(DataCipher, wrapped)
        _same_place(cipher, subject, state.generation)
        self._hold(cipher, seen)
        if seen == self._evictions:
            self._sealing.put((tenant, subject, bucket), cipher, (tenant, subject))
        return cipher

    async def data_cipher(
        self, tenant: TenantId, key_id: KeyId, subject: Pseudonym, generation: int, expires_at: Millis
    ) -> DataCipher:
        """What opens a stored body; every argument is in the clear part of its record.

        A closed tenant or generation, or a bucket whose month is over, is ``KeyClosed`` even where the key remains.
        """
        cached = self.cached_data_cipher(tenant, key_id, subject, generation)
        if cached is not None:
            return cached
        if time_is_over(expires_at, self._clock()):
            raise KeyClosed("bucket", tenant, subject, key_id)
        seen = self._evictions
        await self.tenant(tenant)
        state = await self._source.subject(tenant, subject)
        if state is None:
            raise KeyUnknown(tenant, subject, key_id)
        if state.erased(generation):
            raise KeyClosed("generation", tenant, subject, key_id)
        cipher = await self._open_as(DataCipher, await self._wrapped(tenant, key_id, subject))
        _same_place(cipher, subject, generation)
        self._hold(cipher, seen)
        return cipher

    async def index_key(self, tenant: TenantId, key_id: KeyId) -> IndexKey:
        """The index key of one generation of a read model."""
        return await self._tenant_wide(IndexKey, tenant, key_id)

    async def access_cipher(self, tenant: TenantId, key_id: KeyId) -> DayCipher:
        """The access day key of a tenant."""
        return await self._tenant_wide(DayCipher, tenant, key_id)

    async def dead_letter_cipher(self, key_id: KeyId) -> DayCipher:
        """A dead-letter day key."""
        return await self._tenant_wide(DayCipher, NO_TENANT, key_id)

    async def admit(self, wrapped: WrappedKey) -> OpenedKey:
        """Opens a key that is not on the log yet, and holds it: the decider uses the key it has just made.

        Where the transaction does not commit, evict its subject or tenant.
        """
        seen = self._evictions
        opened = self._open(wrapped, await self._wrapper_of(wrapped))
        self._hold(opened, seen)
        return opened

    def evict_subject(self, tenant: TenantId, subject: Pseudonym) -> None:
        """The subject's keys leave every cache; what is being loaded meanwhile is not kept."""
        self._evictions += 1
        for cache in (self._by_claim, self._roots, self._sealing):
            cache.drop_subject((tenant, subject))

    def evict_tenant(self, tenant: TenantId) -> None:
        """All keys of the tenant and its subjects leave every cache."""
        self._evictions += 1
        for cache in (self._by_claim, self._tenants, self._roots, self._sealing):
            cache.drop_tenant(tenant)

    def clear(self) -> None:
        """Every key leaves."""
        self._evictions += 1
        for cache in (self._by_claim, self._tenants, self._roots, self._sealing):
            cache.clear()

    async def _open_subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState:
        state = await self._source.subject(tenant, subject)
        if state is None:
            raise KeyUnknown(tenant, subject, None)
        if state.closed:
            raise KeyClosed("generation", tenant, subject, None)
        return state

    async def _wrapped(self, tenant: TenantId, key_id: KeyId, subject: Pseudonym | None) -> WrappedKey:
        wrapped = await self._source.key(tenant, key_id)
        if wrapped is None:
            raise KeyUnknown(tenant, subject, key_id)
        if (wrapped.tenant, wrapped.key_id) != (tenant, key_id):
            raise KeyMisdescribed(key_id, "the key source answered with another key")
        return wrapped

    async def _tenant_wide(self, kind: type[_Key], tenant: TenantId, key_id: KeyId) -> _Key:
        cached = self._by_claim.get((tenant, key_id, None, 0))
        if cached is not None:
            return _typed(kind, cached)
        seen = self._evictions
        if tenant != NO_TENANT:
            await self.tenant(tenant)
        opened = await self._open_as(kind, await self._wrapped(tenant, key_id, None))
        self._hold(opened, seen)
        return opened

    async def _open_as(self, kind: type[_Key], wrapped: WrappedKey) -> _Key:
        return _typed(kind, self._open(wrapped, await self._wrapper_of(wrapped)))

    async def _wrapper_of(self, wrapped: WrappedKey) -> TenantKeys | None:
        if wrapped.kind in KEK_WRAPPED:
            return None
        keys = await self.opening(wrapped.tenant, wrapped.wrapped_by)
        if wrapped.incarnation < keys.incarnation:
            raise KeyClosed("tenant", wrapped.tenant, wrapped.subject, wrapped.key_id)
        if not keys.opens(wrapped.wrapped_by) and not self._opens(behind := kek_behind(wrapped.wrapped_by)):
            raise RetiredKek(behind, "unwrap")
        return keys

    def _opens(self, kek_id: str) -> bool:
        return self._kek.opens(kek_id)

    def _open(self, wrapped: WrappedKey, wrapper: TenantKeys | None) -> OpenedKey:
        plain = unwrap_key(wrapper or self._kek, self._log_id, wrapped)
        before = before_renewal(wrapped)
        if before is None or not self._opens(before.wrapped_by):
            return open_key(self._log_id, wrapped, plain)
        return open_key(self._log_id, wrapped, plain, unwrap_key(self._kek, self._log_id, before))

    def _hold(self, opened: OpenedKey, seen: int) -> None:
        """Keeps the key under all that it is asked by, unless something was evicted while it was loaded."""
        if seen != self._evictions:
            return
        meta = opened.meta
        owner = (meta.tenant, meta.subject)
        if isinstance(opened, TenantKeys):
            self._tenants.put(meta.tenant, opened, owner)
        elif isinstance(opened, SubjectRoot) and meta.subject is not None:
            self._roots.put((meta.tenant, meta.subject), opened, owner)
        else:
            generation = meta.generation if meta.subject is not None else 0
            self._by_claim.put((meta.tenant, meta.key_id, meta.subject, generation), opened, owner)


def _typed(kind: type[_Key], opened: OpenedKey) -> _Key:
    if not isinstance(opened, kind):
        raise KeyMisdescribed(opened.key_id, f"is a {opened.meta.kind} key and is used as another")
    return opened


def _same_place(opened: OpenedKey, subject: Pseudonym, generation: int) -> None:
    if (opened.meta.subject, opened.meta.generation) != (subject, generation):
        raise KeyMisdescribed(opened.key_id, "belongs to another subject or generation than it is named for")
