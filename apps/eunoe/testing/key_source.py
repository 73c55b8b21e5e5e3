"""A key source in memory: what a test says was issued, closed or destroyed. Proven by ``tests/contract``."""

from typing import final

from eunoe.crypto.errors import KeyClosed, KeySourceUnavailable
from eunoe.crypto.hierarchy import KeyKind, WrappedKey
from eunoe.crypto.key_source import SubjectKeyState
from eunoe.schemas.ids import Bucket, KeyId, Pseudonym, TenantId


@final
class InMemoryKeySource:
    """``available = False`` makes every question raise ``KeySourceUnavailable``; ``asked`` counts the questions."""

    def __init__(self) -> None:
        self.available = True
        self.asked = 0
        self._keys: dict[KeyId, WrappedKey] = {}
        self._open: dict[TenantId, KeyId] = {}
        self._closed: set[TenantId] = set()
        self._subjects: dict[tuple[TenantId, Pseudonym], SubjectKeyState] = {}

    def put(self, key: WrappedKey) -> None:
        """What a record of ``memory-keys`` does. A tenant key opens its incarnation, a root its generation."""
        self._keys[key.key_id] = key
        if key.kind is KeyKind.TENANT:
            self._open[key.tenant] = key.key_id
            self._closed.discard(key.tenant)
        if key.kind is KeyKind.SUBJECT_ROOT and key.subject is not None:
            self._subjects[key.tenant, key.subject] = SubjectKeyState(
                generation=key.generation, closed=False, root_key_id=key.key_id
            )

    def destroy(self, key_id: KeyId) -> None:
        """What a tombstone does."""
        self._keys.pop(key_id, None)

    def close_subject(self, tenant: TenantId, subject: Pseudonym) -> None:
        """What ``SubjectForgotten`` does; the keys stay until they are destroyed."""
        generation = self._subjects[tenant, subject].generation
        self._subjects[tenant, subject] = SubjectKeyState(generation=generation, closed=True, root_key_id=None)

    def close_tenant(self, tenant: TenantId) -> None:
        """The tenant's incarnation ends; the keys stay until they are destroyed."""
        self._closed.add(tenant)

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        self._question(tenant)
        key_id = self._open.get(tenant)
        return None if key_id is None else self._keys.get(key_id)

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        self._question(tenant)
        found = self._keys.get(key_id)
        return found if found is not None and found.tenant == tenant else None

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        self._question(tenant)
        wanted = (KeyKind.DATA, tenant, subject, generation, bucket)
        for key in self._keys.values():
            if (key.kind, key.tenant, key.subject, key.generation, key.bucket) == wanted:
                return key
        return None

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        self._question(tenant)
        return self._subjects.get((tenant, subject))

    def _question(self, tenant: TenantId) -> None:
        self.asked += 1
        if not self.available:
            raise KeySourceUnavailable("memory", "switched off by the test")
        if tenant in self._closed:
            raise KeyClosed("tenant", tenant, None, None)
