"""The role `decide`: one lane per partition of ``memory-events``, with the partition's sweeper beside it."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from eunoe.crypto.keyring import Keyring
from eunoe.processors.acquisition import Acquisition
from eunoe.processors.dead_letters import BadRecordGauge, BadRecordLimit, DeadLetterBox
from eunoe.processors.decider import PartitionDecider, RuleSource
from eunoe.processors.issuing import Issuer
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Ledger
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import Receiver, Unusable
from eunoe.processors.sweeper import Publish, Sweeper
from eunoe.processors.transaction import Transactions
from eunoe.runtime.metrics import DEAD_LETTERS, SWEEP_DELAY_SECONDS, SWEEP_IDLE_SECONDS, Meter
from eunoe.schemas.ids import Offset, Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.examining import examiner
from eunoe.worker.foundation import Foundation
from eunoe.worker.health import Failing, Item
from eunoe.worker.lanes import LaneService, Place, group_of
from eunoe.worker.prometheus import Reading
from eunoe.worker.roles import Accepted
from eunoe.worker.together import together

NAME = "decide"


@dataclass(slots=True, kw_only=True)
class Deciding:
    """Makes the lanes. ``publish`` sends the sweeper's proposals; ``accepted`` is what `--accept-bad` said."""

    foundation: Foundation
    rules: RuleSource
    publish: Publish
    meter: Meter
    accepted: Accepted = field(default_factory=dict)
    limit: BadRecordLimit = field(default_factory=BadRecordLimit)
    positions: dict[Partition, Offset] = field(default_factory=dict)
    """The next command, by partition that is acquired."""
    sweepers: dict[Partition, Sweeper] = field(default_factory=dict)
    service: LaneService = field(init=False)
    keyring: Keyring = field(init=False)

    def __post_init__(self) -> None:
        base = self.foundation
        self.keyring = base.keyring()
        for why in Unusable:
            self.meter.add(DEAD_LETTERS, why.value, amount=0)  # a rate needs the 0 before the first
        self.service = LaneService(
            NAME,
            Topic.EVENTS,
            self._work,
            settings=base.settings,
            installation=base.installation,
            meter=self.meter,
        )

    async def _work(self, partition: Partition) -> None:
        base = self.foundation
        prefix = ledger_prefix(base.installation.log_id, partition)
        ledger = Ledger(base.redis, prefix, lambda: self.rules.current().policy.idempotency_retention)
        self.sweepers[partition] = sweeper = Sweeper(ledger, base.clock, self.publish)
        try:
            await together(self._decider(partition, ledger).run(), sweeper.run())
        finally:
            if self.sweepers.get(partition) is sweeper:
                self.positions.pop(partition, None)
                del self.sweepers[partition]

    def _decider(self, partition: Partition, ledger: Ledger) -> PartitionDecider:
        base, log_id = self.foundation, self.foundation.installation.log_id
        events = base.installation.topic(Topic.EVENTS)
        group = group_of(base.settings, NAME)
        accepted = self.accepted.get(partition, ())
        return PartitionDecider(
            partition=partition,
            installation=base.installation,
            acquisition=Acquisition(
                bootstrap=base.settings.brokers,
                installation=base.installation,
                group=group,
                confirms=self.service.confirms,
                accepted=accepted,
                request_timeout_ms=base.settings.request_timeout,
            ),
            ledger=ledger,
            receiver=Receiver(log_id, events, partition, base.installation.partitions),
            opener=Opener(self.keyring, lambda: base.key_models.caught_up(partition), examiner()),
            issuer=Issuer(log_id, base.kek, self.keyring),
            letters=DeadLetterBox(log_id, events, partition, base.kek),
            gauge=BadRecordGauge(self.limit, accepted),
            transactions=Transactions(base.installation, partition, group),
            rules=self.rules,
            keyring=self.keyring,
            batch=base.settings.decide_batch,
            meter=self.meter,
            at=partial(self.positions.__setitem__, partition),
        )

    def places(self) -> Mapping[Partition, Place]:
        """Where the deciders are (`eunoe.worker.watching.Stage`)."""
        return {partition: (self.positions.get(partition), 0) for partition in self.sweepers}

    def failing(self, stuck_after: float) -> Iterable[Failing]:
        """Partitions whose sweeper has not looked at what is due for ``stuck_after`` seconds."""
        for partition, idle in self._idle():
            if idle > stuck_after:
                why = f"no look at what is due has come to its end for {idle:.0f} s"
                yield Failing(Item.SWEEPING, f"{NAME} partition {partition}", why)

    def readings(self) -> Iterable[Reading]:
        now = self.foundation.clock.now()
        for partition, idle in self._idle():
            due = self.sweepers[partition].oldest_due
            yield SWEEP_IDLE_SECONDS, (str(partition),), idle
            yield SWEEP_DELAY_SECONDS, (str(partition),), 0.0 if due is None else max(0, now - due) / 1_000

    def _idle(self) -> Iterable[tuple[Partition, float]]:
        now = asyncio.get_running_loop().time()
        for partition, sweeper in sorted(self.sweepers.items()):
            yield partition, 0.0 if sweeper.swept_at is None else now - sweeper.swept_at
