"""`Sent`: a command on its way, and how it is sent once more where the key it was sealed under had been closed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from eunoe.producers import checks
from eunoe.producers.errors import KeyRefused
from eunoe.producers.key_requests import OutcomeSource
from eunoe.runtime.publish import Delivery, NotSent
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import CommandId, MemoryId, TenantId
from eunoe.schemas.outcomes import Outcome

Again = Callable[[], Awaitable["Sent | None"]]
"""Seals and sends the same request anew, under a new command id; None where the keys are those it was sealed under.

Raises `KeyRefused` where there are none."""

_OF_AN_OLD_KEY: Final = frozenset(
    {
        Reason.SUBJECT_CLOSED,
        Reason.UNKNOWN_KEY,
        Reason.WRONG_KEY,
        Reason.UNREADABLE_BODY,
        Reason.TENANT_NOT_OPEN,
        Reason.TENANT_FORGOTTEN,
    }
)
"""How the decider refuses a draft whose key is not (any more) the open generation's, or the open tenant's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command on its way. ``memory_id``: of the record that it would create."""

    command_id: CommandId
    tenant: TenantId
    memory_id: MemoryId | None
    _delivery: Delivery
    _outcomes: OutcomeSource | None
    _again: Again | None = None

    async def written(self) -> CommandId:
        """Returns when Kafka has it on all in-sync replicas. Raises `NotSent`."""
        await self._delivery.written()
        return self.command_id

    def given_up(self, after: float) -> NotSent:
        """For who does not wait for `written` any longer, after so many seconds: what to raise. Closing the producer
        will not tell of it a second time."""
        self._delivery.told = True
        return NotSent("taking a command", after, unsent=(self.command_id,))

    def disown(self) -> None:
        """For who does not wait any longer, and would not miss it: closing the producer does not wait for it either."""
        self._delivery.disown()

    async def outcome(self, timeout: float) -> Outcome:
        """What became of it. Raises `CallerError` for ``timeout``, `NotSent`, or what the source raises after so many
        seconds: nothing is known then, and asking again or sending again under the same command id is safe.

        A record that was refused because this process still sealed under a closed key is sealed and sent once more,
        and the outcome (with a command id of its own) is that of the second attempt.
        """
        checks.seconds("timeout", timeout)
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout
        await self._delivery.written()
        outcome = await waited(self._outcomes, self.tenant, self.command_id, timeout)
        if self._again is None or not outcome.refused or outcome.reason not in _OF_AN_OLD_KEY:
            return outcome
        try:
            async with asyncio.timeout_at(deadline):
                again = await self._again()
        except (KeyRefused, TimeoutError):
            return outcome
        return outcome if again is None else await again.outcome(max(0.0, deadline - clock()))


async def waited(source: OutcomeSource | None, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
    """The outcome of a command. Raises what ``source`` raises after ``timeout`` seconds."""
    if source is None:
        raise RuntimeError("this producer was made without an OutcomeSource")
    return await source.wait(tenant, command_id, timeout)
