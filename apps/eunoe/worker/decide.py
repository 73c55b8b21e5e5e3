"""The role `decide`: one lane per partition of ``memory-events``, with the partition's sweeper beside it."""

from dataclasses import dataclass, field

from eunoe.crypto.keyring import Keyring
from eunoe.processors.acquisition import Acquisition
from eunoe.processors.dead_letters import BadRecordGauge, BadRecordLimit, DeadLetterBox
from eunoe.processors.decider import PartitionDecider, RuleSource
from eunoe.processors.issuing import Issuer
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.processors.ledger.ledger import Ledger
from eunoe.processors.opening import Opener
from eunoe.processors.receiving import Receiver
from eunoe.processors.sweeper import Publish, Sweeper
from eunoe.processors.transaction import Transactions
from eunoe.runtime.metrics import Meter
from eunoe.schemas.ids import Partition
from eunoe.schemas.topics import Topic
from eunoe.worker.examining import examiner
from eunoe.worker.foundation import Foundation
from eunoe.worker.lanes import LaneService, group_of
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
    service: LaneService = field(init=False)
    keyring: Keyring = field(init=False)

    def __post_init__(self) -> None:
        base = self.foundation
        self.keyring = base.keyring()
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
        await together(
            self._decider(partition, ledger).run(),
            Sweeper(ledger, base.clock, self.publish).run(),
        )

    def _decider(self, partition: Partition, ledger: Ledger) -> PartitionDecider:
        base, log_id = self.foundation, self.foundation.installation.log_id
        events = base.installation.topic(Topic.EVENTS)
        group = group_of(base.settings, NAME)
        accepted = self.accepted.get(partition, ())
        return PartitionDecider(
            partition=partition,
            installation=base.installation,
            acquisition=Acquisition(
                bootstrap=base.settings.kafka,
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
        )
