"""Forgetting: from the command to each receipt, one person or many at once, with the workers that `eunoe up` starts."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from eunoe.bench.end_to_end import WorkerNotReady
from eunoe.bench.erasure_report import Sizes, Times, report
from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground
from eunoe.bench.text import ZipfText
from eunoe.client.lines import line_of
from eunoe.client.memory import Memory
from eunoe.processors.attesting.chain import receipts
from eunoe.schemas.ids import CommandId, Partition, PrincipalName
from eunoe.schemas.outcomes import Outcome
from eunoe.schemas.receipts import BY_ITSELF, WORDING, Stage
from eunoe.stack.choose import named_stack
from eunoe.stack.worker_process import Workers

_TENANTS: Final = 4
_DEADLINE_S: Final = 120.0
_LOOK_S: Final = 0.25
_OFFICER: Final = PrincipalName("dev-officer")
Progress = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class ErasureBench:
    ground: Ground
    sizes: Sizes
    progress: Progress
    agent: Memory
    officer: Memory
    text: ZipfText
    people: int = 0
    rounds: dict[int, list[Times]] = field(default_factory=dict)

    async def run(self) -> None:
        for number in self.sizes.subjects:
            for repetition in range(self.sizes.repetitions):
                self.progress(f"{number} at once, {repetition + 1} of {self.sizes.repetitions}")
                self.rounds.setdefault(number, []).append(await self._round(number))

    async def _round(self, number: int) -> Times:
        people = [self._person() for _ in range(number)]
        await self._write(people)
        started = time.perf_counter()
        outcomes = await asyncio.gather(
            *(self.officer.forget_subject(subject, tenant=tenant, timeout=_DEADLINE_S) for tenant, subject in people)
        )
        return await self._proved(_done(outcomes), started)

    def _person(self) -> tuple[str, str]:
        self.people += 1
        return f"bench-{self.people % _TENANTS}", f"person-{self.people}"

    async def _write(self, people: Iterable[tuple[str, str]]) -> None:
        sent = []
        for tenant, subject in people:
            for record in range(self.sizes.records):
                line = {
                    "op": "remember",
                    "tenant": tenant,
                    "agent": "bench-bot",
                    "subject": subject,
                    "purposes": ["bench"],
                    "statement": self.text.sentence(10),
                    "source": {"kind": "user_explicit", "uri": f"bench://{subject}/{record}"},
                    "ttl": "P30D",
                }
                sent.append(await self.agent.send(line_of(line)))
        _done([await each.outcome(_DEADLINE_S) for each in sent])

    async def _proved(self, requests: frozenset[CommandId], started: float) -> Times:
        """When each stage of each request was first seen to be proved. What is not in time is left out."""
        seen: dict[tuple[CommandId, Stage], float] = {}
        written: set[tuple[CommandId, Stage]] = set()
        while len(written) < len(requests) * len(BY_ITSELF) and time.perf_counter() - started < _DEADLINE_S:
            for partition in range(self.ground.installation.partitions):
                place = (self.ground.settings.brokers, self.ground.installation, Partition(partition))
                async for record in receipts(*place):
                    body = json.loads(record.body)
                    proof = (CommandId(body["request"]), Stage(body["stage"]))
                    if proof[0] in requests:
                        written.add(proof)
                        if body["claim"] == WORDING:
                            seen.setdefault(proof, time.perf_counter() - started)
            await asyncio.sleep(_LOOK_S)
        return {stage: [at for (_, each), at in seen.items() if each is stage] for stage in BY_ITSELF}


def _done(outcomes: Iterable[Outcome]) -> frozenset[CommandId]:
    kept = tuple(outcomes)
    for each in kept:
        if each.refused:
            raise RuntimeError(f"a command was refused: {each.reason}")
    return frozenset(each.command_id for each in kept)


async def measure(ground: Ground, sizes: Sizes, progress: Progress) -> Findings:
    """The workers are stopped at the end, whatever happens."""
    stack = named_stack(ground.endpoints.provider, ground.endpoints.directory)
    ground = replace(ground, settings=replace(ground.settings, kafka_log_dirs=stack.log_directories()))
    settings = ground.settings
    async with AsyncExitStack() as closing:
        workers = Workers(ground.folder, environ=ground.environ)
        closing.push_async_callback(asyncio.to_thread, workers.kill)
        progress("starting the workers")
        await asyncio.to_thread(workers.start)
        if await asyncio.to_thread(workers.unready, _DEADLINE_S / 2):
            raise WorkerNotReady
        bench = ErasureBench(
            ground=ground,
            sizes=sizes,
            progress=progress,
            agent=await closing.enter_async_context(Memory.connect(settings)),
            officer=await closing.enter_async_context(Memory.connect(replace(settings, principal=_OFFICER))),
            text=ZipfText(sizes.seed),
        )
        await bench.run()
        taking = {
            "key_cache_seconds": settings.key_cache_age / 1_000,
            "segment_seconds": settings.keys_segment / 1_000,
            "compaction_lag_seconds": settings.keys_compaction_lag / 1_000,
        }
        return report(sizes, bench.rounds, taking)
