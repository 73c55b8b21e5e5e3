"""Projecting into `recall` beside bare pipelines: the same records, in batches of the same size, turn about."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.author import publish
from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground, forget
from eunoe.bench.inside import Calls, calls_of, used_memory
from eunoe.bench.postings import Command, PlainWriter, postings_in, write
from eunoe.bench.project_report import PIPELINE, PROJECTING, WRITING, Seen, Sizes, report
from eunoe.bench.sealed import NothingToWaitFor, Sealer
from eunoe.bench.text import ZipfText
from eunoe.readmodels.projector import Pace as LanePace
from eunoe.readmodels.projector import ProjectorLane
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.steps import steps_of
from eunoe.runtime.redis.functions import LoadedFunctions
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation, Step, Watermark
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import Event
from eunoe.schemas.ids import Offset, TenantId
from eunoe.schemas.topics import Topic

TENANT: Final = TenantId("bench")
_WRITING_GENERATION: Final = 90
Progress = Callable[[str], None]


@dataclass(slots=True)
class TimedModel:
    """`recall`, noting when each batch begins to be folded; by then the batch before it is in Redis."""

    model: RecallModel
    marks: list[tuple[float, int]] = field(default_factory=list)
    done: int = 0
    name: str = field(init=False)
    source: Topic = field(init=False)
    functions: LoadedFunctions = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.source, self.functions = self.model.name, self.model.source, self.model.functions

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        self.marks.append((time.perf_counter(), self.done))
        self.done += len(records)
        return await self.model.fold(prefix, records)

    @property
    def rate(self) -> float:
        """Records per second from the first batch to the beginning of the last."""
        if len(self.marks) < 2:
            raise ValueError("one batch has no rate: ask for more records than fit in one")
        return self.marks[-1][1] / (self.marks[-1][0] - self.marks[0][0])


@dataclass(slots=True, kw_only=True)
class ProjectBench:
    """One run. Each contender fills keys of its own, which are removed before the next."""

    ground: Ground
    sizes: Sizes
    progress: Progress
    sealer: Sealer = field(init=False)
    model: RecallModel = field(init=False)
    rates: dict[str, list[float]] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)

    def __post_init__(self) -> None:
        self.sealer = Sealer(self.ground.installation.log_id)
        self.model = self._new_model()

    async def run(self) -> Findings:
        self.progress(f"writing {self.sizes.records} records to memory-lifecycle")
        events = await self._events()
        first, end = await self._fill(events)
        operations = await self._folded(events, first)
        self.seen.postings = sum(map(postings_in, operations)) / len(operations)
        steps, plain = self._steps(events, first, operations), self._plain(operations)
        for repetition in range(-1, self.sizes.repetitions):
            self.progress("warming up" if repetition < 0 else f"repetition {repetition + 1}")
            counted = repetition >= 0
            await self._project(repetition + 2, end, counted)
            self._note(PIPELINE, await self._piped(plain), counted)
            self._note(WRITING, await self._written(steps), counted)
        return report(self.sizes, self.rates, self.seen, self._batch)

    @property
    def _batch(self) -> int:
        return self.ground.settings.project_batch

    def _new_model(self) -> RecallModel:
        return RecallModel(redis=self.ground.redis, keyring=self.sealer.keyring, passed=NothingToWaitFor())

    def _prefix(self, generation: int) -> Prefix:
        installation = self.ground.installation
        return Prefix(installation.log_id, installation.partition_of(TENANT), self.model.name, generation)

    async def _events(self) -> list[Event]:
        await self.sealer.open(TENANT)
        text = ZipfText(self.sizes.seed)
        words = self.sizes.words
        return [await self.sealer.event(TENANT, number, text.sentence(words)) for number in range(self.sizes.records)]

    async def _fill(self, events: Sequence[Event]) -> tuple[Offset, Offset]:
        """Where they begin and end in memory-lifecycle."""
        base = self.ground
        topic = base.installation.topic(Topic.LIFECYCLE)
        values = [EVENTS.encode(event) for event in events]
        first = await publish(base.settings.brokers, topic, base.installation.partition_of(TENANT), values)
        return Offset(first), Offset(first + len(events))

    async def _folded(self, events: Sequence[Event], first: Offset) -> list[Sequence[Operation]]:
        records = self._positioned(events, first)
        return list(await self._new_model().fold(self._prefix(_WRITING_GENERATION), records))

    def _positioned(self, events: Sequence[Event], first: Offset) -> list[Positioned[Event]]:
        return [Positioned(Offset(first + at), each.header.decided_at, each) for at, each in enumerate(events)]

    def _steps(
        self, events: Sequence[Event], first: Offset, operations: Sequence[Sequence[Operation]]
    ) -> list[list[Step]]:
        """The moves of each batch, as a lane makes them."""
        records = self._positioned(events, first)
        found, position = [], Offset(0)
        for at in range(0, len(records), self._batch):
            run = records[at : at + self._batch]
            to = Offset(run[-1].offset + 1)
            found.append(steps_of(position, to, run, operations[at : at + self._batch]))
            position = to
        return found

    def _plain(self, operations: Sequence[Sequence[Operation]]) -> list[list[Command]]:
        writer = PlainWriter(f"{self._prefix(_WRITING_GENERATION)}plain:")
        return [
            [command for one in operations[at : at + self._batch] for command in writer.commands(one)]
            for at in range(0, len(operations), self._batch)
        ]

    async def _project(self, generation: int, end: Offset, counted: bool) -> None:
        base, prefix = self.ground, self._prefix(generation)
        model = TimedModel(self._new_model())
        lane = ProjectorLane(
            model,
            prefix.partition,
            installation=base.installation,
            bootstrap=base.settings.brokers,
            redis=base.redis,
            generation=generation,
            pace=LanePace(batch=self._batch),
        )
        before = await used_memory(base.redis)
        async with calls_of(base.redis, "fcall", ours=base.ours) as calls:
            await lane.run(until=end)
        grown = await used_memory(base.redis) - before
        self._note(PROJECTING, model.rate, counted)
        self._noted_inside(calls, grown, counted)
        await forget(base.redis, f"{prefix}*")

    def _noted_inside(self, calls: Calls, grown: int, counted: bool) -> None:
        if counted:
            self.seen.calls.append(calls)
            self.seen.bytes_a_record.append(grown / self.sizes.records)

    async def _piped(self, batches: Sequence[Sequence[Command]]) -> float:
        started = time.perf_counter()
        await write(self.ground.redis, batches)
        return await self._rate_since(started)

    async def _written(self, batches: Sequence[Sequence[Step]]) -> float:
        watermark = Watermark(self.ground.redis, self._prefix(_WRITING_GENERATION), self.model.functions)
        started = time.perf_counter()
        for steps in batches:
            await watermark.move(steps)
        return await self._rate_since(started)

    async def _rate_since(self, started: float) -> float:
        rate = self.sizes.records / (time.perf_counter() - started)
        await forget(self.ground.redis, f"{self._prefix(_WRITING_GENERATION)}*")
        return rate

    def _note(self, name: str, rate: float, counted: bool) -> None:
        if counted:
            self.rates.setdefault(name, []).append(rate)


async def measure(ground: Ground, sizes: Sizes, progress: Progress) -> Findings:
    return await ProjectBench(ground=ground, sizes=sizes, progress=progress).run()
