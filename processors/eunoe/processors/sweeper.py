"""Time enters through the log: whoever decides a partition proposes `ExpireMemory` for what is due on it,
and `CompleteForgetting` for a request to forget whose grace period is over.

Nothing depends on the sweeper for safety: readers filter on ``expires_at`` themselves, and `decide` judges every
proposal again by log time. A proposal from a clock that runs ahead is refused as ``not_due``, is not remembered, and
comes again with the next window.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from eunoe.domain.memory import MemoryState
from eunoe.processors.ledger.ledger import AskedFor, EndingTenant, Ledger
from eunoe.runtime.clock import Clock
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.commands import CompleteForgetting, CompleteTenantForgetting, ExpireMemory
from eunoe.schemas.ids import CommandId, Millis, derived_id

log = logging.getLogger(__name__)

WINDOW_MS: Final = 600_000
"""A proposal is made once in each window of wall-clock time, under one id however many sweepers make it."""
_AT_ONCE: Final = 500

Proposed = ExpireMemory | CompleteForgetting | CompleteTenantForgetting
Publish = Callable[[Proposed, CommandId], Awaitable[object]]
"""Sends a command under the sweeper's principal and id; raises when the broker does not take it."""


def expiry(state: MemoryState, now: Millis) -> tuple[ExpireMemory, CommandId]:
    """The proposal for a due record, and its id: the same for everybody who makes it within the window."""
    command = ExpireMemory(
        tenant=state.tenant,
        memory_id=state.memory_id,
        expected_version=state.version,
        expires_at=state.expires_at,
    )
    window = str(now // WINDOW_MS)
    parts = ("expire", state.tenant, state.memory_id, str(state.version), str(state.expires_at), window)
    return command, CommandId(derived_id(*parts))


def completion(asked: AskedFor, now: Millis) -> tuple[CompleteForgetting, CommandId]:
    """As `expiry`, for a request to forget whose time has come."""
    command = CompleteForgetting(
        tenant=asked.tenant, subject=asked.subject, generation=asked.generation, due_at=asked.due_at
    )
    parts = ("complete", asked.tenant, asked.subject, str(asked.generation), str(asked.due_at), str(now // WINDOW_MS))
    return command, CommandId(derived_id(*parts))


def ending(asked: EndingTenant, now: Millis) -> tuple[CompleteTenantForgetting, CommandId]:
    """As `expiry`, for a tenant that no legal hold keeps any more."""
    parts = ("complete-tenant", asked.tenant, str(asked.incarnation), str(now // WINDOW_MS))
    command = CompleteTenantForgetting(tenant=asked.tenant, incarnation=asked.incarnation)
    return command, CommandId(derived_id(*parts))


def proposal(due: MemoryState | AskedFor | EndingTenant, now: Millis) -> tuple[Proposed, CommandId]:
    match due:
        case AskedFor():
            return completion(due, now)
        case EndingTenant():
            return ending(due, now)
        case _:
            return expiry(due, now)


@dataclass(slots=True)
class Sweeper:
    """One partition's. ``every`` (seconds) is how long after ``expires_at`` the fact may be written."""

    ledger: Ledger
    clock: Clock
    publish: Publish
    every: float = 1.0
    swept_at: float | None = None
    """When `sweep` last came to its end, at first when `run` began (the event loop's time)."""
    oldest_due: Millis | None = None
    """Since when the longest overdue record is due, as of the last look; None where nothing is."""
    _proposed: set[CommandId] = field(default_factory=set)
    _window: int = -1

    async def run(self) -> None:
        """Sweep until cancelled. Raises what Redis or Kafka raise: the lane starts again."""
        self.swept_at = asyncio.get_running_loop().time()
        while True:
            heed_cancellation()
            if not await self.sweep():
                await asyncio.sleep(self.every)

    async def sweep(self) -> int:
        """Propose what is due and was not proposed in this window. Returns how many were."""
        now = self.clock.now()
        if now // WINDOW_MS != self._window:
            self._window = now // WINDOW_MS
            self._proposed.clear()
        due = await self.ledger.due(now, _AT_ONCE + len(self._proposed))
        # A request to forget is no record: `oldest_due` measures how far behind expiry is.
        self.oldest_due = min((each.expires_at for each in due if isinstance(each, MemoryState)), default=None)
        proposals = [proposal(each, now) for each in due]
        fresh = [(command, command_id) for command, command_id in proposals if command_id not in self._proposed]
        for command, command_id in fresh[:_AT_ONCE]:
            await self.publish(command, command_id)
            self._proposed.add(command_id)
        await self.ledger.drop_lapsed()
        self.swept_at = asyncio.get_running_loop().time()
        return len(fresh)
