"""How far every generation of every read model is, and what it holds, as a digest."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from eunoe.console.board import PartName
from eunoe.console.from_log import Look
from eunoe.console.from_redis import store_of
from eunoe.console.known_log import KnownLog
from eunoe.console.snapshot import Model, ModelPartition, Models, Service
from eunoe.operations.lag import GROUPS, Group
from eunoe.readmodels.store import ask, texts
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.generations import Generations
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Millis, Partition

SERVING: Final = "serving"
BUILDING: Final = "being built"
KEPT: Final = "kept for a way back"
FROZEN: Final = "as of an earlier time"


@dataclass(frozen=True, slots=True)
class ModelsSource:
    settings: Settings
    known: KnownLog
    name: PartName = "models"
    asks: tuple[Service, ...] = (Service.REDIS,)
    every: float = 1.0
    deadline: float = 5.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        async with store_of(self.settings) as redis:

            async def look() -> Models:
                self.known.still(installation)
                return Models(
                    models=tuple([await model_of(redis, installation, each) for each in GROUPS]),
                    max_lag=self.settings.max_read_lag / 1_000,
                )

            yield look


async def model_of(redis: Redis, installation: Installation, group: Group) -> Model:
    """Every generation of the group's read model, in each partition: the serving one first."""
    models = [Prefix(installation.log_id, Partition(number), group.model) for number in range(installation.partitions)]
    answers = await ask(redis, *(("HGETALL", each.generations) for each in models))
    found = [Generations.of(texts(each)) for each in answers]
    places = [
        (prefix.of(number), role_of(generations, number))
        for prefix, generations in zip(models, found, strict=True)
        for number in generations.all
    ]
    marks = await ask(redis, *(("HGETALL", prefix.watermark) for prefix, _ in places))
    return Model(
        name=group.model,
        topic=installation.topic(group.topic),
        partitions=tuple(
            _partition(prefix, role, texts(mark), group.mark)
            for (prefix, role), mark in zip(places, marks, strict=True)
        ),
    )


def role_of(generations: Generations, number: int) -> str:
    """What a generation is there for."""
    if number == generations.serving:
        return SERVING
    if number == generations.building:
        return BUILDING
    return FROZEN if number in generations.frozen else KEPT


def _partition(prefix: Prefix, role: str, marks: Mapping[str, str], mark: str) -> ModelPartition:
    return ModelPartition(
        partition=prefix.partition,
        generation=prefix.generation,
        role=role,
        position=_count(marks.get(mark)),
        caught_up_at=None if "caught_up_at" not in marks else Millis(int(marks["caught_up_at"])),
        log_end=_count(marks.get("log_end")),
        items=_count(marks.get("items")),
        digest=marks.get("digest"),
    )


def _count(text: str | None) -> int | None:
    return None if text is None else int(text)
