"""Keys that are not there yet are asked for through the log, once each, however many writers wait for one.

A request is an `IssueKey` command; its key is there when the read models `keys` and `subjects` have folded what the
decider made of it. So the keyring is asked again until it answers: after the request's outcome where outcomes can be
waited for, and in growing steps.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from eunoe.crypto.errors import KeyClosed, KeySourceUnavailable, KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.crypto.keys import DataCipher, TenantKeys
from eunoe.producers.errors import KeyRefused, NoKeyYet, SubjectClosed
from eunoe.runtime.errors import WorldFault
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import Bucket, CommandId, Pseudonym, TenantId
from eunoe.schemas.outcomes import Outcome, OutcomeStatus

PATIENCE_S: Final = 20.0
"""Until a key that was asked for counts as not coming: a worker that takes a partition over needs about ten."""
_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 0.1


class OutcomeSource(Protocol):
    """Filled by `apps` with the ``outcomes`` read model."""

    async def wait(self, tenant: TenantId, command_id: CommandId, timeout: float) -> Outcome:
        """The outcome as soon as it is known. Raises a retryable error after ``timeout`` seconds."""
        ...


Ask = Callable[[IssueKey], Awaitable[CommandId]]
"""Publishes the request; returns when Kafka has it."""


class KeyRequests:
    """Belongs to one event loop. One look at the source and one request per missing key, shared by all who wait."""

    def __init__(
        self, keyring: Keyring, ask: Ask, outcomes: OutcomeSource | None, patience: float = PATIENCE_S
    ) -> None:
        self._keyring = keyring
        self._ask = ask
        self._outcomes = outcomes
        self._patience = patience
        self._asked: dict[IssueKey, asyncio.Task[None]] = {}

    async def tenant(self, tenant: TenantId) -> TenantKeys:
        """The tenant's keys; the tenant is opened where it is not. Raises `KeyRefused` or `NoKeyYet`, and what the
        keyring raises other than `KeyUnknown`."""
        cached = self._keyring.cached_tenant(tenant)
        if cached is not None:
            return cached
        await self._found(IssueKey(tenant=tenant))
        return await self._keyring.tenant(tenant)

    async def sealing(self, keys: TenantKeys, subject: Pseudonym, bucket: Bucket) -> DataCipher:
        """What seals for the subject, whose pseudonym is under ``keys``. As `tenant`, and `SubjectClosed` where no
        outcomes can be waited for."""
        tenant = keys.tenant
        cached = self._keyring.cached_sealing_cipher(tenant, subject, bucket)
        if cached is not None:
            return cached
        await self._found(IssueKey(tenant=tenant, incarnation=keys.incarnation, subject=subject, bucket=bucket))
        return await self._keyring.sealing_cipher(tenant, subject, bucket)

    async def aclose(self) -> None:
        """Nobody waits any more."""
        tasks = list(self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _found(self, request: IssueKey) -> None:
        """Returns once the key of ``request`` is in the keyring. All who wait share one look and one request."""
        task = self._asked.get(request)
        if task is None:
            task = asyncio.create_task(self._find(request), name="key-request")
            self._asked[request] = task
            task.add_done_callback(lambda done: self._over(request, done))
        # One who gives up must not take the key from the others.
        await asyncio.shield(task)

    def _over(self, request: IssueKey, task: "asyncio.Task[None]") -> None:
        self._asked.pop(request, None)
        if not task.cancelled():
            task.exception()  # nobody may be waiting any more

    async def _find(self, request: IssueKey) -> None:
        if not await self._there(request):
            await self._obtain(request)

    async def _obtain(self, request: IssueKey) -> None:
        """Ask, and look until it is there. A source that does not answer meanwhile may answer in time."""
        deadline = asyncio.get_running_loop().time() + self._patience
        command_id = await self._ask(request)
        if self._outcomes is not None:
            try:
                outcome = await self._outcomes.wait(request.tenant, command_id, self._patience)
            except WorldFault as away:  # it speaks of the request, which the caller never made
                raise NoKeyYet(request.tenant, self._patience) from away
            if outcome.status is OutcomeStatus.REJECTED:
                raise KeyRefused(outcome)
        pause = _FIRST_PAUSE_S
        while True:
            missing: KeySourceUnavailable | None = None
            try:
                if await self._there(request):
                    return
            except KeySourceUnavailable as error:
                missing = error
            if asyncio.get_running_loop().time() > deadline:
                raise NoKeyYet(request.tenant, self._patience) from missing
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE_S, pause * 1.5)

    async def _there(self, request: IssueKey) -> bool:
        """Whether the keyring has it. What is closed is for the decider to refuse: it knows of a readmission first."""
        try:
            if request.subject is None or request.bucket is None:
                await self._keyring.tenant(request.tenant)
            else:
                await self._keyring.sealing_cipher(request.tenant, request.subject, request.bucket)
        except KeyUnknown:
            return False
        except KeyClosed as closed:
            if self._outcomes is not None:
                return False
            if closed.scope == "generation" and request.subject is not None:
                raise SubjectClosed(request.tenant, request.subject) from closed
            raise
        return True
