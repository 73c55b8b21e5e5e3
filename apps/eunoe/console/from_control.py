"""Policy and switches in force, as every process reads them from memory-control."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from eunoe.client.switching import SwitchInForce, switches_in_force
from eunoe.console.board import PartName
from eunoe.console.from_log import Look
from eunoe.console.known_log import KnownLog
from eunoe.console.snapshot import Control, Service, Switch
from eunoe.runtime.control import following_control
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Offset


@dataclass(frozen=True, slots=True)
class ControlSource:
    settings: Settings
    known: KnownLog
    name: PartName = "control"
    asks: tuple[Service, ...] = (Service.KAFKA,)
    every: float = 1.0
    deadline: float = 4.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        async with following_control(self.settings.brokers, installation, self.settings.control_signers) as follower:

            async def look() -> Control:
                self.known.still(installation)
                # Asked anew each time: without it a broker that is away would look like one with nothing to say.
                state = await follower.passed(Offset(await follower.end() - 1))
                return Control(
                    policy=None if state.policy is None else state.policy.version,
                    offset=state.offset,
                    switches=tuple(_switch(each) for each in switches_in_force(state)),
                )

            yield look


def _switch(each: SwitchInForce) -> Switch:
    return Switch(
        tenant=each.subject.tenant,
        purpose=each.subject.purpose,
        reads=each.switch.reads,
        writes=each.writes.value,
        by=each.by,
        made_at=each.made_at,
        offset=each.offset,
    )
