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
from eunoe.processors.attesting.stage_checks import PERSON, TENANT, compacted_checks, scan_checks
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.clock import Clock
from eunoe.runtime.installation import Installation
from eunoe.runtime.lane import heed_cancellation
from eunoe.runtime.metrics import RECEIPTS, SILENT, Meter
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.control import KekRotation, RotationStage
from eunoe.schemas.ids import KeyId, Millis, Offset, Partition
from eunoe.schemas.receipts import BY_ITSELF, FORMAT, NOT_COVERED, WORDING, Stage
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

_BACKUPS_AGAIN_S: Final = 30.0

KEYS: Final = "keys"
"""The read model of wrapped keys."""
_FACTS: Final = ("request", "tenant", "generation", "incarnation", "closed_at_offset", "closed_at_log_time_ms")
"""What names the erasure in each of its receipts: a generation of a person, or an incarnation of a whole tenant."""


@dataclass(slots=True)
class _Proof:
    """What is remembered of one erasure between looks. None of it is needed to go on after a crash.

    ``needles``: wrapped keys that were seen before they were gone; ``seen_on_disk``: how many of its keys the segment
    scan found then. ``closed_everywhere``: when all read models were first seen past the closing event.
    """

    needles: Mapping[KeyId, bytes] = field(default_factory=dict)
    seen_on_disk: int | None = None
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
        for each in erasures:
            if not self.chain.has(each.offset, Stage.LOGICAL):
                await self._logical(each, self._proofs.setdefault(each.offset, _Proof()))
        await self._destroyed([each for each in erasures if self.chain.has(each.offset, Stage.LOGICAL)])
        for each in erasures:
            if self.chain.has(each.offset, Stage.SCANNED):
                await proved(self.redis, prefix, each)
                self._proofs.pop(each.offset, None)
                self._keys.pop(each.offset, None)
            heed_cancellation()

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
        for offset in found:
            own = own_check(self.chain, offset, rotation, self.partition)
            _, facts = self.chain.compacted[offset]
            await self._state(facts, Stage.BACKUPS_UNREADABLE, [own, *checks], not_covered())

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
        gone = [each for each in erasures if not keys.of(self._keys[each.offset]).values]
        for each in gone:
            if not self.chain.has(each.offset, Stage.COMPACTED):
                own = self._keys[each.offset]
                await self._write(each, Stage.COMPACTED, compacted_checks(own, keys.of(own), _whose(each)))
        if not gone or not await self._let_go_in_redis(keys.last_tombstone):
            return
        proofs = {each.offset: self._proofs.setdefault(each.offset, _Proof()) for each in gone}
        needles = [needle for each in proofs.values() for needle in each.needles.values()]
        control = keys.control
        found = await self._scan(asked | ({control} if control else set()), needles)
        still = [needles[at] for at in found.needles] if found else []
        for each in gone:
            await self._scanned(each, proofs[each.offset], found, control, still)

    async def _logical(self, erasure: Erasure, proof: _Proof) -> None:
        closing = Closing(
            partition=self.partition,
            offset=erasure.offset,
            event_id=erasure.event_id,
            tenant=erasure.tenant,
            subject=erasure.subject,
            generation=erasure.generation,
        )
        entry = await asyncio.to_thread(self.ledger.append, self.installation.log_id, closing)
        positions = {each: await self._position(each) for each in self.models}
        if min(positions.values(), default=0) <= erasure.offset:
            proof.closed_everywhere = None
            return
        now = self.clock.now()
        proof.closed_everywhere = proof.closed_everywhere or now
        if now - proof.closed_everywhere < self.cache_age:
            return
        checks = [
            {"check": "entered in the erasure ledger outside the cluster", "passed": True, "entry": entry.number},
            *(
                {"check": f"read model {name} has folded the closing event", "passed": True, "position": position}
                for name, position in sorted(positions.items())
            ),
            {
                "check": "opened keys in readers' memory have run out; workers drop theirs as they fold",
                "passed": True,
                "waited_ms": now - proof.closed_everywhere,
            },
        ]
        await self._write(erasure, Stage.LOGICAL, checks)

    async def _scanned(
        self,
        erasure: Erasure,
        proof: _Proof,
        found: SegmentScan | None,
        control: KeyId | None,
        still: Sequence[bytes],
    ) -> None:
        asked = self._keys[erasure.offset]
        if found is None:
            check = "segment files of the brokers were not scanned: no log directory is reachable from here"
            await self._write(erasure, Stage.SCANNED, [{"check": check, "passed": False}, *self._redis_checks])
            return
        if found.values & {key.encode() for key in asked} or not set(still).isdisjoint(proof.needles.values()):
            return  # renamed files wait for their deletion; looked at again
        seen = control is not None and control.encode() in found.values
        whose = _whose(erasure)
        checks = scan_checks(asked, len(proof.needles), proof.seen_on_disk, found, control=seen, whose=whose)
        await self._write(erasure, Stage.SCANNED, [*checks, *self._redis_checks])

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

    async def _write(self, erasure: Erasure, stage: Stage, checks: Sequence[Mapping[str, Any]]) -> None:
        facts = {
            "request": erasure.request,
            "tenant": erasure.tenant,
            "incarnation" if erasure.subject is None else "generation": erasure.generation,
            "closed_at_offset": erasure.offset,
            "closed_at_log_time_ms": erasure.closed_at,
        }
        await self._state(facts, stage, checks, NOT_COVERED)

    async def _state(
        self,
        facts: Mapping[str, Any],
        stage: Stage,
        checks: Sequence[Mapping[str, Any]],
        limits: Sequence[str],
    ) -> None:
        statement = {
            "receipt": "eunoe erasure receipt",
            "format": FORMAT,
            "stage": stage.value,
            "claim": WORDING if all(each["passed"] for each in checks) else "not proved at this stage",
            **{name: facts[name] for name in _FACTS if name in facts},
            "installation": self.installation.log_id,
            "topics": {each.value: self.installation.topic(each) for each in (Topic.LIFECYCLE, Topic.KEYS)},
            "partition": self.partition,
            "checked_at_machine_time_ms": self.clock.now(),
            "checks": list(checks),
            "not_covered": list(limits),
        }
        record = await self.chain.write(facts["tenant"], statement)
        self.meter.add(RECEIPTS, stage.value)
        log.info("partition %d: receipt %d, stage %s", self.partition, record.sequence, stage)


def _whose(erasure: Erasure) -> str:
    return TENANT if erasure.subject is None else PERSON
