"""`eunoe restore`: read models filled again after Redis lost them, in the order in which they need each other.

Workers do the same by themselves; this says what is being done, how far it is, and when all of it is there. What it
fills are the generations that serve, so that it may run beside workers or without any.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from eunoe.readmodels import keys, subjects
from eunoe.readmodels.rebuild.content import Content, content_of
from eunoe.readmodels.rebuild.pacing import Throttle
from eunoe.readmodels.rebuild.rebuilding import Progress, Rebuild
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.older_log import check_erasure_ledger
from eunoe.worker.project import ProjectedModel, read_models

FIRST: Final = (keys.NAME, subjects.NAME)
"""The foundations: no other model can open what it folds without them."""
Telling = Callable[[str, Progress], None]


class Restored(Struct, frozen=True, kw_only=True):
    """One read model: ``records`` were folded by this call; ``contents`` by partition afterwards."""

    model: str
    records: int
    contents: tuple[Content, ...]

    @property
    def document(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "folded": self.records,
            "partitions": [
                {"partition": number, "position": each.position, "items": each.items, "digest": each.digest}
                for number, each in enumerate(self.contents)
            ],
        }


@dataclass(slots=True, kw_only=True)
class Restoring:
    """Made by `restoring`."""

    settings: Settings
    foundation: Foundation
    telling: Telling
    rate: float | None = None
    done: list[Restored] = field(default_factory=list)

    async def run(self) -> Sequence[Restored]:
        """Every read model, the foundations first. Raises what a projector raises, and `LogDoesNotReachBack`."""
        models = read_models(self.foundation)
        for each in sorted(models, key=lambda one: one.model.name not in FIRST):
            self.done.append(await self._fill(each))
        return self.done

    async def _fill(self, projected: ProjectedModel) -> Restored:
        base, name, folded = self.foundation, projected.model.name, 0

        def tell(progress: Progress) -> None:
            nonlocal folded
            folded = progress.records
            self.telling(name, progress)

        rebuild = Rebuild(
            model=projected.model,
            redis=base.redis,
            installation=base.installation,
            bootstrap=self.settings.brokers,
            throttle=Throttle(redis=base.redis, rate=self.rate),
            progress=tell,
            tended=projected.tended,
        )
        prefixes = [await self._serving(name, number) for number in range(base.installation.partitions)]
        await rebuild.fill(prefixes)
        contents = [await content_of(base.redis, each) for each in prefixes]
        return Restored(model=name, records=folded, contents=tuple(contents))

    async def _serving(self, model: str, partition: int) -> Prefix:
        base = self.foundation
        return await GenerationStore(base.redis).serving(Prefix(base.installation.log_id, Partition(partition), model))


@asynccontextmanager
async def restoring(settings: Settings, telling: Telling, rate: float | None = None) -> AsyncIterator[Restoring]:
    """Raises as `open_foundation`, and `OlderLog` where the log lacks an erasure that the erasure ledger knows."""
    async with open_foundation(settings) as foundation:
        await check_erasure_ledger(settings, foundation)
        yield Restoring(settings=settings, foundation=foundation, telling=telling, rate=rate)
