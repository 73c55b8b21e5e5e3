"""Where wrapped keys come from: what a :class:`~eunoe.crypto.keyring.Keyring` stands on."""

from typing import Protocol

from msgspec import Struct

from eunoe.crypto.hierarchy import WrappedKey
from eunoe.schemas.ids import Bucket, KeyId, Pseudonym, TenantId


class SubjectKeyState(Struct, frozen=True, kw_only=True):
    """A subject's keys as the log has them.

    ``generation`` is the latest one (from 1); ``closed``: it was forgotten and not readmitted, so it has no open one.
    ``root_key_id`` is the root of the open generation, None when closed.
    """

    generation: int
    closed: bool
    root_key_id: KeyId | None

    def erased(self, generation: int) -> bool:
        """Whether what was sealed in ``generation`` counts as erased."""
        return generation < self.generation or (self.closed and generation == self.generation)


class KeySource(Protocol):
    """Answers from what it has folded of the log; the contract suite is ``tests/contract/test_key_source.py``.

    Every method answers None where nothing is known. Where something is known to be closed or destroyed, it raises
    ``KeyClosed``: ``tenant`` for a forgotten tenant, ``key`` and ``data_key`` for a destroyed key that it still
    remembers (it need not: after compaction a tombstone is gone) or of which the log says that the one record it served
    is over. Where it cannot tell, because the store does not answer or is rebuilding, it raises
    ``KeySourceUnavailable``; never None.
    """

    async def tenant(self, tenant: TenantId) -> WrappedKey | None:
        """The tenant key of the open incarnation."""
        ...

    async def key(self, tenant: TenantId, key_id: KeyId) -> WrappedKey | None:
        """Any key by its id; ``tenant`` is ``NO_TENANT`` for a dead-letter key. A foreign tenant's key is not found."""
        ...

    async def data_key(
        self, tenant: TenantId, subject: Pseudonym, generation: int, bucket: Bucket
    ) -> WrappedKey | None:
        """The data key that serves this bucket of this generation."""
        ...

    async def subject(self, tenant: TenantId, subject: Pseudonym) -> SubjectKeyState | None:
        """Whether the subject is known, and open; a subject of a forgotten tenant raises ``KeyClosed``."""
        ...
