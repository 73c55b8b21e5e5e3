"""Proving erasures, stage by stage: each check is made anew for its receipt, and only what was checked is stated.

The attester destroys nothing and trusts nobody who does. What it cannot see it says it did not see.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.processors.attesting.backups import backup_checks, covered, not_covered, own_check
from eunoe.processors.attesting.chain import ReceiptChain
from eunoe.processors.attesting.erasure_ledger import Closing, ErasureLedger
from eunoe.processors.attesting.key_log import keys_of, read_keys
from eunoe.processors.attesting.pending import Erasure, attest_prefix, pending, proved
from eunoe.processors.attesting.redis_files import rewritten
from eunoe.processors.attesting.segments import SegmentScan, folders_of, scan
from eunoe.processors.attesting.stage_checks import compacted_checks, logical_checks, scan_checks
from eunoe.processors.attesting.statement import Made, facts_of, whose_of
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.clock import Clock
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.metrics import RECEIPTS, SILENT, Meter
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.control import KekRotation, RotationStage
from eunoe.schemas.ids import KeyId, Millis, Offset, Partition
from eunoe.schemas.receipts import BY_ITSELF, NOT_COVERED, Stage
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

_BACKUPS_AGAIN_S: Final = 30.0
AT_ONCE: Final = 200
"""Receipts in one transaction: about 3 kB each, so well below what a producer sends in one request."""

KEYS: Final = "keys"
"""The read model of wrapped keys."""


@dataclass(slots=True)
class _Proof:
    """What is remembered of one erasure between looks. None of it is needed to go on after a crash.

    ``needles``: wrapped keys that were seen before they were gone; ``seen_on_disk``: how many of its keys the segment
    scan found then. ``entry``: its number in the erasure ledger. ``closed_everywhere``: when all read models were first
    seen past the closing event.
    """

    needles: Mapping[KeyId, bytes] = field(default_factory=dict)
    seen_on_disk: int | None = None
    entry: int | None = None
    closed_everywhere: Millis | None = None


@dataclass(slots=True, kw_only=True)
class Attester:
    """One partition's. ``models``: every read model that serves. ``cache_age`` (ms): how long a reader may hold an
    opened key; ``log_directories``: of the brokers, as far as this machine can see them; ``every``: seconds."""

    bootstrap: Bootstrap
    installation: Installation
    partition: Partition
    redis: "Redis"
    chain: ReceiptChain
    ledger: ErasureLedger
    models: Sequence[str]
    cache_age: int
    log_directories: Sequence[Path]
    clock: Clock
    every: float = 0.5
    meter: Meter = SILENT
    rotation: Callable[[], KekRotation | None] = lambda: None
    """The last step of the last rotation of the key-encryption key."""
    waiting: int = 0
    oldest: Mapping[Stage, Millis] = field(default_factory=dict)
    """By the stage that is proved next: when the longest waiting erasure was decided, as of the last look."""
    _redis_checks: list[Mapping[str, Any]] = field(default_factory=list)
    _rewritten: int | None = None
    _proofs: dict[Offset, _Proof] = field(default_factory=dict)
    _keys: dict[Offset, frozenset[KeyId]] = field(default_factory=dict)
    _backed_up: str | None = None
    _backups_at: float = 0.0

    async def run(self) -> None:
        """Prove what is pending until cancelled. Raises what Kafka, Redis and the disk do: the lane starts again."""
        while True:
            heed_cancellation()
            await self.step()
            await asyncio.sleep(self.every)

    async def step(self) -> None:
        """One look at everything that is pending."""
        prefix = attest_prefix(self.installation.log_id, self.partition)
        erasures = await pending(self.redis, prefix)
        self.waiting, self.oldest = len(erasures), self._oldest(erasures)
        await self._backups(self.rotation())
        fresh = [each for each in erasures if each.offset not in self._keys]
        if fresh:
            self._keys |= await keys_of(self.bootstrap, self.installation, self.partition, fresh)
            await self._look_before(fresh)
        await self._logical([each for each in erasures if not self.chain.has(each.offset, Stage.LOGICAL)])
        await self._destroyed([each for each in erasures if self.chain.has(each.offset, Stage.LOGICAL)])
        done = [each for each in erasures if self.chain.has(each.offset, Stage.SCANNED)]
        await proved(self.redis, prefix, done)
        for each in done:
            self._proofs.pop(each.offset, None)
            self._keys.pop(each.offset, None)

    async def _backups(self, rotation: KekRotation | None) -> None:
        now = asyncio.get_running_loop().time()
        if rotation is None or rotation.rotation == self._backed_up or now < self._backups_at:
            return
        found = covered(self.chain, self.partition, rotation)
        if not found:
            self._backed_up = rotation.rotation if rotation.stage is RotationStage.DESTROYED else None
            return
        checks = await backup_checks(self.bootstrap, self.installation, self.partition, rotation)
        if not all(each["passed"] for each in checks):
            # A receipt is for ever, and this may pass: a stray key is wrapped anew or destroyed.
            log.warning("partition %d: keys are still under a retired KEK; no receipt of it yet", self.partition)
            self._backups_at = now + _BACKUPS_AGAIN_S
            return
        said = [
            (self.chain.compacted[each][1], [own_check(self.chain, each, rotation, self.partition), *checks])
            for each in found
        ]
        await self._state(Stage.BACKUPS_UNREADABLE, said, not_covered())

    def _oldest(self, erasures: Sequence[Erasure]) -> Mapping[Stage, Millis]:
        found: dict[Stage, Millis] = {}
        for each in erasures:
            following = next((stage for stage in BY_ITSELF if not self.chain.has(each.offset, stage)), None)
            if following is not None:
                found[following] = min(each.closed_at, found.get(following, each.closed_at))
        return found

    async def _look_before(self, erasures: Sequence[Erasure]) -> None:
        """What a later scan must no longer find is found once: else its silence would prove nothing."""
        asked = frozenset(key for each in erasures for key in self._keys[each.offset])
        found = await read_keys(self.bootstrap, self.installation, self.partition, asked)
        on_disk = await self._scan(asked, ())
        for each in erasures:
            own = self._keys[each.offset]
            self._proofs[each.offset] = _Proof(
                needles={key: wrapped for key, wrapped in found.values.items() if key in own},
                seen_on_disk=None if on_disk is None else len(on_disk.values & {key.encode() for key in own}),
            )

    async def _destroyed(self, erasures: Sequence[Erasure]) -> None:
        """Compacted and scanned, for all of them by one look at the key partition and one at the files."""
        asked = frozenset(key for each in erasures for key in self._keys[each.offset])
        if not erasures:
            return
        keys = await read_keys(self.bootstrap, self.installation, self.partition, asked)
        gone = [each for each in erasures if self._keys[each.offset].isdisjoint(keys.values)]
        compacted = [each for each in gone if not self.chain.has(each.offset, Stage.COMPACTED)]
        owned = [(each, self._keys[each.offset]) for each in compacted]
        said = [(each, compacted_checks(own, keys.of(own), whose_of(each))) for each, own in owned]
        await self._write(Stage.COMPACTED, said)
        if not gone or not await self._let_go_in_redis(keys.last_tombstone):
            return
        proofs = {each.offset: self._proofs.setdefault(each.offset, _Proof()) for each in gone}
        needles = [needle for each in proofs.values() for needle in each.needles.values()]
        control = keys.control
        found = await self._scan(asked | ({control} if control else set()), needles)
        still = frozenset(needles[at] for at in found.needles) if found else frozenset()
        scanned = [(each, self._scanned(each, proofs[each.offset], found, control, still)) for each in gone]
        await self._write(Stage.SCANNED, [(each, checks) for each, checks in scanned if checks is not None])

    async def _logical(self, erasures: Sequence[Erasure]) -> None:
        """For all of them by one flush of the erasure ledger and one look at the read models."""
        if not erasures:
            return
        await self._entered([each for each in erasures if self._proofs[each.offset].entry is None])
        positions = {each: await self._position(each) for each in self.models}
        now, lowest = self.clock.now(), min(positions.values(), default=0)
        waited: dict[Offset, int] = {}
        for each in erasures:
            proof = self._proofs[each.offset]
            proof.closed_everywhere = (proof.closed_everywhere or now) if lowest > each.offset else None
            if proof.closed_everywhere is not None and now - proof.closed_everywhere >= self.cache_age:
                waited[each.offset] = now - proof.closed_everywhere
        ready = [each for each in erasures if each.offset in waited]
        await self._entered(ready)  # looked at anew for the receipt
        numbers = [(each, self._proofs[each.offset].entry or 0) for each in ready]
        said = [(each, logical_checks(number, positions, waited[each.offset])) for each, number in numbers]
        await self._write(Stage.LOGICAL, said)

    async def _entered(self, erasures: Sequence[Erasure]) -> None:
        """Every one of them stands in the erasure ledger, flushed to the disk, before anybody is told."""
        if not erasures:
            return
        closings = [
            Closing(
                partition=self.partition,
                offset=each.offset,
                event_id=each.event_id,
                tenant=each.tenant,
                subject=each.subject,
                generation=each.generation,
            )
            for each in erasures
        ]
        entries = await asyncio.to_thread(self.ledger.append_all, self.installation.log_id, closings)
        for each, entry in zip(erasures, entries, strict=True):
            self._proofs[each.offset].entry = entry.number

    def _scanned(
        self,
        erasure: Erasure,
        proof: _Proof,
        found: SegmentScan | None,
        control: KeyId | None,
        still: frozenset[bytes],
    ) -> list[Mapping[str, Any]] | None:
        """The checks of its receipt; None where renamed files wait for their deletion: looked at again."""
        asked = self._keys[erasure.offset]
        if found is None:
            check = "segment files of the brokers were not scanned: no log directory is reachable from here"
            return [{"check": check, "passed": False}, *self._redis_checks]
        if found.values & {key.encode() for key in asked} or not still.isdisjoint(proof.needles.values()):
            return None
        seen = control is not None and control.encode() in found.values
        whose = whose_of(erasure)
        checks = scan_checks(asked, len(proof.needles), proof.seen_on_disk, found, control=seen, whose=whose)
        return [*checks, *self._redis_checks]

    async def _scan(self, asked: frozenset[KeyId] | set[KeyId], needles: Sequence[bytes]) -> SegmentScan | None:
        folders = folders_of(self.log_directories, self.installation.topic(Topic.KEYS), self.partition)
        if not folders:
            return None
        return await asyncio.to_thread(scan, folders, frozenset(key.encode() for key in asked), needles)

    async def _let_go_in_redis(self, last_tombstone: Offset) -> bool:
        """Whether Redis has let go of the keys, in its own files too: rewritten once the tombstones are folded.

        What may not be asked of this Redis is said in the receipt, and holds up nothing.
        """
        if await self._position(KEYS) <= last_tombstone:
            return False
        if self._rewritten is None or self._rewritten < last_tombstone:
            self._redis_checks = [await rewritten(self.redis)]
            self._rewritten = last_tombstone
        return True

    async def _position(self, model: str) -> int:
        """How far the model is: each of its generations, also one kept for a way back or being built."""
        prefix = Prefix(self.installation.log_id, self.partition, model)
        return min((await GenerationStore(self.redis).filled(prefix)).values())

    async def _write(self, stage: Stage, said: Sequence[tuple[Erasure, Sequence[Mapping[str, Any]]]]) -> None:
        await self._state(stage, [(facts_of(erasure), checks) for erasure, checks in said], NOT_COVERED)

    async def _state(
        self,
        stage: Stage,
        said: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]],
        limits: Sequence[str],
    ) -> None:
        """A receipt of ``stage`` for each: what names the erasure, and its checks."""
        for start in range(0, len(said), AT_ONCE):
            some = said[start : start + AT_ONCE]
            made = Made(self.installation, self.partition, self.clock.now(), stage, limits)
            records = await self.chain.write(
                [(facts["tenant"], made.statement(facts, checks)) for facts, checks in some]
            )
            self.meter.add(RECEIPTS, stage.value, amount=len(records))
            log.info("partition %d: %d receipts, stage %s", self.partition, len(records), stage)
            heed_cancellation()
