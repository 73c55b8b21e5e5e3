"""A bounded cache of opened keys: by count, by age, and emptied at once for one subject or tenant."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from msgspec import Struct

from eunoe.schemas.ids import Millis, Pseudonym, TenantId

K = TypeVar("K")
V = TypeVar("V")

Owner = tuple[TenantId, Pseudonym | None]
"""Whose key it is: a subject's, or (None) the tenant's or installation's own."""


class CacheLimits(Struct, frozen=True, kw_only=True):
    """``entries`` bounds memory, at about 1 KB for an opened cipher; ``age`` is in milliseconds.

    A destroyed key is dropped when its erasure is folded; ``age`` is the bound for a process that misses that.
    """

    entries: int = 10_000
    age: int = 600_000


class AgedCache(Generic[K, V]):
    """Least recently used goes first. ``clock`` gives ms; one that steps back makes entries stale, never fresher."""

    __slots__ = ("_by_owner", "_clock", "_entries", "limits")

    def __init__(self, limits: CacheLimits, clock: Callable[[], Millis]) -> None:
        if limits.entries < 1 or limits.age < 1:
            raise ValueError("a cache holds at least one entry for at least one millisecond")
        self.limits: Final = limits
        self._clock = clock
        self._entries: OrderedDict[K, tuple[V, Millis, Owner]] = OrderedDict()
        self._by_owner: dict[Owner, set[K]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value, unless it is absent or too old."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not 0 <= self._clock() - entry[1] < self.limits.age:
            self.drop(key)
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, owner: Owner) -> None:
        """Holds ``value``; the least recently used entry leaves where the cache is full."""
        self.drop(key)
        while len(self._entries) >= self.limits.entries:
            self.drop(next(iter(self._entries)))
        self._entries[key] = (value, self._clock(), owner)
        self._by_owner.setdefault(owner, set()).add(key)

    def drop(self, key: K) -> None:
        """Forgets one entry; nothing happens where it is absent."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        keys = self._by_owner[entry[2]]
        keys.discard(key)
        if not keys:
            del self._by_owner[entry[2]]

    def drop_subject(self, owner: Owner) -> None:
        """Forgets everything of one owner; the cost is that of what it holds."""
        for key in tuple(self._by_owner.get(owner, ())):
            self.drop(key)

    def drop_tenant(self, tenant: TenantId) -> None:
        """Forgets everything of a tenant and its subjects; looks at every owner, for this is rare."""
        for owner in [each for each in self._by_owner if each[0] == tenant]:
            self.drop_subject(owner)

    def clear(self) -> None:
        """Forgets everything."""
        self._entries.clear()
        self._by_owner.clear()
