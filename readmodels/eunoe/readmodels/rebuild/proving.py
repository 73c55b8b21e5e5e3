"""Proof that a generation holds what the serving one holds, at one offset."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from msgspec import Struct
from redis.asyncio import Redis

from eunoe.readmodels.projector import ReadModel
from eunoe.readmodels.rebuild.content import Content, Difference, content_of, differences
from eunoe.readmodels.rebuild.errors import NotInTime, NotTheSame
from eunoe.readmodels.serving import Serving
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Offset, Partition

PAUSE_S: Final = 0.1
_MEETING_S: Final = 5.0
_TOLD: Final = 10


class Tended(Protocol):
    async def tend(self, prefix: Prefix) -> bool:
        """One step of removing what nobody can read; True while there is more."""
        ...


class Check(Protocol):
    """A proof beyond the digest. Raises where it fails."""

    async def check(self, live: Prefix, built: Prefix) -> Mapping[str, int]:
        """What was looked at, by name and number."""
        ...

    async def found(self, built: Prefix) -> int:
        """As far as it needs no other generation to compare with. How much was looked at."""
        ...


class Proof(Struct, frozen=True, kw_only=True):
    """Both generations held this at this position, and what else was looked at."""

    partition: Partition
    generation: int
    content: Content
    checks: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving:
    """``fold`` folds the log into a generation up to an offset. ``patience`` in seconds: how long the two may take to
    stand at one offset and hold the same."""

    model: ReadModel[Any]
    redis: Redis
    installation: Installation
    fold: Callable[[Prefix, Offset], Awaitable[None]]
    tended: Tended | None
    checks: Sequence[Check]
    patience: float

    async def prove(self, prefix: Prefix) -> Proof:
        """That the generation holds what the serving one holds. Raises `NotTheSame` or `NotInTime`, or as a check.

        What is removed beside the log, or was erased by a later record, makes them differ for a moment: so they are
        compared again, at later offsets, before that is believed.
        """
        serving = Serving(self.redis, self.installation, self.model.name)
        deadline = time.monotonic() + self.patience
        while True:
            live = await serving.look(prefix.partition)
            here, there = await self._met(live, prefix, deadline)
            if here.position == there.position:
                looked = await self._same(live, prefix, here, there)
                if looked is not None:
                    break
            if time.monotonic() > deadline:
                await self._differs(live, prefix, here, there)
            await asyncio.sleep(PAUSE_S)
        for each in self.checks:
            looked = {**looked, **await each.check(live, prefix)}
        return Proof(partition=prefix.partition, generation=prefix.generation, content=there, checks=looked)

    async def look_for_records(self, prefix: Prefix) -> None:
        """What can be looked at where the two were not the same, and that was accepted. Raises what a check raises."""
        for each in self.checks:
            await each.found(prefix)

    async def _met(self, live: Prefix, prefix: Prefix, deadline: float) -> tuple[Content, Content]:
        """What both hold once the one that is built has come to where the other one was."""
        here = await content_of(self.redis, live)
        try:
            async with asyncio.timeout(max(PAUSE_S, deadline - time.monotonic())):
                await self.fold(prefix, here.position)
        except TimeoutError:
            problem = f"it did not come to {here.position}, where the serving one is: does the log reach that far?"
            raise NotInTime(self.model.name, prefix.partition, problem) from None
        while self.tended is not None and await self.tended.tend(prefix):
            pass
        return here, await content_of(self.redis, prefix)

    async def _same(self, live: Prefix, prefix: Prefix, here: Content, there: Content) -> Mapping[str, int] | None:
        """What was looked at besides the digests; None where they do not hold the same.

        Where workers of several versions wrote one of them no digest tells, so item after item is looked at.
        """
        if there.comparable_with(here):
            return {} if there.same_as(here) else None
        if await self._found(live, prefix):
            return None
        return {"compared one by one": there.items}

    async def _differs(self, live: Prefix, built: Prefix, here: Content, there: Content) -> None:
        partition, model = built.partition, self.model.name
        if there.position != here.position:
            problem = f"the generation that serves is at {here.position}, the one that was built at {there.position}"
            raise NotInTime(model, partition, f"{problem}, and they do not meet: are workers running?")
        found = await self._found(live, built)
        raise NotTheSame(model, partition, here.position, (here.number, there.number), found)

    async def _found(self, live: Prefix, built: Prefix) -> Sequence[Difference]:
        assert self.model.functions is not None

        async def meet() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MEETING_S):
                    await self.fold(built, (await content_of(self.redis, live)).position)

        return await differences(self.redis, live, built, self.model.functions, _TOLD, meet)
