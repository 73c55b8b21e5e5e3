"""The role `project`: one service per read model, each its own consumer group, each stopped or rebuilt by itself."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from eunoe.readmodels import history, outcomes, review, subjects
from eunoe.readmodels.as_of import AsOf
from eunoe.readmodels.feed import Feeds
from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.keys import KeysModel
from eunoe.readmodels.outcomes import OutcomesModel
from eunoe.readmodels.projector import Pace, ProjectorLane, ReadModel
from eunoe.readmodels.recall import keys as recall_keys
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.review import ReviewModel
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.metrics import BEHIND, HEALED, PROJECTED, Meter
from eunoe.runtime.redis.generations import Generations, GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Offset, Partition, TenantId
from eunoe.worker.foundation import Foundation
from eunoe.worker.freshness import Freshness
from eunoe.worker.generations import FollowedGenerations
from eunoe.worker.lanes import LaneService
from eunoe.worker.prometheus import Reading
from eunoe.worker.together import together

SERVING: Final = (subjects.NAME, outcomes.NAME, history.NAME, recall_keys.MODEL, review.NAME)
"""The read models of ``memory-lifecycle`` that readers are answered from: all that a closing event must reach."""
_TEND_EVERY_S: Final = 1.0


class Tended(Protocol):
    """A model that removes in small steps what nobody can read any more."""

    async def tend(self, prefix: Prefix) -> bool:
        """One step; True while there is more."""
        ...


class Measured(Protocol):
    """A model with figures of its own."""

    def readings(self, partition: Partition) -> Iterable[Reading]:
        """Its gauges of one partition, as last taken; asks nobody."""
        ...


@dataclass(slots=True, kw_only=True)
class ProjectedModel:
    """One read model of this worker and the lanes it runs. ``feeds`` are the worker's, for all its models."""

    model: ReadModel[Any]
    foundation: Foundation
    tended: Tended | None = None
    measured: Measured | None = None
    feeds: Feeds
    timed: Meter | None = None
    """Is told how soon a write is readable here."""
    fresh: dict[Partition, Freshness] = field(default_factory=dict)
    lanes: dict[Prefix, ProjectorLane[Any]] = field(default_factory=dict)
    following: dict[Partition, FollowedGenerations] = field(default_factory=dict)

    @property
    def running(self) -> Mapping[Partition, ProjectorLane[Any]]:
        """The lanes of the generations that serve, by partition."""
        serving = {partition: each.serving for partition, each in self.following.items()}
        return {partition: self.lanes[prefix] for partition, prefix in serving.items() if prefix in self.lanes}

    def service(self, meter: Meter) -> LaneService:
        base = self.foundation
        return LaneService(
            self.model.name,
            self.model.source,
            self._work,
            settings=base.settings,
            installation=base.installation,
            meter=meter,
        )

    async def _work(self, partition: Partition) -> None:
        base = self.foundation
        prefix = Prefix(base.installation.log_id, partition, self.model.name)
        store = GenerationStore(base.redis)
        followed = FollowedGenerations(store=store, prefix=prefix, project=self._project)
        self.following[partition] = followed
        try:
            await followed.run()
        finally:
            if self.following.get(partition) is followed:
                del self.following[partition]

    async def _project(self, prefix: Prefix, generations: Generations) -> None:
        base = self.foundation
        until = generations.frozen.get(prefix.generation)
        lane: ProjectorLane[Any] = ProjectorLane(
            self.model if until is None else AsOf(self.model, Offset(until)),
            prefix.partition,
            installation=base.installation,
            bootstrap=base.settings.brokers,
            redis=base.redis,
            generation=prefix.generation,
            named=True,
            feeds=self.feeds,
            pace=Pace(batch=base.settings.project_batch),
            written=self._written(prefix.partition),
        )
        self.lanes[prefix] = lane
        try:
            await together(lane.run(), self._tend(prefix))
        finally:
            if self.lanes.get(prefix) is lane:
                del self.lanes[prefix]

    def _written(self, partition: Partition) -> Callable[[Sequence[Positioned[Any]]], None] | None:
        if self.timed is None:
            return None
        return self.fresh.setdefault(partition, Freshness(self.timed, self.foundation.clock)).written

    async def _tend(self, prefix: Prefix) -> None:
        while self.tended is not None:
            heed_cancellation()
            if not await self.tended.tend(prefix):
                await asyncio.sleep(_TEND_EVERY_S)

    def readings(self) -> Iterable[Reading]:
        for partition, lane in self.running.items():
            labels = (self.model.name, str(partition))
            yield PROJECTED, labels, lane.position
            if lane.behind is not None:
                yield BEHIND, labels, lane.behind
            if self.measured is not None:
                yield from self.measured.readings(partition)
        yield HEALED, (self.model.name,), sum(lane.healed for lane in self.running.values())


def _one_language(language: str) -> Callable[[TenantId], Analyser]:
    analyser = Analyser(language=language)
    return lambda _: analyser


def read_models(foundation: Foundation, meter: Meter | None = None) -> tuple[ProjectedModel, ...]:
    """Every read model there is, the foundations of the others first. ``meter`` is told how soon a write is found."""
    redis = foundation.redis
    recall = RecallModel(
        redis=redis,
        keyring=foundation.keyring(),
        passed=foundation.key_models,
        analyser=_one_language(foundation.settings.language),
    )
    review = ReviewModel(redis, foundation.clock.now)
    made = partial(ProjectedModel, foundation=foundation, feeds=Feeds())
    return (
        made(model=KeysModel(redis)),
        made(model=SubjectsModel(redis)),
        made(model=OutcomesModel(redis)),
        made(model=HistoryModel()),
        made(model=recall, tended=recall, timed=meter),
        made(model=review, tended=review, measured=review),
    )
