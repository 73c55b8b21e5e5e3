"""One run: a stack of its own, workers and producers, the schedule, and everything that is checked afterwards."""

import asyncio
import contextlib
import re
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.stack.local import LocalOptions, LocalStack
from eunoe.stack.ports import free_ports
from eunoe.stack.redis_server import RedisServer
from eunoe.stack.throwaway import local_stack
from eunoe.testing.chaos import folds
from eunoe.testing.chaos.bad_records import BadRecords
from eunoe.testing.chaos.checker import CHECKS, Violation, lost, violations
from eunoe.testing.chaos.crew import ATTESTS, CREW, SURVIVOR, Crew
from eunoe.testing.chaos.injecting import Injector
from eunoe.testing.chaos.load import GO_ON, Journals, Officer, Producers, forgetting
from eunoe.testing.chaos.logged import Logged, read_log
from eunoe.testing.chaos.plaintext import in_the_clear
from eunoe.testing.chaos.report import Report, seen_of
from eunoe.testing.chaos.schedule import schedule
from eunoe.testing.chaos.shifted_clock import shifted_clock
from eunoe.testing.chaos.slow_link import SlowLink, slow_link
from eunoe.testing.chaos.small_disk import SmallDisk, small_disk
from eunoe.testing.chaos.vitals import Vitals, has_everything, leaked, vitals_of
from eunoe.testing.chaos.watching import Watcher
from eunoe.testing.platform import Platform, WorkerProcess, install
from eunoe.worker.lanes import group_of

PARTITIONS: Final = 4
_SESSION_MS: Final = 10_000
_HEARTBEAT_MS: Final = 3_000
_CAUGHT_UP_S: Final = 120.0
_LOOK_S: Final = 0.5
_ZONE: Final = "Pacific/Kiritimati"
"""Fourteen hours ahead of UTC, and a day away from most."""
_JOINS: Final = re.compile(r'^eunoe_group_joins\{service="decide"\} (\S+)$', re.MULTILINE)
Telling = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``length``: seconds of faults. ``rate``: commands a second of each of ``producers``. ``folder``: a new one."""

    seed: int
    length: float
    folder: Path
    producers: int = 3
    rate: float = 8.0


@dataclass(slots=True, kw_only=True)
class Run:
    """``stack`` is up, with ``link`` before its broker."""

    plan: Plan
    stack: LocalStack
    link: SlowLink
    disk: SmallDisk | None
    telling: Telling
    found: list[Violation] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)

    async def run(self) -> Report:
        """All of it. Raises what no fault explains."""
        began = time.monotonic()
        platform = await self._platform()
        crew = Crew(platform)
        try:
            return await self._with(platform, crew, began)
        finally:
            crew.end()

    async def _platform(self) -> Platform:
        self.telling("installing")
        home = self.plan.folder / "workers"
        home.mkdir(parents=True)
        times = {"session_timeout": _SESSION_MS, "heartbeat_interval": _HEARTBEAT_MS, "decide_batch": 200}
        through = f"127.0.0.1:{self.link.port}"
        made = await install(through, self.stack.redis, TopicNames(), home, PARTITIONS, **times)
        return replace(made, settings=replace(made.settings, kafka_log_dirs=self.stack.log_directories()))

    async def _with(self, platform: Platform, crew: Crew, began: float) -> Report:
        self.telling("waiting for the workers")
        if unready := await crew.assemble():
            raise TimeoutError("; ".join(unready))
        producers, officer = Producers(platform, self.plan.folder / "journals"), Officer(platform)
        producers.start(self.plan.producers, self.plan.seed, self.plan.rate)
        try:
            await producers.wait_started()
            watcher, injector = self._watcher(platform, crew), self._injector(platform, crew)
            loaded = time.monotonic()
            async with crew_supervised(crew):
                async with watched(watcher), forgetting(officer):
                    self.telling(f"faults for {self.plan.length:.0f} s")
                    await injector.run(schedule(self.plan.seed, self.plan.length), loaded, loaded + self.plan.length)
                    await asyncio.sleep(max(0.0, loaded + self.plan.length - time.monotonic()))
                self.telling("the load ends")
                self.checks.append(GO_ON)
                self.found += await producers.still_write()
                self.found += await producers.stop()
                caught_up = await self._caught_up(platform, crew)
            survivor, fresh, joins = await self._vitals(crew)
        finally:
            producers.end()
        self.found += [_late(each) for each in crew.late]
        journals = producers.journals()
        log = await self._checked(platform, journals)
        not_forgotten = {f"people forgotten ({each})": number for each, number in officer.failed.items()}
        return Report(
            seed=self.plan.seed,
            length=self.plan.length,
            seconds=round(time.monotonic() - began, 1),
            seen=seen_of(injector.done, watcher.looks, loaded),
            counts=_counts(log),
            load={**journals.counts, **not_forgotten, "people forgotten": len(officer.forgotten)},
            caught_up=caught_up,
            survivor=survivor,
            fresh=fresh,
            joins=joins,
            ended=tuple(crew.ended),
            checks=tuple(self.checks),
            violations=tuple(self.found),
            looks=tuple(replace(each, at=round(each.at - loaded, 1)) for each in watcher.looks),
        )

    def _watcher(self, platform: Platform, crew: Crew) -> Watcher:
        return Watcher(self.stack.kafka, self.stack.redis, platform.installation, crew)

    def _injector(self, platform: Platform, crew: Crew) -> Injector:
        return Injector(
            stack=self.stack,
            link=self.link,
            crew=crew,
            bad=BadRecords(self.stack.kafka, platform.installation),
            group=group_of(platform.settings, "decide"),
            clock=shifted_clock(self.plan.folder, _ZONE),
            disk=self.disk,
        )

    async def _caught_up(self, platform: Platform, crew: Crew) -> float:
        """Seconds until every group had worked on everything, and every worker was ready."""
        self.telling("catching up")
        began = time.monotonic()
        name = "every consumer caught up, every worker ready"
        self.checks.append(name)
        settings = platform.settings
        while behind := await folds.behind(settings):
            if time.monotonic() - began > _CAUGHT_UP_S:
                self.found += [Violation(check=name, where="lag", what=each) for each in behind]
                break
            await asyncio.sleep(_LOOK_S)
        took = time.monotonic() - began
        self.found += [Violation(check=name, where="worker", what=each) for each in await crew.ready()]
        return round(took, 1)

    async def _vitals(self, crew: Crew) -> tuple[Vitals | None, Vitals | None, int]:
        """The survivor alone with everything, and then a fresh worker in its place."""
        self.telling("comparing the survivor with a fresh worker")
        self.checks.append("no process leaked")
        await crew.leave([each for name, each in crew.posts.items() if name != SURVIVOR])
        post = crew.posts[SURVIVOR]
        assert post.worker is not None
        survivor = await self._alone(crew)
        joins = await asyncio.to_thread(_joins, post.worker) if survivor is not None else 0
        post.worker.log_stacks()  # for whoever has to find out what it is that leaked
        await asyncio.sleep(_LOOK_S)
        await crew.stop(post)
        crew.start(post)
        fresh = await self._alone(crew)
        crew.add(ATTESTS, CREW[ATTESTS])  # what is due is still to be destroyed, and proved
        if survivor is not None and fresh is not None:
            self.found += leaked(survivor, fresh)
        return survivor, fresh, joins

    async def _alone(self, crew: Crew) -> Vitals | None:
        worker = crew.posts[SURVIVOR].worker
        assert worker is not None
        try:
            async with asyncio.timeout(_CAUGHT_UP_S):
                while await crew.ready() or not await asyncio.to_thread(has_everything, worker, PARTITIONS):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_S)
        except (TimeoutError, OSError) as late:
            what = f"did not come to have every partition: {type(late).__name__}"
            self.found.append(Violation(check="no process leaked", where="survivor", what=what))
            return None
        return await asyncio.to_thread(vitals_of, worker)

    async def _checked(self, platform: Platform, journals: Journals) -> Logged:
        self.telling("reading the log")
        settings = replace(platform.settings, kafka=self.stack.kafka, principal=PrincipalName("dev-officer"))
        log = await read_log(settings.kafka, platform.installation)
        self.found += [*violations(log), *lost(log, journals.written)]
        self.checks += [*CHECKS, "nothing confirmed is lost"]
        self.telling("comparing folds")
        with empty_redis(self.plan.folder / "reference") as reference:
            self.found += await folds.not_as_folded_once(settings, platform.installation, reference)
        self.found += [each async for each in folds.not_as_rebuilt(settings)]
        self.checks += [folds.REFERENCE, folds.REBUILT, "doctor"]
        self.found += await folds.not_healthy(settings)
        self.telling("looking for plaintext")
        folders = (platform.directory, self.stack.directory / "kafka" / "output.log")
        places = in_the_clear(settings, platform.installation, log, journals.texts, folders)
        self.found += [each async for each in places]
        self.checks.append("no plaintext anywhere")
        return log


def _counts(log: Logged) -> Mapping[str, int]:
    facts = Counter(type(each.event.fact).__name__ for each in log.decided)
    return {"commands": len(log.asked), "dead letters": len(log.letters), **dict(facts.most_common())}


def _joins(worker: WorkerProcess) -> int:
    found = _JOINS.search(worker.page("metrics"))
    return int(float(found[1])) if found else 0


def _late(name: str) -> Violation:
    return Violation(check="a worker ends in time", where=name, what="SIGTERM had not ended it within its budget")


@asynccontextmanager
async def crew_supervised(crew: Crew) -> AsyncIterator[None]:
    """Whoever ends by itself is started again, for the block."""
    async with _going(crew.supervise()):
        yield


@asynccontextmanager
async def watched(watcher: Watcher) -> AsyncIterator[None]:
    """Somebody looks, for the block."""
    async with _going(watcher.run()):
        yield


@asynccontextmanager
async def _going(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextmanager
def empty_redis(folder: Path) -> Iterator[str]:
    """Its URL, for the block."""
    server = RedisServer(folder, append_only=False)
    server.start()
    try:
        yield server.url
    finally:
        server.kill()


def run(plan: Plan, telling: Telling) -> Report:
    """Blocks for the whole run. ``plan.folder`` keeps the workers' logs, the journals and the broker's last words."""
    shutil.rmtree(plan.folder, ignore_errors=True)
    plan.folder.mkdir(parents=True)
    (port,) = free_ports(1)
    disk = small_disk(plan.folder / "disk")  # first: what was started before it would not see it
    options = LocalOptions(append_only=True, advertised_port=port, broker_disk=None if disk is None else disk.path)
    with ExitStack() as closing:
        telling("starting Kafka and Redis")
        stack = closing.enter_context(local_stack(plan.folder / "stack", options))
        link = closing.enter_context(slow_link(port, lambda: stack.broker.ports["proxied"]))
        report = asyncio.run(Run(plan=plan, stack=stack, link=link, disk=disk, telling=telling).run())
        data = stack.broker.data
    shutil.rmtree(data, ignore_errors=True)
    return report
