"""Rebuilding `recall` and `history` beside live projecting and a bare read of the log, and what a search notices."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from eunoe.bench.derived_keys import DerivedKeys
from eunoe.bench.figures import Findings
from eunoe.bench.ground import Ground, forget
from eunoe.bench.inside import used_memory
from eunoe.bench.lifecycle_events import LifecycleEvents, ZipfTenants
from eunoe.bench.lifecycle_log import LifecycleLog
from eunoe.bench.rebuild_contest import contending
from eunoe.bench.rebuild_process import HISTORY, LIVE, READ, REBUILD, RECALL
from eunoe.bench.rebuild_report import Filled, Round, Sizes, report
from eunoe.bench.sealed import AGENT, PRINCIPAL, PURPOSE
from eunoe.bench.search import OpenGate
from eunoe.bench.text import ZipfText
from eunoe.readmodels.recall.reader import MemoryReader
from eunoe.readmodels.recall.scope import ReadScope
from eunoe.runtime.clock import SystemClock
from eunoe.schemas.ids import Millis

_YEAR_MS: Final = 365 * 86_400_000
_EVERY_S: Final = 0.1
"""Ten searches a second: they show what a reader notices, and take little of what is measured."""
_QUERY_WORDS: Final = 5
_LIMIT: Final = 10
Progress = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Searching:
    """One reader that asks at a steady pace, whoever's turn it is; seconds from when each question was due."""

    ground: Ground
    keys: DerivedKeys
    tenants: ZipfTenants
    seed: int
    reader: MemoryReader = field(init=False)
    _text: ZipfText = field(init=False)
    _chance: Random = field(init=False)

    def __post_init__(self) -> None:
        self._text, self._chance = ZipfText(self.seed + 1), Random(self.seed + 1)
        self.reader = MemoryReader(
            redis=self.ground.redis,
            installation=self.ground.installation,
            keyring=self.keys.keyring,
            gate=OpenGate(),
            clock=SystemClock().now,
        )

    async def ask(self, most: int | None, over: asyncio.Event) -> list[float]:
        """Until ``most`` were asked, or it is over."""
        found: list[float] = []
        due = time.perf_counter()
        while not over.is_set() and (most is None or len(found) < most):
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            scope = ReadScope(tenant=self.tenants.one(self._chance), agent=AGENT, purpose=PURPOSE, principal=PRINCIPAL)
            await self.reader.search(scope, " ".join(self._text.distinct(_QUERY_WORDS)), limit=_LIMIT)
            found.append(time.perf_counter() - due)
            due += _EVERY_S
        return found


@dataclass(slots=True, kw_only=True)
class RebuildBench:
    """One run; the log grows from size to size, and each size fills its models anew."""

    ground: Ground
    sizes: Sizes
    progress: Progress
    keys: DerivedKeys = field(init=False)
    events: LifecycleEvents = field(init=False)
    log: LifecycleLog = field(init=False)

    def __post_init__(self) -> None:
        expires_at, log_id = Millis(SystemClock().now() + _YEAR_MS), self.ground.installation.log_id
        # Who is forgotten follows from the keys: the same seed is the same story to its end.
        secret, tenants = Random(self.sizes.seed).randbytes(32), ZipfTenants(self.sizes.tenants)
        self.keys = DerivedKeys(log_id=log_id, secret=secret, expires_at=expires_at, closing=False)
        self.events = LifecycleEvents(keys=self.keys, tenants=tenants, seed=self.sizes.seed)
        self.log = LifecycleLog(self.ground.settings.brokers, self.ground.installation)

    async def run(self) -> Findings:
        rounds = []
        for events in self.sizes.events:
            self.progress(f"writing {events:,} facts to memory-lifecycle")
            await self.log.write(self.events.up_to(events))
            for number in range(self.sizes.repetitions):
                self.progress(f"{events:,} facts, round {number + 1} of {self.sizes.repetitions}")
                rounds.append(await self._round(events))
        return report(self.sizes, rounds, self.events, self.log.bytes_written, self.ground.settings.project_batch)

    async def _round(self, events: int) -> Round:
        read = await self._timed(READ, HISTORY)
        return Round(events=events, read=read, models={name: await self._filled(name) for name in (HISTORY, RECALL)})

    async def _timed(self, what: str, model: str) -> float:
        """Facts a second."""
        async with contending(self.ground.environ, self._task(what, model)) as contest:
            said = await contest.until("filled")
            await contest.end()
        return float(said["records"] / said["seconds"])

    def _task(self, what: str, model: str) -> dict[str, object]:
        return {**self.keys.task, "what": what, "model": model}

    async def _filled(self, model: str) -> Filled:
        self.progress(f"projecting {model}")
        live = await self._timed(LIVE, model)
        closed = DerivedKeys.of(self.ground.installation.log_id, self.keys.task, closing=True)
        searching = Searching(ground=self.ground, keys=closed, tenants=self.events.tenants, seed=self.sizes.seed)
        before: list[float] = []
        if model == RECALL:
            self.progress("searching")
            await searching.ask(self.sizes.searches // 4, asyncio.Event())  # opens what is open later
            before = await searching.ask(self.sizes.searches, asyncio.Event())
        found = await self._rebuilt(model, live, before, searching)
        await forget(self.ground.redis, f"eunoe:{self.ground.installation.log_id}:*:{model}:*")
        return found

    async def _rebuilt(self, model: str, live: float, before: list[float], searching: Searching) -> Filled:
        self.progress(f"rebuilding {model}")
        memory, over = await used_memory(self.ground.redis), asyncio.Event()
        async with contending(self.ground.environ, self._task(REBUILD, model)) as contest:
            await contest.until("begun")
            asking = asyncio.create_task(searching.ask(None if model == RECALL else 0, over))
            try:
                filled = await contest.until("filled")
            finally:
                over.set()
                during = await asking
            grown = await used_memory(self.ground.redis) - memory
            proved, switched = await contest.until("proved"), await contest.until("switched")
            await contest.end()
        return Filled(
            live=live,
            rebuilt=filled["records"] / filled["seconds"],
            rested_s=filled["rested"],
            prove_s=proved["seconds"],
            switch_s=switched["seconds"],
            items=proved["items"],
            found=proved["found"],
            redis_bytes=grown,
            resident=filled["resident"],
            before=before,
            during=during,
        )


async def measure(ground: Ground, sizes: Sizes, progress: Progress) -> Findings:
    return await RebuildBench(ground=ground, sizes=sizes, progress=progress).run()
