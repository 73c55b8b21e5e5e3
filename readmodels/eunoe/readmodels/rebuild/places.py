"""Where a rebuild stands in each partition: what to begin, to go on with, to take back or to remove."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from eunoe.readmodels.rebuild.errors import NoSuchGeneration
from eunoe.readmodels.store import answers
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.generations import Generations, GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.unlinking import unlink_all
from eunoe.schemas.ids import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """One model in every partition."""

    redis: Redis
    installation: Installation
    model: str

    @property
    def store(self) -> GenerationStore:
        return GenerationStore(self.redis)

    def prefix(self, partition: int) -> Prefix:
        return Prefix(self.installation.log_id, Partition(partition), self.model)

    async def generations(self) -> Mapping[Prefix, Generations]:
        """By the prefix of the first generation, in the order of partitions."""
        with answers("reading generations"):
            prefixes = [self.prefix(each) for each in range(self.installation.partitions)]
            return {each: await self.store.of(each) for each in prefixes}

    async def begin(self) -> Sequence[Prefix]:
        """The generation to fill in each partition: what was begun before, else a new one.

        A partition that was switched before an earlier call ended is done, and left out. Raises `NoSuchGeneration`
        where the generation from before the last switch is still kept.
        """
        found = await self.generations()
        begun = any(each.building is not None for each in found.values())
        kept = sorted({each.kept for each in found.values() if each.kept is not None})
        if kept and not begun:
            raise NoSuchGeneration(
                self.model, f"generation {kept[0]} is still kept from the last rebuild; remove it first with --retire"
            )
        open_places = [prefix for prefix, each in found.items() if each.building is not None or each.kept is None]
        with answers("beginning a generation"):
            return [each.of((await self.store.begin(each))[0]) for each in open_places]

    async def kept(self) -> Sequence[tuple[Prefix, int]]:
        """The generation before the last switch, with the one that serves, where there is one."""
        found = await self.generations()
        return [(prefix.of(each.kept), each.serving) for prefix, each in found.items() if each.kept is not None]

    async def remove(self, prefixes: Sequence[Prefix]) -> int:
        """Retire these generations and unlink what they hold, in small steps. Returns how many keys went."""
        gone = 0
        with answers("removing a generation"):
            for prefix in prefixes:
                await self.store.retire(prefix)
            for prefix in prefixes:
                mark = prefix.watermark.encode()
                gone += await unlink_all(self.redis, f"{prefix}*", mark.__eq__)
        return gone
