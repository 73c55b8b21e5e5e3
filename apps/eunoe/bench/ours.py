"""The decider itself, put together as in `eunoe.worker.decide`, on one partition that nobody else wants."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from eunoe.bench.pace import Pace
from eunoe.crypto.keyring import Keyring
from eunoe.processors.acquisition import Acquisition
from eunoe.processors.dead_letters import BadRecordGauge, BadRecordLimit, DeadLetterBox
from eunoe.processors.decider import PartitionDecider
from eunoe.processors.issuing import Issuer
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Ledger
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import Receiver
from eunoe.processors.transaction import Transactions
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.examining import examiner
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.rules import ControlRules, rules_of


@dataclass(slots=True)
class Decider:
    """One process that decides ``partition``. Its keyring stays warm from run to run, as that of a running worker."""

    foundation: Foundation
    rules: ControlRules
    partition: Partition
    keyring: Keyring = field(init=False)

    def __post_init__(self) -> None:
        self.keyring = self.foundation.keyring()

    async def run(self, pace: Pace) -> None:
        """Acquire, decide until ``pace`` is over, release. Raises what the decider raises."""
        work = asyncio.create_task(self._made(pace).run())
        over = asyncio.create_task(pace.wait())
        try:
            await asyncio.wait((work, over), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            for task in (work, over):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work

    def _made(self, pace: Pace) -> PartitionDecider:
        base, partition = self.foundation, self.partition
        log_id, events = base.installation.log_id, base.installation.topic(Topic.EVENTS)
        group = f"{base.settings.group}-decide"
        return PartitionDecider(
            partition=partition,
            installation=base.installation,
            acquisition=Acquisition(
                bootstrap=base.settings.brokers, installation=base.installation, group=group, confirms=_ours
            ),
            ledger=Ledger(
                base.redis,
                ledger_prefix(log_id, partition),
                lambda: self.rules.current().policy.idempotency_retention,
            ),
            receiver=Receiver(log_id, events, partition, base.installation.partitions),
            opener=Opener(self.keyring, lambda: base.key_models.caught_up(partition), examiner()),
            issuer=Issuer(log_id, base.kek, self.keyring),
            letters=DeadLetterBox(log_id, events, partition, base.kek),
            gauge=BadRecordGauge(BadRecordLimit()),
            transactions=Transactions(base.installation, partition, group),
            rules=self.rules,
            keyring=self.keyring,
            batch=base.settings.decide_batch,
            meter=pace,
        )


async def _ours(partition: Partition) -> bool:
    return True


@asynccontextmanager
async def decider(settings: Settings, partition: Partition) -> AsyncIterator[Decider]:
    """With the installation's real rules and secrets."""
    async with open_foundation(settings) as foundation:
        rules = rules_of(foundation)
        yield Decider(foundation, rules, partition)
