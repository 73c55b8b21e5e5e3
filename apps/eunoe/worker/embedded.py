"""A worker's services in the running event loop: what the Faust app hosts, and what tests and the demo run themselves.

Order matters on the way in and out: the foundation, the rules (no policy, no deciding), the read models (a decider
that misses a key waits for them), the deciders; and back.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from eunoe.processors.dead_letters import BadRecordLimit
from eunoe.runtime.metrics import CONTROL_OFFSET, SILENT, Meter
from eunoe.runtime.settings import Settings
from eunoe.worker.attest import Attesting, check_attest_settings, check_erasure_ledger
from eunoe.worker.decide import Deciding
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.lanes import LaneService
from eunoe.worker.project import SERVING, ProjectedModel, read_models
from eunoe.worker.prometheus import Reading
from eunoe.worker.roles import ALL, Accepted, Role
from eunoe.worker.rules import ControlRules, following
from eunoe.worker.shred import Shredding
from eunoe.worker.sweeping import sweeper_publisher

_LIMIT: Final = BadRecordLimit()


@dataclass(slots=True, kw_only=True)
class RunningServices:
    """What runs. `ended` is awaited by whoever hosts it: a service that died must not look alive."""

    foundation: Foundation
    rules: ControlRules
    models: Sequence[ProjectedModel] = ()
    shredding: Shredding | None = None
    attesting: Attesting | None = None
    services: list[LaneService] = field(default_factory=list)

    def problems(self) -> list[str]:
        """What keeps this worker from being ready; empty when every lane it was given runs."""
        found = list(self.rules.problems())
        for service in self.services:
            found += service.problems()
        if self.shredding is not None:
            found += self.shredding.problems()
        return found

    def readings(self) -> Iterable[Reading]:
        yield CONTROL_OFFSET, (), self.rules.offset
        for service in self.services:
            yield from service.readings()
        for model in self.models:
            yield from model.readings()
        if self.shredding is not None:
            yield from self.shredding.readings()
        if self.attesting is not None:
            yield from self.attesting.readings()

    async def ended(self) -> None:
        """Returns never; raises what ended the first service that ended."""
        watched = [asyncio.ensure_future(each) for each in (self.rules.ended(), *(s.ended() for s in self.services))]
        try:
            done, _ = await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            raise RuntimeError("a service returned")
        finally:
            for task in watched:
                task.cancel()

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
) -> AsyncIterator[RunningServices]:
    """The services of ``roles``, started; stopped at the end of the block, leaving their groups.

    Raises what `open_foundation` raises, `OlderLog` for a restored log, and what a secret does that cannot be read.
    """
    async with AsyncExitStack() as closing:
        foundation = await closing.enter_async_context(open_foundation(settings))
        await check_erasure_ledger(settings, foundation)
        rules = await closing.enter_async_context(following(foundation))
        running = RunningServices(foundation=foundation, rules=rules)
        if Role.PROJECT in roles:
            running.models = read_models(foundation)
            await _start(closing, running, [model.service(meter) for model in running.models])
        if Role.DECIDE in roles:
            publish = await closing.enter_async_context(sweeper_publisher(foundation))
            deciding = Deciding(
                foundation=foundation,
                rules=rules,
                publish=publish,
                meter=meter,
                accepted=accepted or {},
                limit=limit,
            )
            await _start(closing, running, [deciding.service])
        if Role.SHRED in roles:
            running.shredding = Shredding(foundation=foundation, meter=meter)
            await _start(closing, running, [running.shredding.service])
        if Role.ATTEST in roles:
            signer, ledger = check_attest_settings(settings)
            running.attesting = Attesting(
                foundation=foundation, meter=meter, signer=signer, ledger=ledger, models=SERVING
            )
            await _start(closing, running, [running.attesting.service])
        yield running


async def _start(closing: AsyncExitStack, running: RunningServices, services: Sequence[LaneService]) -> None:
    """Side by side, and later stopped side by side: each joins or leaves a group of its own."""

    async def stop() -> None:
        await asyncio.gather(*(each.stop() for each in services), return_exceptions=True)

    closing.push_async_callback(stop)
    await asyncio.gather(*(each.start() for each in services))
    running.services += services
