"""Several KEKs held at once while one takes another's place: which of them wraps, and which no longer counts.

What holds is said on ``memory-control``, not by the order in a process's settings: all processes wrap with the new one
from the same record on, so a process that has not met the new one yet never meets a key wrapped under it.
"""

from collections.abc import Iterable
from typing import final

from eunoe.crypto.derive import Secretive
from eunoe.crypto.errors import RetiredKek, WrongKek
from eunoe.crypto.kek import KeyEncryptionKey, kek_id_of


@final
class KekRing(Secretive):
    """Itself a `KeyEncryptionKey`. The first of ``held`` wraps until `follow` says otherwise."""

    __slots__ = ("_held", "_retired", "_wraps", "first")

    def __init__(self, held: Iterable[KeyEncryptionKey]) -> None:
        found = tuple(held)
        self._held = {each.kek_id: each for each in found}
        self.first: str = found[0].kek_id
        self._wraps = self.first
        self._retired: str | None = None

    def __repr__(self) -> str:
        return f"KekRing({', '.join(self._held)}; wraps with {self._wraps})"

    @property
    def kek_id(self) -> str:
        return self._wraps

    @property
    def held(self) -> tuple[str, ...]:
        """The ids of all that are held, retired or not."""
        return tuple(self._held)

    @property
    def others(self) -> tuple[str, ...]:
        """The ids of those that do not wrap."""
        return tuple(each for each in self._held if each != self._wraps)

    def follow(self, wraps: str, *, retired: str | None = None, dropped: str | None = None) -> None:
        """From now on ``wraps`` wraps; ``retired`` neither wraps nor unwraps; ``dropped`` is held no more.

        Raises ``WrongKek`` where ``wraps`` is not held here: then nothing must be opened or wrapped any more.
        """
        if dropped is not None and dropped != wraps:
            self._held.pop(dropped, None)
        self._wraps, self._retired = wraps, retired
        if wraps not in self._held:
            raise WrongKek(wraps, ", ".join(self._held) or "none")

    def opens(self, kek_id: str) -> bool:
        return kek_id in self._held and kek_id != self._retired

    def wrap(self, plain: bytes, aad: bytes) -> bytes:
        if self._wraps == self._retired:
            raise RetiredKek(self._wraps, "wrap")
        return self._named(self._wraps).wrap(plain, aad)

    def unwrap(self, wrapped: bytes, aad: bytes) -> bytes:
        kek_id = kek_id_of(wrapped)
        if kek_id == self._retired:
            raise RetiredKek(kek_id, "unwrap")
        return self._named(kek_id).unwrap(wrapped, aad)

    def with_retired(self) -> "KekRing":
        """The same keys, none of them retired: to wrap anew what is still found under the retired one."""
        ring = KekRing(self._held.values())
        ring._wraps = self._wraps
        return ring

    def alone(self, kek_id: str) -> KeyEncryptionKey:
        """One of those that are held, without the others. Raises ``WrongKek``."""
        return self._named(kek_id)

    def _named(self, kek_id: str) -> KeyEncryptionKey:
        found = self._held.get(kek_id)
        if found is None:
            raise WrongKek(kek_id, ", ".join(self._held) or "none")
        return found
