"""A place in a consumer group, and nothing else: which partitions this process owns.

The consumer here fetches nothing (its partitions are paused); each lane reads with a consumer of its own. So a busy
lane cannot delay another's fetch, a slow one cannot miss a heartbeat, and no record is ever delivered during a
rebalance callback.
"""

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.schemas.ids import Offset, Partition

log = logging.getLogger(__name__)

_POLL_MS = 1_000
_COMMIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTimes:
    """Milliseconds. ``session`` bounds how long a dead member keeps its partitions; a killed broker needs about 21 s to
    be usable again, which is why thresholds for stuck partitions are above that."""

    session: int = 10_000
    heartbeat: int = 3_000
    rebalance: int = 30_000


class Membership(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka is untyped
    """Joins ``group`` for ``topic`` and reports what it gains and loses.

    ``gained`` and ``lost`` are awaited inside the rebalance, while no heartbeat runs: they start and stop tasks and
    return well within the session time. What they raise is logged by type, for aiokafka would swallow it.
    """

    def __init__(
        self,
        bootstrap: Bootstrap,
        topic: str,
        group: str,
        *,
        gained: Callable[[frozenset[Partition]], Awaitable[None]],
        lost: Callable[[frozenset[Partition]], Awaitable[None]],
        times: GroupTimes | None = None,
    ) -> None:
        self._topic = topic
        self._gained = gained
        self._lost = lost
        times = times or GroupTimes()
        self._consumer = AIOKafkaConsumer(
            **connecting(bootstrap),
            group_id=group,
            client_id=f"eunoe-{socket.gethostname()}-{os.getpid()}",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=times.session,
            heartbeat_interval_ms=times.heartbeat,
            rebalance_timeout_ms=times.rebalance,
            metadata_max_age_ms=30_000,
        )
        self._poll: asyncio.Task[None] | None = None
        self.joins = 0
        """How often the group gave this member its partitions: once, and once more for each rebalance."""
        self._joined = False

    async def start(self) -> None:
        """Join. Returns when connected; partitions arrive through ``gained``."""
        self._consumer.subscribe([self._topic], listener=self)
        await self._consumer.start()
        self._poll = asyncio.create_task(self._keep_polling(), name="membership-poll")

    async def stop(self) -> None:
        """Leave the group, so that another member takes over at once. Lanes are stopped through ``lost``. Where the
        broker does not answer, another takes over when the session is over."""
        if self._poll is not None:
            self._poll.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._poll
        await self.on_partitions_revoked(self._consumer.assignment())
        # Leaving waits for the coordinator's answer; a hung broker gives none for 40 s (measured).
        await close_in_time(self._consumer.stop())

    async def ended(self) -> None:
        """Returns never while the membership lives; raises what ended it. To be awaited after `start`."""
        assert self._poll is not None
        await asyncio.shield(self._poll)

    @property
    def joined(self) -> bool:
        """Whether the group has told what is ours at least once since `start`, be it nothing."""
        return self._joined

    @property
    def assignment(self) -> frozenset[Partition]:
        return _partitions(self._consumer.assignment())

    async def confirms(self, partition: Partition) -> bool:
        """Whether a heartbeat sent now is answered, and still shows ``partition`` as ours.

        A member that was asleep believes in its old assignment until the coordinator tells it otherwise; asking first
        keeps it from fencing the rightful owner. aiokafka has no public heartbeat (0.14), hence the private one.
        """
        try:
            answered = await self._consumer._coordinator._do_heartbeat()
        except KafkaError:
            return False
        return bool(answered) and partition in self.assignment

    async def commit(self, positions: Mapping[Partition, Offset]) -> bool:
        """Tell Kafka how far we are on what is ours. False where it did not take that now, in a rebalance say.

        For groups whose lanes go on from somewhere else: the committed offset then only shows in lag tools.
        """
        told = {TopicPartition(self._topic, each): positions[each] for each in self.assignment & positions.keys()}
        try:
            async with asyncio.timeout(_COMMIT_S):
                if told:
                    await self._consumer.commit(told)
        except (KafkaError, TimeoutError) as error:
            log.debug("group %s: positions not committed: %s", self._topic, type(error).__name__)
            return False
        return True

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.joins += 1
        self._joined = True
        self._consumer.pause(*assigned)
        await self._report(self._gained, assigned)

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        await self._report(self._lost, revoked)

    async def _report(self, to: Callable[[frozenset[Partition]], Awaitable[None]], which: set[TopicPartition]) -> None:
        try:
            await to(_partitions(which))
        except Exception:
            log.exception("rebalance callback failed")

    async def _keep_polling(self) -> None:
        # Only to be seen as a live consumer; every partition is paused.
        while True:
            try:
                await self._consumer.getmany(timeout_ms=_POLL_MS)
            except KafkaError as error:
                log.warning("group %s: %s; polling again", self._topic, type(error).__name__)
                await asyncio.sleep(_POLL_MS / 1_000)


def _partitions(assigned: set[TopicPartition]) -> frozenset[Partition]:
    return frozenset(Partition(each.partition) for each in assigned)
