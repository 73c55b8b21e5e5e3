"""The role `attest`: on each partition, proves erasures and writes their receipts. It destroys nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.processors.attesting.attester import Attester
from eunoe.processors.attesting.chain import holding_chain
from eunoe.processors.attesting.erasure_ledger import ErasureLedger
from eunoe.processors.attesting.pending import PendingModel
from eunoe.readmodels.projector import Pace, ProjectorLane
from eunoe.runtime.metrics import ATTEST_PENDING, ERASURE_STAGE_SECONDS, Meter
from eunoe.runtime.principals import control_signer
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.ids import Partition
from eunoe.schemas.receipts import BY_ITSELF
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation
from eunoe.worker.lanes import LaneService, Place, group_of, lane_places
from eunoe.worker.prometheus import Reading
from eunoe.worker.together import together

NAME: Final = "attest"


def check_attest_settings(settings: Settings) -> tuple[Ed25519Signer, ErasureLedger]:
    """What the role needs. Raises `SettingsError` naming what is missing, ``SecretUnusable`` for a bad key file."""
    without = "; a worker without it is started with --roles decide,project,shred"
    missing = [
        SettingProblem(f"EUNOE_{name.upper()}", f"{what}, for the role {NAME}{without}")
        for name, what in (
            ("attest_key", "must name the file of the Ed25519 key that signs receipts"),
            ("erasure_ledger", "must name a file outside the cluster that lists closed generations"),
        )
        if getattr(settings, name) is None
    ]
    if settings.attest_key is None or settings.erasure_ledger is None:
        raise SettingsError(tuple(missing))
    return control_signer(settings.attest_key), ErasureLedger(settings.erasure_ledger)


@dataclass(slots=True, kw_only=True)
class Attesting:
    """Makes the lanes. ``models``: the read models whose serving generations must have passed a closing event."""

    foundation: Foundation
    meter: Meter
    signer: Ed25519Signer
    ledger: ErasureLedger
    models: Sequence[str]
    service: LaneService = field(init=False)
    running: dict[Partition, Attester] = field(default_factory=dict)
    lanes: dict[Partition, ProjectorLane[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        base = self.foundation
        self.service = LaneService(
            NAME,
            Topic.LIFECYCLE,
            self._work,
            settings=base.settings,
            installation=base.installation,
            meter=self.meter,
        )

    async def _work(self, partition: Partition) -> None:
        base = self.foundation
        settings, installation = base.settings, base.installation
        group = group_of(settings, NAME)
        async with holding_chain(settings.brokers, installation, partition, self.signer, group) as chain:
            lane = ProjectorLane(
                PendingModel(),
                partition,
                installation=installation,
                bootstrap=settings.brokers,
                redis=base.redis,
                pace=Pace(batch=settings.project_batch),
            )
            attester = Attester(
                bootstrap=settings.brokers,
                installation=installation,
                partition=partition,
                redis=base.redis,
                chain=chain,
                ledger=self.ledger,
                models=self.models,
                cache_age=settings.key_cache_age,
                log_directories=[Path(each) for each in settings.kafka_log_dirs],
                clock=base.clock,
                meter=self.meter,
                rotation=lambda: base.control.state.rotation,
            )
            self.running[partition], self.lanes[partition] = attester, lane
            try:
                await together(lane.run(), attester.run())
            finally:
                if self.running.get(partition) is attester:
                    del self.running[partition], self.lanes[partition]

    def places(self) -> Mapping[Partition, Place]:
        """Where the lanes are (`eunoe.worker.watching.Stage`)."""
        return lane_places(self.lanes)

    def readings(self) -> Iterable[Reading]:
        for partition, attester in sorted(self.running.items()):
            yield ATTEST_PENDING, (str(partition),), attester.waiting
            for stage in BY_ITSELF:
                since = attester.oldest.get(stage)
                age = 0.0 if since is None else max(0, self.foundation.clock.now() - since) / 1_000
                yield ERASURE_STAGE_SECONDS, (str(partition), stage.value), age
