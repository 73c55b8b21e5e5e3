"""Deciding beside its baselines: turn about on the same bytes, one partition, one process, one batch size.

Commands come in slices. A slice's keys are issued while the slice before is decided, so every key that is made while
the clock runs is one that later records need: one command in twenty asks for one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiokafka import TopicPartition

from eunoe.bench import copying
from eunoe.bench.author import TENANT, Author, publish
from eunoe.bench.copying import Loop
from eunoe.bench.decide_report import AGENT, ALL_RULES, BATCHES, MINIMAL, ONE_BY_ONE, Sizes, report
from eunoe.bench.faust_agent import run_agent
from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground
from eunoe.bench.minimal import MinimalLane
from eunoe.bench.ours import Decider, decider
from eunoe.bench.pace import Pace
from eunoe.bench.text import ZipfText
from eunoe.processors.ledger.ledger import Ledger
from eunoe.processors.transaction import Transactions
from eunoe.runtime.installation import Installation
from eunoe.runtime.kafka import topic_admin
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.events import KeyIssued, MemoryAccepted
from eunoe.schemas.topics import Topic, TopicNames

EVERY: Final = 20
"""One command in so many asks for the keys of a subject that was never met."""
_UNCOMPRESSED: Final = {"compression.type": "uncompressed"}
_MINIMAL: Final = "minimal-"
_EXPECTED: Final = frozenset({MemoryAccepted.__name__, KeyIssued.__name__})
_RETENTION_MS: Final = 35 * 86_400_000
Progress = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class DecideBench:
    """One run. ``rates`` by contender, in the order they were taken."""

    ground: Ground
    sizes: Sizes
    author: Author
    decider: Decider
    progress: Progress
    rates: dict[str, list[float]] = field(default_factory=dict)
    published: list[bytes] = field(default_factory=list)

    async def run(self) -> Findings:
        await self._topics()
        await self._open()
        for repetition in range(-1, self.sizes.repetitions):
            self.progress("warming up" if repetition < 0 else f"repetition {repetition + 1}")
            await self._repetition(repetition)
        size = sum(map(len, self.published)) / len(self.published)
        return report(self.sizes, self.rates, size, self.ground.settings.decide_batch)

    def _topic(self, name: str) -> str:
        return f"{self.ground.settings.prefix}{name}"

    async def _topics(self) -> None:
        lifecycle, events = Topic.LIFECYCLE.value, Topic.EVENTS.value
        names = ["copied", "copied-batches", "agent-out", f"{_MINIMAL}{lifecycle}", f"{_MINIMAL}{events}"]
        names += [f"agent-in-{number}" for number in range(self.sizes.repetitions)]
        async with topic_admin(self.ground.settings.brokers) as admin:
            for name in names:
                await admin.create(self._topic(name), 1, 1, _UNCOMPRESSED)

    async def _open(self) -> None:
        """The tenant's key, and the keys of the first slice."""
        await self._decided([self.author.opening()])
        await self.author.learn()
        keys = await self.author.keyring.tenant(TENANT)
        await self._decided([self.author.issue(keys, each) for each in self._subjects(-1)])

    async def _decided(self, commands: list[bytes]) -> None:
        await self._publish(commands)
        await self._decide(Pace(len(commands)))

    async def _decide(self, pace: Pace) -> None:
        await self.decider.run(pace)
        if pace.kinds.keys() - _EXPECTED:
            raise RuntimeError(f"other facts than expected: {dict(pace.kinds)}")

    async def _publish(self, commands: list[bytes]) -> int:
        events = self.ground.installation.topic(Topic.EVENTS)
        return await publish(self.ground.settings.brokers, events, self.author.partition, commands)

    def _subjects(self, repetition: int) -> list[str]:
        return [f"subject-{repetition}-{number}" for number in range(self.sizes.records // EVERY)]

    async def _slice(self, repetition: int) -> list[bytes]:
        """Records about this repetition's subjects, and among them the requests for the next one's keys."""
        await self.author.learn()
        keys = await self.author.keyring.tenant(TENANT)
        mine, following = self._subjects(repetition), self._subjects(repetition + 1)
        commands = []
        for number in range(self.sizes.records):
            turn, place = divmod(number, EVERY)
            if place == 0 and turn < len(following):
                commands.append(self.author.issue(keys, following[turn]))
            else:
                commands.append(await self.author.remember(keys, mine[turn % len(mine)]))
        return commands

    async def _repetition(self, repetition: int) -> None:
        commands = await self._slice(repetition)
        self.published = commands
        if repetition >= 0:
            await self._agent(repetition, commands[: self.sizes.agent_records])
        start = await self._publish(commands)
        for name, target, send in (
            (ONE_BY_ONE, "copied", copying.one_by_one),
            (BATCHES, "copied-batches", copying.in_batches),
        ):
            pace = Pace(len(commands))
            await copying.copy(self._loop(target, start), pace, send)
            self._note(repetition, name, pace)
        pace = Pace(len(commands))
        await self._minimal(start).run(pace)
        self._note(repetition, MINIMAL, pace)
        pace = Pace(len(commands))
        await self._decide(pace)
        self._note(repetition, ALL_RULES, pace)

    def _note(self, repetition: int, name: str, pace: Pace) -> None:
        if repetition >= 0:
            self.rates.setdefault(name, []).append(pace.rate)

    def _loop(self, target: str, start: int) -> Loop:
        base = self.ground
        return Loop(
            bootstrap=base.settings.brokers,
            group=self._topic(f"{target}-group"),
            source=TopicPartition(base.installation.topic(Topic.EVENTS), self.author.partition),
            target=TopicPartition(self._topic(target), 0),
            start=start,
            batch=base.settings.decide_batch,
        )

    def _minimal(self, start: int) -> MinimalLane:
        base, loop = self.ground, self._loop("minimal", start)
        # Under names of its own: what it decides must not reach the log that the decider catches up from.
        names = TopicNames(prefix=self._topic(_MINIMAL))
        apart = Installation(log_id=base.installation.log_id, partitions=1, names=names)
        prefix = Prefix(base.installation.log_id, self.author.partition, "minimal")
        return MinimalLane(
            loop=loop,
            ledger=Ledger(base.redis, prefix, lambda: _RETENTION_MS),
            transactions=Transactions(apart, self.author.partition, loop.group),
        )

    async def _agent(self, repetition: int, commands: list[bytes]) -> None:
        source = self._topic(f"agent-in-{repetition}")
        await publish(self.ground.settings.brokers, source, 0, commands)
        task = {
            "source": source,
            "target": self._topic("agent-out"),
            "partition": self.author.partition,
            "wanted": len(commands),
        }
        self.rates.setdefault(AGENT, []).append(await run_agent(self.ground.environ, task))


async def measure(ground: Ground, sizes: Sizes, progress: Progress) -> Findings:
    """Runs on a `Ground` with one partition."""
    partition = ground.installation.partition_of(TENANT)
    async with decider(ground.settings, partition) as ours:
        author = Author(ground, ours.rules.current().policy, ZipfText(sizes.seed))
        return await DecideBench(ground=ground, sizes=sizes, author=author, decider=ours, progress=progress).run()
