"""Where a rebuild stands in each partition: what to begin, to go on with, to take back or to remove."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from eunoe.readmodels.rebuild.errors import NoSuchGeneration
from eunoe.readmodels.store import answers
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.generations import TO_SERVE, Generations, GenerationStore
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

    async def begin(self, purposes: Mapping[Partition, str] | None = None) -> Sequence[Prefix]:
        """The generation to fill in each partition: what was begun before, else a new one of a number for all.

        ``purposes``: what it is for, where that is not to serve. A partition that was switched before an earlier call
        ended is done, and left out. What an earlier removal has left is removed first. Raises `NoSuchGeneration` where
        the generation from before the last switch is still kept, `NotChanged` where another one was begun.
        """
        await self.remove(await self.left())
        wanted, found = purposes or {}, await self.generations()
        least = 1 + max(each.last for each in found.values())
        begun = any(each.building is not None for each in found.values())
        kept = sorted({each.kept for each in found.values() if each.kept is not None})
        if kept and not begun:
            raise NoSuchGeneration(
                self.model, f"generation {kept[0]} is still kept from the last rebuild; remove it first with --retire"
            )
        back = sorted({each.kept for each in found.values() if each.kept is not None and each.kept > each.serving})
        if back:
            raise NoSuchGeneration(
                self.model,
                f"generation {back[0]} was taken back before every partition had it; remove it first with "
                "--retire and --abandon",
            )
        open_places = [prefix for prefix, each in found.items() if each.building is not None or each.kept is None]
        with answers("beginning a generation"):
            return [await self.begun(each, wanted.get(each.partition, TO_SERVE), least) for each in open_places]

    async def begun(self, prefix: Prefix, purpose: str, least: int) -> Prefix:
        """The generation to fill in one partition."""
        number, _ = await self.store.begin(prefix, purpose, least)
        return prefix.of(number)

    async def left(self) -> Sequence[Prefix]:
        """Retired generations of which something may be left, for their removal did not come to its end."""
        found = await self.generations()
        return [prefix.of(number) for prefix, each in found.items() for number in each.retiring]

    async def kept(self) -> Sequence[tuple[Prefix, int]]:
        """What `--rollback` goes back to, with what serves there, in the partitions that have not gone back yet.

        The generation before the last switch. Where some partitions serve an older one than others, a switch or a way
        back did not come to its end: then it is the older one, wherever it does not serve.
        """
        found = await self.generations()
        part = len({each.serving for each in found.values()}) > 1
        return [
            (prefix.of(each.kept), each.serving)
            for prefix, each in found.items()
            if each.kept is not None and (each.kept < each.serving or not part)
        ]

    async def remove(self, prefixes: Sequence[Prefix]) -> int:
        """Retire these generations and unlink what they hold, in small steps. Returns how many keys went."""
        gone = 0
        with answers("removing a generation"):
            for prefix in prefixes:
                await self.store.retire(prefix)
            for prefix in prefixes:
                mark = prefix.watermark.encode()
                gone += await unlink_all(self.redis, f"{prefix}*", mark.__eq__)
                await self.store.cleared(prefix)
        return gone
