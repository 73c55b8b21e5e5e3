"""What a policy would have decided over the commands that are still on ``memory-events``. It writes nothing.

State starts as the log left it before the first command that is judged, and goes on as *this* policy would have it:
what it would have refused is not there for what came later. Time is each command's append time, switches are taken as
the log shows them. A command about what was forgotten since is passed over and counted, and so is one whose key is
gone; the fact that the log has for it is folded instead, so that what refers to it is judged on the same ground.

That nothing is written follows from what this module is given: consumers without a group, read models through
`KeySource`, a ledger that is a dict, and no producer. Only that this process holds a key-encryption key is said in
Redis, as every holder does: a rotation waits for it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.crypto.keyring import Keyring
from eunoe.domain.ledger_state import fold
from eunoe.domain.ledger_tenants import take
from eunoe.processors.errors import KeysLagBehind
from eunoe.processors.receiving import Receiver
from eunoe.readmodels.key_source import RedisKeySource
from eunoe.readmodels.tenants import TenantsReader
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import ControlFollower, following_control
from eunoe.runtime.deadline import within
from eunoe.runtime.errors import WorldFault
from eunoe.runtime.holding import holding
from eunoe.runtime.installation import Installation, check_redis, read_installation
from eunoe.runtime.kek import kek_of
from eunoe.runtime.principals import PolicyVerifiers
from eunoe.runtime.redis.connect import connect, user_of
from eunoe.runtime.settings import Settings
from eunoe.schemas.events import PartitionOpened
from eunoe.schemas.ids import Millis, Offset, Partition, TenantId
from eunoe.schemas.policy import Policy
from eunoe.schemas.topics import Topic
from eunoe.worker.examining import examiner
from eunoe.worker.key_models import KeyModels
from eunoe.worker.simulated_judge import Judge, Past, Ruling
from eunoe.worker.simulated_log import Answers, Stretch, stretch
from eunoe.worker.simulated_report import Simulation

_CONNECT_S: Final = 30.0


class ModelsBehind(WorldFault):
    """Without the key models nobody can tell a destroyed key from one that is not folded yet."""

    def __init__(self, behind: KeysLagBehind) -> None:
        super().__init__(str(behind))


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulator:
    """``tenant``: only this one's commands. ``missing``: secrets of the policy that cannot be read.

    Made by `opened_simulator`.
    """

    bootstrap: Bootstrap
    installation: Installation
    ruling: Ruling
    missing: tuple[str, ...]
    key_models: KeyModels
    tenant: TenantId | None

    async def run(self, since: Millis | None, progress: Callable[[int], None] = lambda _: None) -> Simulation:
        """Judge what was appended since ``since`` (ms). ``progress`` is told how many commands have been read.

        Raises `ModelsBehind` and other errors of the world; `UnreadableEvent` for a log that cannot be folded.
        """
        found = Simulation(missing=self.missing)
        for partition in self._partitions():
            async with (
                stretch(self.bootstrap, self._place(Topic.LIFECYCLE, partition)) as lifecycle,
                stretch(self.bootstrap, self._place(Topic.EVENTS, partition)) as commands,
            ):
                await self._partition(found, partition, since, (lifecycle, commands), progress)
        return found

    def _partitions(self) -> Sequence[Partition]:
        if self.tenant is not None:
            return (self.installation.partition_of(self.tenant),)
        return tuple(map(Partition, range(self.installation.partitions)))

    def _place(self, topic: Topic, partition: Partition) -> TopicPartition:
        return TopicPartition(self.installation.topic(topic), partition)

    async def _partition(
        self,
        found: Simulation,
        partition: Partition,
        since: Millis | None,
        log: tuple[Stretch, Stretch],
        progress: Callable[[int], None],
    ) -> None:
        lifecycle, commands = log
        first, end = await commands.first(since), await lifecycle.end()
        try:
            await self.key_models.caught_up(partition)
        except KeysLagBehind as behind:
            raise ModelsBehind(behind) from behind
        past = await self._past(lifecycle, first, end)
        answers = Answers(lifecycle.facts(past.resume, end))
        topic = self.installation.topic(Topic.EVENTS)
        receiver = Receiver(self.installation.log_id, topic, partition, self.installation.partitions)
        judge = Judge(self.ruling, receiver, past, found)
        async for record in commands.records(first, Offset(past.decided_to + 1)):
            progress(1)
            if self.tenant is None or record.key == self.tenant.encode():
                await judge.judge(record, await answers.to(Offset(record.offset)))

    async def _past(self, lifecycle: Stretch, first: Offset, end: Offset) -> Past:
        """``first``: the input offset from which commands are judged."""
        past = Past(resume=end)
        async for offset, event in lifecycle.facts(Offset(0), end):
            header = event.header
            if isinstance(event.fact, PartitionOpened):
                continue
            past.decided_to = header.input_offset
            if header.input_offset >= first:
                past.resume = min(past.resume, offset)
            if self.tenant is not None and header.tenant != self.tenant:
                continue
            past.erasures.see(event)
            if header.input_offset < first:
                take(past.ledger, event, fold(past.ledger, event))
                past.decided_at = header.decided_at
        return past


Admit = Callable[[ControlFollower, Settings, TenantsReader, TenantId | None], Awaitable[None]]
"""Raises where the caller may not try a policy on this tenant's commands, or None: on everybody's."""


@asynccontextmanager
async def opened_simulator(
    settings: Settings, policy: Policy, admit: Admit, tenant: TenantId | None = None
) -> AsyncIterator[Simulator]:
    """For whom ``admit`` lets. Raises what that, `read_installation`, `connect`, `check_redis`, `kek_of`,
    `following_control` and `holding` raise."""
    kek, clock = kek_of(settings), SystemClock()
    async with AsyncExitStack() as closing:
        installation = await read_installation(settings.brokers, settings.topics)
        redis = await connect(settings.redis)
        closing.push_async_callback(redis.aclose)
        await check_redis(redis, installation)
        with_control = following_control(settings.brokers, installation, settings.control_signers)
        control = await closing.enter_async_context(with_control)
        await admit(control, settings, TenantsReader(redis, installation), tenant)
        who = user_of(settings.redis)
        await closing.enter_async_context(holding("simulate", kek, control, redis, who, installation))
        ends = AIOKafkaConsumer(
            **connecting(settings.brokers), isolation_level="read_committed", enable_auto_commit=False
        )
        closing.push_async_callback(ends.stop)
        async with within(_CONNECT_S, "connecting to read the log again"):
            await ends.start()
        verifiers = PolicyVerifiers(policy, settings.secrets)
        yield Simulator(
            bootstrap=settings.brokers,
            installation=installation,
            ruling=Ruling(
                policy=policy,
                verifiers=verifiers,
                keyring=Keyring(installation.log_id, kek, RedisKeySource(redis, installation), clock.now),
                examiner=examiner(),
            ),
            missing=tuple(verifiers.missing),
            key_models=KeyModels(redis, installation, ends),
            tenant=tenant,
        )
