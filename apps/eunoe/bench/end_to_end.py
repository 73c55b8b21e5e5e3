"""Published → retrievable: the workers that `eunoe up` starts, a client here, half of what the slowest stage can do.

First the stages' capacity: a backlog is written while no worker runs, then the workers drain it, all stages at once.
The stage that finishes last is the slowest, at the rate that everything beside it leaves it. Then an open loop at half
of that rate; each time counts from when the command was due, so a publisher that falls behind hides nothing.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

from eunoe.bench.end_to_end_report import Measured, Sizes, report
from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground
from eunoe.bench.text import ZipfText
from eunoe.client.lines import Line, line_of
from eunoe.client.memory import Memory
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.producers.client import Sent
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Partition
from eunoe.schemas.outcomes import Outcome, OutcomeStatus
from eunoe.stack.worker_process import Workers

_AGENT: Final = "bench-bot"
_PURPOSE: Final = "bench"
_TENANTS: Final = 4
_SUBJECTS: Final = 50
"""People a tenant's records are about, in turn."""
_MODELS: Final = ("outcomes", "history", "subjects", "recall")
_DEADLINE_S: Final = 120.0
_SAMPLE_S: Final = 0.02
_POLL_S: Final = 0.02
Progress = Callable[[str], None]


class WorkerNotReady(Exception):
    """A worker did not get ready; its log is beside it, and gone with the stack."""


@dataclass(slots=True, kw_only=True)
class EndToEnd:
    ground: Ground
    sizes: Sizes
    progress: Progress
    workers: Workers
    memory: Memory
    text: ZipfText
    measured: Measured = field(default_factory=Measured)
    made: int = 0

    async def run(self) -> Findings:
        await self._start()
        self.progress("asking for keys")
        await self._warm_up()
        await self._capacity()
        await self._paced()
        return report(self.sizes, self.measured, len(self.workers.wanted))

    async def _start(self) -> None:
        self.progress("starting the workers")
        await asyncio.to_thread(self.workers.start)
        if await asyncio.to_thread(self.workers.unready, _DEADLINE_S / 2):
            raise WorkerNotReady

    def _line(self, statement: str | None = None) -> Line:
        number, self.made = self.made, self.made + 1
        return line_of(
            {
                "op": "remember",
                "tenant": _tenant(number),
                "agent": _AGENT,
                "subject": f"subject-{number // _TENANTS % _SUBJECTS}",
                "purposes": [_PURPOSE],
                "statement": statement or self.text.sentence(self.sizes.words),
                "source": {"kind": "user_explicit", "uri": f"bench://events/{number}"},
                "ttl": "P30D",
            }
        )

    async def _warm_up(self) -> None:
        """Every tenant and subject once: their keys are issued and cached, the code paths are warm."""
        sent = await asyncio.gather(*(self.memory.send(self._line()) for _ in range(_TENANTS * _SUBJECTS)))
        await _accepted(await asyncio.gather(*(each.outcome(_DEADLINE_S) for each in sent)))

    async def _capacity(self) -> None:
        self.progress(f"a backlog of {self.sizes.backlog} commands")
        await asyncio.to_thread(self.workers.stop)
        sent: list[Sent] = [await self.memory.send(self._line()) for _ in range(self.sizes.backlog)]
        for each in sent:
            await each.written()
        before = await self._positions()
        sampling = asyncio.create_task(self._watch(before))
        await self._start()
        self.measured.stages = await sampling

    async def _watch(self, before: Mapping[str, int]) -> dict[str, float]:
        """Records per second of each stage, from its first movement until it has the whole backlog."""
        begun: dict[str, float] = {}
        moved: dict[str, int] = {}
        rates: dict[str, float] = {}
        deadline = time.perf_counter() + _DEADLINE_S
        while len(rates) < len(before):
            if time.perf_counter() > deadline:
                raise TimeoutError(f"the backlog is not drained: {sorted(before.keys() - rates.keys())}")
            now, positions = time.perf_counter(), await self._positions()
            for stage, position in positions.items():
                done = position - before[stage]
                if done > 0 and stage not in begun:
                    begun[stage], moved[stage] = now, done
                if done >= self.sizes.backlog and stage not in rates:
                    rates[stage] = (done - moved[stage]) / (now - begun[stage])
            await asyncio.sleep(_SAMPLE_S)
        return rates

    async def _positions(self) -> dict[str, int]:
        """How far each stage is in memory-lifecycle, over all partitions."""
        installation = self.ground.installation
        names: list[tuple[str, str]] = []
        for number in range(installation.partitions):
            partition = Partition(number)
            names.append(("decide", ledger_prefix(installation.log_id, partition).watermark))
            names += [(each, Prefix(installation.log_id, partition, each).watermark) for each in _MODELS]
        pipeline = self.ground.redis.pipeline(transaction=False)
        for _, name in names:
            pipeline.hget(name, "position")
        found: dict[str, int] = {}
        for (stage, _), position in zip(names, await pipeline.execute(), strict=True):
            found[stage] = found.get(stage, 0) + int(position or 0)
        return found

    async def _paced(self) -> None:
        rate = min(self.measured.stages.values()) / 2
        count = round(rate * self.sizes.seconds)
        every = max(1, round(rate / self.sizes.probes))
        self.progress(f"{rate:.0f} commands a second for {self.sizes.seconds} s")
        self.measured.rate = rate
        begun = time.perf_counter() + 0.1
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                due = begun + number / rate
                if (ahead := due - time.perf_counter()) > 0:
                    await asyncio.sleep(ahead)
                probe = number % every == every // 2
                word = f"probe{number:07}q" if probe else None
                line = self._line(None if word is None else f"{word} {self.text.sentence(self.sizes.words - 1)}")
                sent = await self.memory.send(line)
                self.measured.late = max(self.measured.late, time.perf_counter() - due)
                group.create_task(self._settled(sent, due, word, by_token=number // every % 2 == 0))

    async def _settled(self, sent: Sent, due: float, word: str | None, *, by_token: bool) -> None:
        """Awaits the outcome; a probe is then searched for, with the outcome's token or by asking again and again."""
        search = None if word is None or by_token else asyncio.create_task(self._found(sent, word, None))
        outcome = await sent.outcome(_DEADLINE_S)
        self.measured.outcomes.append(time.perf_counter() - due)
        await _accepted([outcome])
        if word is None:
            return
        if search is not None:
            self.measured.by_search.append(await search - due)
        else:
            self.measured.by_token.append(await self._found(sent, word, outcome.token) - due)

    async def _found(self, sent: Sent, word: str, token: str | None) -> float:
        """When a search brought the record."""
        while True:
            result = await self.memory.search(
                word, tenant=sent.tenant, agent=_AGENT, purpose=_PURPOSE, limit=1, after=token, timeout=_DEADLINE_S
            )
            if any(each.memory_id == sent.memory_id for each in result.records):
                return time.perf_counter()
            if token is not None:
                raise RuntimeError("a search with the outcome's token did not bring the record")
            await asyncio.sleep(_POLL_S)


def _tenant(number: int) -> str:
    return f"bench-{number % _TENANTS}"


async def _accepted(outcomes: "list[Outcome]") -> None:
    for each in outcomes:
        if each.status is not OutcomeStatus.ACCEPTED:
            raise RuntimeError(f"a command was not accepted: {each.status} {each.reason or ''}")


async def measure(ground: Ground, sizes: Sizes, progress: Progress) -> Findings:
    """The workers are stopped at the end, whatever happens."""
    async with AsyncExitStack() as closing:
        workers = Workers(ground.folder, environ=ground.environ)
        closing.push_async_callback(asyncio.to_thread, workers.kill)
        memory = await closing.enter_async_context(Memory.connect(ground.settings))
        bench = EndToEnd(
            ground=ground,
            sizes=sizes,
            progress=progress,
            workers=workers,
            memory=memory,
            text=ZipfText(sizes.seed),
        )
        return await bench.run()
