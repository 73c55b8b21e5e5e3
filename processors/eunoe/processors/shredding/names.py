"""The shredder's key names in Redis. Nothing else builds them. All of it can be folded anew from offset 0.

``todo``                            sorted set: unit that is due -> log time of the fact that made it so
``due``                             sorted set: unit that will be due -> when (wall clock)
``done``                            hash: generation or record whose keys are destroyed -> offset of its last tombstone
``until``                           string: heartbeats are written up to then (wall clock)
``guarded``                         set: keys that are never destroyed here (tenant keys)
``held``                            set: generations under a legal hold: nothing of theirs is destroyed
``keys:<tenant>:<subject>:<gen>``   set: keys of a generation that are not destroyed yet
``about:<tenant>:<subject>:<gen>``  set: records of others, with a key of their own, that are about this person
``own:<tenant>:<memory id>``        string: the key that serves this record alone
``tenant:<tenant>:<incarnation>``   set: every key that was given to it, and the three kinds of names above that are
                                    its people's and records' (which hold a ``:``, as no key id does)
"""

from typing import Final

from msgspec import Struct

from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import LogId, MemoryId, Partition, Pseudonym, TenantId

MODEL: Final = "shred"
LETTERS: Final = "shred-letters"
"""The same names for what only ``memory-keys`` tells: the day keys of dead letters."""


def shred_prefix(log_id: LogId, partition: Partition, model: str = MODEL) -> Prefix:
    return Prefix(log_id, partition, model)


class ShredNames(Struct, frozen=True):
    """The keys of one partition."""

    prefix: Prefix

    @property
    def todo(self) -> str:
        return self.prefix.key("todo")

    @property
    def due(self) -> str:
        return self.prefix.key("due")

    @property
    def done(self) -> str:
        return self.prefix.key("done")

    @property
    def until(self) -> str:
        return self.prefix.key("until")

    @property
    def guarded(self) -> str:
        return self.prefix.key("guarded")

    @property
    def held(self) -> str:
        return self.prefix.key("held")

    def keys(self, tenant: TenantId, subject: Pseudonym, generation: int) -> str:
        return self.prefix.key(f"keys:{tenant}:{subject}:{generation}")

    def about(self, tenant: TenantId, subject: Pseudonym, generation: int) -> str:
        return self.prefix.key(f"about:{tenant}:{subject}:{generation}")

    def tenant(self, tenant: TenantId, incarnation: int) -> str:
        return self.prefix.key(f"tenant:{tenant}:{incarnation}")

    def rest(self, name: str) -> str:
        """What follows the prefix in a name that is built here."""
        return name.removeprefix(str(self.prefix))

    def own(self, tenant: TenantId, memory_id: MemoryId) -> str:
        return self.prefix.key(f"own:{tenant}:{memory_id}")
