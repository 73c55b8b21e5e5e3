"""Following ``memory-control``, and adding to it. Every process reads all of it before it does anything else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.clock import Clock
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.control_state import ControlState, Ignored, after, signers_of
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import ControlRefused, NotASigner, StaleControl
from eunoe.runtime.installation import Installation
from eunoe.runtime.setting_values import ControlSigner
from eunoe.schemas.codec import CONTROL_RECORDS
from eunoe.schemas.control import Approval, ControlRecord, signed_control_bytes
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.ids import Offset, PrincipalName
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 30.0
_FETCH_MS: Final = 200
"""A change is in force in every process within this and the broker's own delay: well under two seconds."""

Report = Callable[[Ignored], None]


class ControlFollower:
    """Holds the state in force. `ControlFollower.state` is a snapshot: take one and judge a whole batch by it."""

    def __init__(
        self,
        bootstrap: Bootstrap,
        installation: Installation,
        signers: tuple[ControlSigner, ...],
        report: Report | None = None,
    ) -> None:
        self._installation = installation
        self._signers = signers_of(signers)
        self._report = report or _say
        self._tp = TopicPartition(installation.topic(Topic.CONTROL), 0)
        self._consumer = AIOKafkaConsumer(
            **connecting(bootstrap),
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=_FETCH_MS,
        )
        self._state = ControlState()
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> ControlState:
        return self._state

    async def start(self) -> None:
        """Read everything there is, then follow in the background. Raises `BrokerAway`."""
        async with within(TIMEOUT_SECONDS, "reading memory-control"):
            await self._consumer.start()
            self._consumer.assign([self._tp])
            await self._consumer.seek_to_beginning(self._tp)
            await self._read_to(await self.end())
        self._task = asyncio.create_task(self._follow(), name="memory-control")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await close_in_time(self._consumer.stop())

    async def ended(self) -> None:
        """Returns never; raises what ended the following."""
        if self._task is None:
            raise RuntimeError("not started")
        await asyncio.shield(self._task)

    async def end(self) -> Offset:
        """The topic's end now: what has been read once `passed` returns for it."""
        return Offset((await self._consumer.end_offsets([self._tp]))[self._tp])

    async def passed(self, offset: Offset) -> ControlState:
        """The state once the record at ``offset`` has been read."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._state.offset >= offset)
            return self._state

    async def _read_to(self, end: Offset) -> None:
        while await self._consumer.position(self._tp) < end:
            await self._read_some()

    async def _follow(self) -> None:
        while True:
            await self._read_some()

    async def _read_some(self) -> None:
        fetched = await self._consumer.getmany(self._tp, timeout_ms=_FETCH_MS)
        for record in fetched.get(self._tp, ()):
            async with self._changed:
                self._state = self._after(Offset(record.offset), record.value)
                self._changed.notify_all()

    def _after(self, offset: Offset, value: bytes | None) -> ControlState:
        try:
            record = CONTROL_RECORDS.decode(value or b"")
        except SchemaError as error:
            found: ControlState | Ignored = Ignored(offset, "?", str(error))
        else:
            found = after(self._state, offset, record, self._installation.log_id, self._signers)
        if isinstance(found, Ignored):
            self._report(found)
            return replace(self._state, offset=offset)
        return found


def _say(ignored: Ignored) -> None:
    log.warning("memory-control offset %d (%s) is ignored: %s", ignored.offset, ignored.name, ignored.problem)


@asynccontextmanager
async def following_control(
    bootstrap: Bootstrap, installation: Installation, signers: tuple[ControlSigner, ...], report: Report | None = None
) -> AsyncIterator[ControlFollower]:
    """A follower that has read everything there is."""
    follower = ControlFollower(bootstrap, installation, signers, report)
    try:
        await follower.start()
        yield follower
    finally:
        await follower.stop()


async def publish_control(
    bootstrap: Bootstrap,
    follower: ControlFollower,
    installation: Installation,
    *,
    signer: Ed25519Signer,
    clock: Clock,
    name: str,
    body: bytes,
    reason: str | None = None,
    by: PrincipalName | None = None,
    approvals: tuple[Approval, ...] = (),
) -> ControlState:
    """Put ``body`` in force under ``name``, against what ``follower`` says is in force now; the state with it in force.

    Raises `NotASigner` before anything is written; `StaleControl` where somebody else was first, `ControlRefused` where
    every process ignores it for another reason; `BrokerAway`.
    """
    if signer.secret_id not in follower._signers:
        raise NotASigner(signer.secret_id)
    record = ControlRecord(
        name=name,
        body=body,
        replaces=follower.state.in_force(name),
        reason=reason,
        made_at=clock.now(),
        signer=signer.secret_id,
        signature=b"",
        by=by,
        approvals=approvals,
    )
    signature = signer.sign(signed_control_bytes(record, installation.log_id))
    fields = {each: getattr(record, each) for each in ControlRecord.__struct_fields__}
    signed = ControlRecord(**(fields | {"signature": signature}))
    async with within(TIMEOUT_SECONDS, "writing to memory-control"):
        producer = AIOKafkaProducer(**connecting(bootstrap), acks="all", enable_idempotence=True)
        await producer.start()
        try:
            topic = installation.topic(Topic.CONTROL)
            sent = await producer.send_and_wait(topic, CONTROL_RECORDS.encode(signed), key=name.encode())
        finally:
            await close_in_time(producer.stop())
        state = await follower.passed(Offset(sent.offset))
    return _settled(state, Offset(sent.offset), name, record.replaces)


def _settled(state: ControlState, offset: Offset, name: str, replaces: Offset) -> ControlState:
    current = state.in_force(name)
    if current >= offset:
        return state
    if current != replaces:
        raise StaleControl(name, replaces, current)
    raise ControlRefused(name, "its body is not valid, or this installation does not accept its signature")
