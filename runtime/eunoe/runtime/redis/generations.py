"""Which generations of a read model there are in a partition, and which one readers are answered from.

Kept in the partition's own slot, beside the data, so that a Function can look at both at once. A Redis that lost
everything has lost this too: then generation 1 answers, and is filled anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.runtime.redis.errors import ProjectionError
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions, lua
from eunoe.runtime.redis.prefix import Prefix

FIRST: Final = 1
RETIRED: Final = -1
"""The position of a generation that is projected no more."""
TO_SERVE: Final = "serve"
"""What a generation is built for that shall serve; one as of then is for its offset."""
_FROZEN: Final = "frozen:"
_RETIRING: Final = "retiring:"
_LIBRARY: Final = FunctionLibrary(
    "eunoe_generations",
    lua("eunoe.runtime.redis", "generations.lua"),
    {"begin": False, "join": False, "switch": False, "freeze": False, "retire": False, "cleared": False},
)


class Generations(Struct, frozen=True, kw_only=True):
    """``serving`` answers; ``kept`` is the one before it, for a way back; ``building`` is being filled, and projected
    by workers too once ``joined``. ``frozen``: those as of then, and the offset before which each was built.
    ``retiring``: read and projected no more, and perhaps not all removed. ``last``: the highest number ever given."""

    serving: int = FIRST
    kept: int | None = None
    building: int | None = None
    joined: bool = False
    frozen: Mapping[int, int] = {}
    retiring: tuple[int, ...] = ()
    last: int = FIRST

    @staticmethod
    def of(fields: Mapping[str, str]) -> "Generations":
        """From the hash; an empty one is that of a model that was never rebuilt."""
        kept, building = fields.get("kept"), fields.get("building")
        return Generations(
            serving=int(fields.get("serving", FIRST)),
            kept=None if kept is None else int(kept),
            building=None if building is None else int(building),
            joined="joined" in fields,
            frozen={
                int(name.removeprefix(_FROZEN)): int(value)
                for name, value in fields.items()
                if name.startswith(_FROZEN)
            },
            retiring=tuple(sorted(int(name.removeprefix(_RETIRING)) for name in fields if name.startswith(_RETIRING))),
            last=int(fields.get("last", FIRST)),
        )

    @property
    def followed(self) -> Sequence[int]:
        """Those that a worker keeps up to date, the serving one first."""
        joined = self.building if self.joined else None
        return [self.serving, *(each for each in (self.kept, joined) if each is not None), *sorted(self.frozen)]

    @property
    def all(self) -> Sequence[int]:
        """Every one that is there to be read or filled, the serving one first."""
        others = {each for each in (self.kept, self.building, *self.frozen) if each is not None}
        return [self.serving, *sorted(others - {self.serving})]


@dataclass(eq=False)
class NotChanged(ProjectionError):
    """A generation is not what the caller took it for; nothing was changed. ``why`` as in ``generations.lua``."""

    prefix: Prefix
    why: str
    details: Sequence[int]

    def __str__(self) -> str:
        where = f"{self.prefix.model} partition {self.prefix.partition}, generation {self.prefix.generation}"
        match self.why:
            case "behind":
                return f"{where}: it is at {self.details[0]}, the serving one at {self.details[1]}"
            case "serving":
                return f"{where}: generation {self.details[0]} serves"
            case "kept":
                return f"{where}: generation {self.details[0]} is still kept from before; retire it first"
            case "purpose":
                return (
                    f"{where}: generation {self.details[0]} was begun for something else and is not finished: finish "
                    "that, or give it up with --abandon"
                )
            case "joined":
                return f"{where}: workers project it already as one that shall serve"
            case "unknown":
                return f"{where}: there is no such generation to switch to"
            case _:
                return f"{where}: it is not being built"


class GenerationStore:
    """Reads and changes the generations. Every change is one Function call that checks what it starts from."""

    def __init__(self, redis: Redis, functions: LoadedFunctions | None = None) -> None:
        self._redis = redis
        self._functions = functions or _LIBRARY.load()

    async def of(self, prefix: Prefix) -> Generations:
        """The generations of the prefix's model in its partition."""
        found: Any = await self._redis.hgetall(prefix.generations)
        return Generations.of({_text(name): _text(value) for name, value in found.items()})

    async def serving(self, prefix: Prefix) -> Prefix:
        """The generation that answers for the prefix's model in its partition."""
        return prefix.of((await self.of(prefix)).serving)

    async def filled(self, prefix: Prefix) -> Mapping[Prefix, int]:
        """Every generation of the prefix's model in its partition that holds anything, and how far it is; the serving
        one in any case, and first. One that is being removed is at 0: it will come no further, and is not gone."""
        found = {}
        generations = await self.of(prefix)
        for number in generations.all:
            each = prefix.of(number)
            position = int(await self._redis.hget(each.watermark, "position") or 0)
            if position > 0 or number == generations.serving:
                found[each] = position
        return found | {prefix.of(number): 0 for number in generations.retiring}

    async def begin(self, prefix: Prefix, purpose: str = TO_SERVE, least: int = FIRST) -> tuple[int, bool]:
        """The generation to build: the one begun before, or (True) a new one, of number ``least`` at the lowest.

        Workers do not project it. Raises `NotChanged` where the one begun before is for another ``purpose``.
        """
        number, fresh = await self._call("begin", prefix, purpose, least)
        return number, bool(fresh)

    async def join(self, prefix: Prefix) -> None:
        """Workers project the prefix's generation, which is being built, from now on."""
        await self._call("join", prefix, prefix.generation)

    async def switch(self, prefix: Prefix, serving: int, *, behind: bool = False) -> tuple[int, int]:
        """Readers are answered from the prefix's generation instead of ``serving``, which is kept.

        ``behind``: also where it has not come as far. Returns the positions of the two. Raises `NotChanged`.
        """
        there, here = await self._call("switch", prefix, serving, prefix.generation, int(behind))
        return there, here

    async def freeze(self, prefix: Prefix, until: int) -> None:
        """The prefix's generation, which is being built, is one as of before the offset ``until``."""
        await self._call("freeze", prefix, prefix.generation, until)

    async def retire(self, prefix: Prefix) -> None:
        """The prefix's generation is projected and read no more. Its keys are still there, until `cleared` is said."""
        await self._call("retire", prefix, prefix.generation)

    async def cleared(self, prefix: Prefix) -> None:
        """Nothing is left of the prefix's generation, which was retired."""
        await self._call("cleared", prefix, prefix.generation)

    async def _call(self, name: str, prefix: Prefix, *arguments: int | str) -> Sequence[int]:
        answer = await self._functions.call(self._redis, name, (prefix.generations,), arguments)
        if answer[0] != 1:
            raise NotChanged(prefix, _text(answer[1]), [int(each) for each in answer[2:]])
        return [int(each) for each in answer[1:]]


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
