"""A worker's services in the running event loop: what the Faust app hosts, and what tests and the demo run themselves.

Order matters on the way in: the foundation, the rules (no policy, no deciding), the read models (a decider that misses
a key waits for them), the deciders. On the way out all leave their groups side by side, and then what they stood on
closes.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from eunoe.processors.dead_letters import BadRecordLimit
from eunoe.runtime.metrics import CONTROL_OFFSET, NOT_READY, SILENT, TASKS, Meter
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.attest import Attesting, check_attest_settings
from eunoe.worker.blocked import watched_loop
from eunoe.worker.decide import Deciding
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.health import NOT_STARTED, Failing, Item
from eunoe.worker.lanes import LaneService, Place, lane_places
from eunoe.worker.older_log import check_erasure_ledger
from eunoe.worker.project import SERVING, ProjectedModel, read_models
from eunoe.worker.prometheus import Reading
from eunoe.worker.roles import ALL, Accepted, Role
from eunoe.worker.rules import ControlRules, rules_of
from eunoe.worker.shred import Shredding
from eunoe.worker.sweeping import sweeper_publisher
from eunoe.worker.watching import Stage, Watch

_LIMIT: Final = BadRecordLimit()


@dataclass(slots=True, kw_only=True)
class RunningServices:
    """What runs. `ended` is awaited by whoever hosts it: a service that died must not look alive."""

    foundation: Foundation
    rules: ControlRules
    models: Sequence[ProjectedModel] = ()
    deciding: Deciding | None = None
    shredding: Shredding | None = None
    attesting: Attesting | None = None
    services: list[LaneService] = field(default_factory=list)
    watch: Watch | None = None
    _watching: asyncio.Task[None] | None = None

    def failing(self) -> Iterable[Failing]:
        """What keeps this worker from being ready."""
        yield from self.rules.failing()
        for service in self.services:
            yield from service.failing()
        if self.watch is None:
            yield NOT_STARTED
            return
        yield from self.watch.failing()
        if self.deciding is not None:
            yield from self.deciding.failing(self.watch.stuck_after)
        if self.shredding is not None:
            yield from self.shredding.failing()

    @property
    def items(self) -> Iterable[Item]:
        """What this worker's roles answer for."""
        yield from (Item.STARTED, Item.CONTROL, Item.KAFKA, Item.STORE, Item.ASSIGNED, Item.RUNNING, Item.MOVING)
        if self.deciding is not None:
            yield from (Item.LEDGER, Item.SWEEPING)
        if self.models or self.shredding is not None or self.attesting is not None:
            yield from (Item.PROJECTING, Item.REDIS)
        if self.shredding is not None:
            yield Item.DESTROYING

    def problems(self) -> list[str]:
        """`failing`, in words; empty when this worker does its work."""
        return [str(each) for each in self.failing()]

    def readings(self) -> Iterable[Reading]:
        yield CONTROL_OFFSET, (), self.rules.offset
        yield TASKS, (), len(asyncio.all_tasks())
        failed = Counter(each.item for each in self.failing())
        for item in sorted({*self.items, *failed}):
            yield NOT_READY, (item.value,), failed[item]
        for service in self.services:
            yield from service.readings()
        for model in self.models:
            yield from model.readings()
        if self.watch is not None:
            yield from self.watch.readings()
        if self.deciding is not None:
            yield from self.deciding.readings()
        if self.shredding is not None:
            yield from self.shredding.readings()
        if self.attesting is not None:
            yield from self.attesting.readings()

    async def ended(self) -> None:
        """Returns never; raises what ended the first service that ended."""
        ends: list[Awaitable[None]] = [self.rules.ended(), *(each.ended() for each in self.services)]
        if self._watching is not None:
            ends.append(asyncio.shield(self._watching))
        watched = [asyncio.ensure_future(each) for each in ends]
        try:
            done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            raise RuntimeError("a service returned")
        finally:
            for task in watched:
                task.cancel()

    async def start(self, services: Sequence[LaneService]) -> None:
        """Side by side: each joins a group of its own."""
        self.services += services
        await asyncio.gather(*(each.start() for each in services))

    async def stop(self) -> None:
        """Side by side, as they started; what is not closed in its time closes beside what follows."""
        await asyncio.gather(*(each.stop() for each in self.services), return_exceptions=True)

    @asynccontextmanager
    async def watched_by(self, watch: Watch) -> AsyncIterator[None]:
        """``watch`` looks after the lanes inside the block, and a thread after the event loop."""
        self.watch = watch
        self._watching = asyncio.create_task(watch.run(), name="watch")
        try:
            with watched_loop(watch.stuck_after):
                yield
        finally:
            self._watching.cancel()
            await asyncio.wait([self._watching])

    async def ready(self, timeout: float = 60.0) -> None:
        """Returns once nothing is in the way. Raises TimeoutError, saying what was."""
        deadline = asyncio.get_running_loop().time() + timeout
        while problems := self.problems():
            if asyncio.get_running_loop().time() > deadline:
                raise TimeoutError("; ".join(problems))
            await asyncio.sleep(0.02)


@asynccontextmanager
async def running_services(
    settings: Settings,
    roles: frozenset[Role] = ALL,
    *,
    accepted: Accepted | None = None,
    meter: Meter = SILENT,
    limit: BadRecordLimit = _LIMIT,
    older_log: bool = False,
) -> AsyncIterator[RunningServices]:
    """The services of ``roles``, started; stopped at the end of the block, leaving their groups.

    ``older_log``: from a log that lacks erasures too, for a restore that has them done again. Raises what
    `open_foundation` raises, `OlderLog` for a restored log, and what a secret does that cannot be read.
    """
    async with AsyncExitStack() as closing:
        foundation = await closing.enter_async_context(open_foundation(settings))
        if not older_log:
            await check_erasure_ledger(settings, foundation)
        rules = rules_of(foundation)
        running = RunningServices(foundation=foundation, rules=rules)
        stages: list[Stage] = []
        publish = await closing.enter_async_context(sweeper_publisher(foundation)) if Role.DECIDE in roles else None
        closing.push_async_callback(running.stop)
        if Role.PROJECT in roles:
            running.models = read_models(foundation, meter)
            services = [model.service(meter) for model in running.models]
            await running.start(services)
            stages += [
                Stage(service=service, topic=model.model.source, places=partial(_places, model))
                for service, model in zip(services, running.models, strict=True)
            ]
        if publish is not None:
            running.deciding = deciding = Deciding(
                foundation=foundation,
                rules=rules,
                publish=publish,
                meter=meter,
                accepted=accepted or {},
                limit=limit,
            )
            await running.start([deciding.service])
            stages.append(
                Stage(
                    service=deciding.service,
                    topic=Topic.EVENTS,
                    places=deciding.places,
                    first=Item.LEDGER,
                    committed=False,  # its own transactions do
                )
            )
        if Role.SHRED in roles:
            running.shredding = shredding = Shredding(foundation=foundation, meter=meter)
            await running.start([shredding.service])
            stages.append(Stage(service=shredding.service, topic=Topic.LIFECYCLE, places=shredding.places))
        if Role.ATTEST in roles:
            signer, ledger = check_attest_settings(settings)
            running.attesting = attesting = Attesting(
                foundation=foundation, meter=meter, signer=signer, ledger=ledger, models=SERVING
            )
            await running.start([attesting.service])
            stages.append(Stage(service=attesting.service, topic=Topic.LIFECYCLE, places=attesting.places))
        watch = Watch(
            foundation=foundation,
            stages=stages,
            stuck_after=settings.stuck_after / 1_000,
            serving=frozenset(SERVING),
        )
        await closing.enter_async_context(running.watched_by(watch))
        yield running


def _places(model: ProjectedModel) -> Mapping[Partition, Place]:
    return lane_places(model.running)
