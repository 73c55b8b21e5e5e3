"""Asking for outcomes, and waiting for thousands of them at once.

Waiting costs Redis one small question per partition and tick, however many commands are pending: the watermark. Only
where it has moved are the pending commands of that partition looked up, in runs.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from typing import Final

from redis.asyncio import Redis

from eunoe.readmodels.errors import NoOutcome, StoreUnavailable
from eunoe.readmodels.outcomes import NAME, OutcomeNames, member_of, stored
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.store import answers, ask
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.errors import Undecodable
from eunoe.schemas.ids import CommandId, Partition, TenantId
from eunoe.schemas.outcomes import Outcome

_RUN: Final = 500
"""Keys per MGET: about 0.2 ms of Redis."""
_LONGEST_PAUSE_S: Final = 1.0


class OutcomeReader:
    """Belongs to one event loop. `aclose` ends its one background task, which runs only while somebody waits.

    ``generation``: a certain one; None: the one that serves. ``tick_s``: how often watermarks are asked for, and with
    it the delay that waiting adds.
    """

    def __init__(
        self, redis: Redis, installation: Installation, generation: int | None = None, *, tick_s: float = 0.005
    ) -> None:
        self._redis = redis
        self._installation = installation
        self._serving = Serving(redis, installation, NAME, generation)
        self._tick_s = tick_s
        self._waiting: dict[Partition, dict[str, set[asyncio.Future[Outcome]]]] = {}
        self._looked_at: dict[Partition, int] = {}
        self._trouble: str | None = None
        self._poller: asyncio.Task[None] | None = None

    async def outcome(self, tenant: TenantId, command_id: CommandId) -> Outcome | None:
        """The outcome, or None where none is known (yet, or any more). Raises `StoreUnavailable` or `BeingFilled`."""

        async def reading(prefix: Prefix) -> bytes | None:
            with answers("reading an outcome"):
                where = OutcomeNames(prefix).outcome(member_of(tenant, command_id))
                found: bytes | None = (await ask(self._redis, ("GET", where)))[0]
            if found is None:
                await self._serving.filled(prefix)
            return found

        value = await self._serving.read(self._installation.partition_of(tenant), reading)
        return None if value is None else stored(value)

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        """The outcome as soon as it is known. Raises `NoOutcome` after ``timeout`` seconds, Redis away or not."""
        partition = self._installation.partition_of(tenant)
        member = member_of(tenant, command_id)
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(partition, {}).setdefault(member, set()).add(future)
        # It may have been decided before anybody asked, so the watermark says nothing about it.
        self._looked_at.pop(partition, None)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll(), name="outcomes-poll")
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            raise NoOutcome(command_id, timeout, self._trouble) from None
        finally:
            self._leave(partition, member, future)

    async def aclose(self) -> None:
        """Stop polling; whoever still waits is cancelled."""
        for pending in self._waiting.values():
            for futures in pending.values():
                for future in futures:
                    future.cancel()
        if self._poller is not None:
            self._poller.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._poller

    def _leave(self, partition: Partition, member: str, future: "asyncio.Future[Outcome]") -> None:
        pending = self._waiting[partition]
        pending[member].discard(future)
        if not pending[member]:
            del pending[member]
        if not pending:
            del self._waiting[partition]
            self._looked_at.pop(partition, None)

    async def _poll(self) -> None:
        pause = self._tick_s
        while self._waiting:
            heed_cancellation()
            try:
                moved = await self._look()
            except StoreUnavailable as away:
                self._looked_at.clear()
                self._trouble, pause = str(away), min(_LONGEST_PAUSE_S, pause * 2)
            else:
                self._trouble, pause = None, self._tick_s if moved else min(4 * self._tick_s, pause * 1.25)
            await asyncio.sleep(pause)

    async def _look(self) -> bool:
        """Whether anything had moved."""
        partitions = list(self._waiting)
        with answers("waiting for outcomes"):
            found = await self._serving.positions(partitions)
        moved = False
        for partition, (prefix, position) in zip(partitions, found, strict=True):
            if self._looked_at.get(partition) != position:
                # Set first: whoever starts waiting during the look-up takes the mark away again.
                self._looked_at[partition] = position
                await self._look_up(partition, OutcomeNames(prefix))
                moved = True
        return moved

    async def _look_up(self, partition: Partition, names: OutcomeNames) -> None:
        members = list(self._waiting.get(partition, ()))
        for first in range(0, len(members), _RUN):
            run: Sequence[str] = members[first : first + _RUN]
            with answers("reading outcomes"):
                values = (await ask(self._redis, ("MGET", *map(names.outcome, run))))[0]
            for member, value in zip(run, values, strict=True):
                if value is not None:
                    self._answer(self._waiting.get(partition, {}).get(member, ()), value)

    def _answer(self, futures: "Iterable[asyncio.Future[Outcome]]", value: bytes) -> None:
        for future in futures:
            if future.done():
                continue
            try:
                future.set_result(stored(value))
            except Undecodable as error:
                future.set_exception(error)
