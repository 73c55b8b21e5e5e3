"""The contenders of `eunoe bench rebuild`, each in a process of its own, so that its memory is its own too.

Whoever asks names one in a task; this process then prints a JSON line when it begins, one when the model is filled, and
for a rebuild one when it is proved and one when it is switched to.
"""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from eunoe.bench.derived_keys import DerivedKeys
from eunoe.bench.sealed import NothingToWaitFor
from eunoe.readmodels.history import HistoryModel
from eunoe.readmodels.projector import Pace, ProjectorLane, ReadModel
from eunoe.readmodels.rebuild.pacing import Throttle
from eunoe.readmodels.rebuild.proving import Check
from eunoe.readmodels.rebuild.rebuilding import Progress, Rebuild, side_by_side
from eunoe.readmodels.recall.fold import RecallModel, one_analyser
from eunoe.readmodels.recall.verifying import RecallCheck
from eunoe.runtime.brokers import connecting
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings, load_settings
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic

READ: Final = "read"
LIVE: Final = "live"
REBUILD: Final = "rebuild"
RECALL: Final = "recall"
HISTORY: Final = "history"
LATENCY_S: Final = 0.02
"""As `eunoe rebuild` does without options: it rests where a PING of Redis takes longer."""
_WAIT_MS: Final = 500
_MOST: Final = 2_000
_STATM: Final = Path("/proc/self/statm")


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    with suppress(OSError):
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _say(at: str, **more: Any) -> None:
    print(json.dumps({"at": at, **more}), flush=True)


@dataclass(slots=True)
class Memory:
    """Samples of `resident`, each with how much was done by then."""

    samples: list[tuple[int, int]] = field(default_factory=list)

    def note(self, progress: Progress) -> None:
        self.samples.append((progress.done, resident()))

    def document(self, first: int) -> dict[str, int]:
        """``first``: before anything was done. ``quarter`` and ``middle`` when so much was done, ``end`` with all."""
        total = self.samples[-1][0]
        return {
            "start": first,
            "quarter": next(size for done, size in self.samples if done >= total / 4),
            "middle": next(size for done, size in self.samples if done >= total / 2),
            "end": self.samples[-1][1],
            "most": max(size for _, size in self.samples),
        }


@dataclass(slots=True, kw_only=True)
class Contender:
    """``task``: what (`READ`, `LIVE`, `REBUILD`), model, and what `DerivedKeys.of` wants."""

    settings: Settings
    installation: Installation
    redis: Redis
    task: Mapping[str, Any]
    keys: DerivedKeys = field(init=False)
    model: ReadModel[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = DerivedKeys.of(self.installation.log_id, self.task, closing=self.task["what"] == REBUILD)
        self.model = HistoryModel() if self.task["model"] == HISTORY else self._recall()

    async def run(self) -> None:
        match self.task["what"]:
            case str(what) if what == READ:
                await self._read()
            case str(what) if what == LIVE:
                await self._live()
            case _:
                await self._rebuild()

    def _recall(self) -> RecallModel:
        return RecallModel(redis=self.redis, keyring=self.keys.keyring, passed=NothingToWaitFor())

    def _prefixes(self) -> Sequence[Prefix]:
        every = range(self.installation.partitions)
        return [Prefix(self.installation.log_id, Partition(each), self.model.name) for each in every]

    async def _read(self) -> None:
        """A consumer that looks at nothing: what there is at most to be had from the topic."""
        topic = self.installation.topic(Topic.LIFECYCLE)
        places = [TopicPartition(topic, each) for each in range(self.installation.partitions)]
        consumer = AIOKafkaConsumer(
            **connecting(self.settings.brokers),
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
        )
        await consumer.start()
        try:
            consumer.assign(places)
            starts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
            for place in places:
                consumer.seek(place, starts[place])
            _say("begun")
            started, records, open_places = time.perf_counter(), 0, set(places)
            while open_places:
                fetched = await consumer.getmany(*open_places, timeout_ms=_WAIT_MS, max_records=_MOST)
                records += sum(map(len, fetched.values()))
                for place in tuple(open_places):
                    if await consumer.position(place) >= ends[place]:
                        open_places.discard(place)
            _say("filled", seconds=time.perf_counter() - started, records=records)
        finally:
            await consumer.stop()

    async def _live(self) -> None:
        """The lanes of one worker, into the generation that serves; what is removed beside the log is not timed."""
        ends = await self._ends()
        _say("begun")
        started = time.perf_counter()
        await asyncio.gather(*(self._lane(Partition(each)).run(until=end) for each, end in ends.items()))
        _say("filled", seconds=time.perf_counter() - started, records=sum(ends.values()))
        if isinstance(self.model, RecallModel):
            for prefix in self._prefixes():
                while await self.model.tend(prefix, 200):
                    pass

    def _lane(self, partition: Partition) -> ProjectorLane[Any]:
        return ProjectorLane(
            self.model,
            partition,
            installation=self.installation,
            bootstrap=self.settings.brokers,
            redis=self.redis,
            pace=Pace(batch=self.settings.project_batch),
        )

    async def _ends(self) -> Mapping[int, Offset]:
        topic = self.installation.topic(Topic.LIFECYCLE)
        places = [TopicPartition(topic, each) for each in range(self.installation.partitions)]
        consumer = AIOKafkaConsumer(**connecting(self.settings.brokers), isolation_level="read_committed")
        try:
            await consumer.start()
            return {place.partition: Offset(end) for place, end in (await consumer.end_offsets(places)).items()}
        finally:
            await consumer.stop()

    async def _rebuild(self) -> None:
        """As `eunoe rebuild` does it, but that nobody is asked and nothing recorded."""
        memory = Memory()
        rebuild = self._rebuilding(memory)
        prefixes, first = await rebuild.places.begin(), resident()
        _say("begun")
        started = time.perf_counter()
        await rebuild.fill(prefixes)
        _say("filled", seconds=time.perf_counter() - started, records=memory.samples[-1][0],
             rested=rebuild.throttle.rested, resident=memory.document(first))  # fmt: skip
        started = time.perf_counter()
        proofs = await side_by_side(prefixes, rebuild.proving.prove)
        seconds, items = time.perf_counter() - started, sum(each.content.items for each in proofs)
        _say("proved", seconds=seconds, items=items, digests=[each.content.digest for each in proofs],
             found=sum(each.checks.get("found by their words", 0) for each in proofs))  # fmt: skip
        started = time.perf_counter()
        for each in prefixes:
            await rebuild.switch(each)
        _say("switched", seconds=time.perf_counter() - started)

    def _rebuilding(self, memory: Memory) -> Rebuild:
        checks: Sequence[Check] = ()
        if isinstance(self.model, RecallModel):
            check = RecallCheck(
                redis=self.redis,
                keyring=self.keys.keyring,
                analyser=one_analyser,
                clock=SystemClock().now,
                queries=50,
            )
            checks = (check,)
        return Rebuild(
            model=self.model,
            redis=self.redis,
            installation=self.installation,
            bootstrap=self.settings.brokers,
            throttle=Throttle(redis=self.redis, latency=LATENCY_S),
            progress=memory.note,
            tended=self.model if isinstance(self.model, RecallModel) else None,
            checks=checks,
        )


async def _run(task: Mapping[str, Any]) -> None:
    settings = load_settings(os.environ)
    installation = await read_installation(settings.brokers, settings.topics)
    redis = await connect(settings.redis)
    try:
        await Contender(settings=settings, installation=installation, redis=redis, task=task).run()
    finally:
        await redis.aclose()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(_run(json.loads(sys.stdin.read())))
