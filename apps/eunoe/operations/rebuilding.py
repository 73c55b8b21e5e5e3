"""`eunoe rebuild`: a new generation of a read model, proved, put in place, taken back, removed.

What is put together here has a consumer, a Redis and the keys: no producer of events or commands, no model and no
policy. The one thing it writes to Kafka is the record on ``memory-control`` that says who changed what serves.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.switching import SwitchRefused, may_operate
from eunoe.crypto.signatures import Ed25519Signer
from eunoe.operations.rebuild_report import BUILT, GenerationRow, RebuildReport
from eunoe.readmodels.rebuild.content import content_of
from eunoe.readmodels.rebuild.errors import NoSuchGeneration, NotInTime, NotTheSame
from eunoe.readmodels.rebuild.lease import leased
from eunoe.readmodels.rebuild.pacing import Throttle
from eunoe.readmodels.rebuild.places import Places
from eunoe.readmodels.rebuild.proving import Check, Proof
from eunoe.readmodels.rebuild.rebuilding import Progress, Rebuild, Switched, side_by_side
from eunoe.readmodels.recall.fold import RecallModel
from eunoe.readmodels.recall.verifying import QUERIES, RecallCheck
from eunoe.runtime.brokers import connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.control import ControlFollower, following_control, publish_control
from eunoe.runtime.errors import CallerFault
from eunoe.runtime.principals import control_signer
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.control import GENERATION_PREFIX, GenerationChange, PartitionGeneration
from eunoe.schemas.ids import Millis, Offset, Partition, PrincipalName
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation, open_foundation
from eunoe.worker.project import ProjectedModel, read_models

_FOR_EVER: Final = 1 << 62
_LEAST_QUERIES: Final = 20
"""Records of each partition that are looked for, however many partitions share the `QUERIES`."""
Telling = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """``rate``: records a second at most. ``latency``: seconds a PING may take before filling rests. ``until``: log
    time in ms, or an offset in every partition. ``accept``: switch though the two differ, or cannot be compared."""

    rate: float | None = None
    latency: float | None = 0.02
    until: Millis | None = None
    until_offset: Offset | None = None
    accept: bool = False
    switch: bool = True
    patience: float = 30.0

    @property
    def as_of_then(self) -> bool:
        return self.until is not None or self.until_offset is not None


@dataclass(eq=False)
class RebuildRefused(CallerFault):
    """The principal may not change what serves. ``reason`` is a code."""

    model: str
    principal: PrincipalName
    reason: str

    def __str__(self) -> str:
        return f"{self.principal} may not change what readers of {self.model} are answered from: {self.reason}"


@dataclass(frozen=True, slots=True)
class _Signing:
    signer: Ed25519Signer
    principal: PrincipalName


@dataclass(slots=True, kw_only=True)
class Rebuilding:
    """For one model; made by `rebuilding`."""

    settings: Settings
    foundation: Foundation
    projected: ProjectedModel
    telling: Telling

    @property
    def places(self) -> Places:
        base = self.foundation
        return Places(redis=base.redis, installation=base.installation, model=self.projected.model.name)

    async def rebuild(self, wishes: Wishes) -> RebuildReport:
        """Fill, prove, switch. Raises what is in `eunoe.readmodels.rebuild.errors`, and then nothing was switched."""
        if wishes.switch and not wishes.as_of_then:
            await self._check_right()
        async with leased(self.foundation.redis, self.places.prefix(0)):
            rebuild = await self._made(wishes)
            until = rebuild.until or {}
            prefixes = await self.places.begin({each: f"until {offset}" for each, offset in until.items()})
            await rebuild.fill(prefixes)
            if wishes.as_of_then:
                await rebuild.freeze(prefixes)
                return RebuildReport(model=self.places.model, frozen=tuple(prefixes))
            rebuild.report("proving")
            found = await side_by_side(prefixes, lambda each: self._proved(rebuild, each, wishes))
            proofs = [each for each in found if each is not None]
            switched: Sequence[Switched] = ()
            if wishes.switch:
                rebuild.report("switching")
                await rebuild.join(prefixes)
                await self._record(await self._changes(prefixes, proofs))
                switched = [await rebuild.switch(each, behind=wishes.accept) for each in prefixes]
            return RebuildReport(model=self.places.model, proofs=tuple(proofs), switched=tuple(switched))

    async def roll_back(self) -> RebuildReport:
        """Readers are answered from the generation before the last switch again; the other one is kept instead."""
        await self._check_right()
        async with leased(self.foundation.redis, self.places.prefix(0)):
            kept = await self.places.kept()
            if not kept:
                raise NoSuchGeneration(self.places.model, "no generation from before the last switch is kept")
            await self._record(await self._changes([prefix for prefix, _ in kept], ()))
            rebuild = await self._made(Wishes())
            switched = [await rebuild.switch(prefix) for prefix, _ in kept]
        return RebuildReport(model=self.places.model, switched=tuple(switched))

    async def remove(self, role: str) -> RebuildReport:
        """Retire the generation of ``role`` (``kept`` or ``building``), unlink its keys, and what earlier calls left.

        The way back is not for everybody to take away: it needs the right to operate, as the switch did.
        """
        await self._check_right()
        async with leased(self.foundation.redis, self.places.prefix(0)):
            found = (await self.places.generations()).items()
            prefixes = [prefix.of(number) for prefix, each in found if (number := getattr(each, role)) is not None]
            prefixes += await self.places.left()
            if not prefixes:
                raise NoSuchGeneration(self.places.model, f"there is no generation that is {BUILT[role]}")
            return await self._removed(prefixes)

    async def remove_frozen(self, number: int) -> RebuildReport:
        """Retire a generation as of then."""
        async with leased(self.foundation.redis, self.places.prefix(0)):
            found = await self.places.generations()
            prefixes = [prefix.of(number) for prefix, each in found.items() if number in each.frozen]
            if not prefixes:
                raise NoSuchGeneration(self.places.model, f"generation {number} is none as of then")
            return await self._removed(prefixes)

    @asynccontextmanager
    async def aside(self, partition: Partition) -> AsyncIterator[int]:
        """The number of a generation of one partition that is filled from the log to its end, for the block alone.

        It can be read by its number, and is never switched to. Raises `AlreadyRebuilding` beside a rebuild.
        """
        places = self.places
        async with leased(self.foundation.redis, places.prefix(0)):
            rebuild = await self._made(Wishes(until_offset=Offset(_FOR_EVER)))
            await places.remove(await places.left())
            least = 1 + max(each.last for each in (await places.generations()).values())
            built = await places.begun(places.prefix(partition), f"until {_FOR_EVER}", least)
            try:
                await rebuild.fill([built])
                await rebuild.freeze([built])
                yield built.generation
            finally:
                await places.remove([built])

    async def status(self) -> Sequence[GenerationRow]:
        """Every generation in every partition."""
        rows = []
        for prefix, generations in (await self.places.generations()).items():
            for number in generations.all:
                content = await content_of(self.foundation.redis, prefix.of(number))
                rows.append(GenerationRow.of(prefix.of(number), generations, content))
        return rows

    async def _removed(self, prefixes: Sequence[Prefix]) -> RebuildReport:
        gone = await self.places.remove(prefixes)
        return RebuildReport(model=self.places.model, removed=tuple(prefixes), keys=gone)

    async def _made(self, wishes: Wishes) -> Rebuild:
        base, model = self.foundation, self.projected.model
        checks: Sequence[Check] = ()
        if isinstance(model, RecallModel):
            check = RecallCheck(
                redis=base.redis,
                keyring=model.keyring,
                analyser=model.analyser,
                clock=base.clock.now,
                queries=max(_LEAST_QUERIES, QUERIES // base.installation.partitions),
            )
            checks = (check,)
        return Rebuild(
            model=model,
            redis=base.redis,
            installation=base.installation,
            bootstrap=self.settings.brokers,
            throttle=Throttle(redis=base.redis, rate=wishes.rate, latency=wishes.latency),
            progress=self.telling,
            tended=self.projected.tended,
            checks=checks,
            patience=wishes.patience,
            until=await self._until(wishes) if wishes.as_of_then else None,
        )

    async def _proved(self, rebuild: Rebuild, prefix: Prefix, wishes: Wishes) -> Proof | None:
        try:
            return await rebuild.proving.prove(prefix)
        except (NotTheSame, NotInTime):
            if not wishes.accept:
                raise
            await rebuild.proving.look_for_records(prefix)
            return None

    async def _until(self, wishes: Wishes) -> Mapping[Partition, Offset]:
        base = self.foundation
        partitions = [Partition(each) for each in range(base.installation.partitions)]
        if self.projected.model.source is not Topic.LIFECYCLE:
            raise NoSuchGeneration(self.places.model, "keys are as they are now: there is no generation as of then")
        if wishes.until_offset is not None:
            return dict.fromkeys(partitions, wishes.until_offset)
        topic = base.installation.topic(Topic.LIFECYCLE)
        wanted = {TopicPartition(topic, each): int(wishes.until or 0) for each in partitions}
        consumer = AIOKafkaConsumer(**connecting(self.settings.brokers), enable_auto_commit=False)
        try:
            await consumer.start()
            found = await consumer.offsets_for_times(wanted)
            ends = await consumer.end_offsets(list(wanted))
        finally:
            await close_in_time(consumer.stop())
        return {
            Partition(place.partition): Offset(ends[place] if at is None else at.offset) for place, at in found.items()
        }

    async def _changes(self, prefixes: Sequence[Prefix], proofs: Sequence[Proof]) -> Sequence[PartitionGeneration]:
        """What is recorded: the proved content, and where nothing was proved what there is at this moment."""
        proved = {each.partition: each.content for each in proofs}
        found = []
        for prefix in prefixes:
            content = proved.get(prefix.partition) or await content_of(self.foundation.redis, prefix)
            was = (await self.places.store.of(prefix)).serving
            found.append(
                PartitionGeneration(
                    partition=prefix.partition,
                    generation=prefix.generation,
                    was=was,
                    position=Offset(content.position),
                    digest=content.digest,
                    items=content.items,
                )
            )
        return found

    async def _check_right(self) -> None:
        """Before anything is filled for hours: whoever cannot record the switch cannot switch."""
        signing = self._signing()
        async with following_control(
            self.settings.brokers, self.foundation.installation, self.settings.control_signers
        ) as follower:
            self._may(follower, signing.principal)

    def _may(self, follower: ControlFollower, principal: PrincipalName) -> None:
        try:
            may_operate(follower, self.settings, principal)
        except SwitchRefused as refused:
            raise RebuildRefused(self.places.model, principal, refused.reason) from None

    def _signing(self) -> "_Signing":
        if self.settings.control_key is None:
            problem = "must name the key that signs control records: a change of generation is one"
            raise SettingsError((SettingProblem("EUNOE_CONTROL_KEY", problem),))
        if self.settings.principal is None:
            raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who calls (--as NAME)"),))
        return _Signing(control_signer(self.settings.control_key), self.settings.principal)

    async def _record(self, changes: Sequence[PartitionGeneration]) -> None:
        settings, base, signing = self.settings, self.foundation, self._signing()
        async with following_control(settings.brokers, base.installation, settings.control_signers) as follower:
            self._may(follower, signing.principal)
            await publish_control(
                settings.brokers,
                follower,
                base.installation,
                signer=signing.signer,
                clock=base.clock,
                name=f"{GENERATION_PREFIX}{self.places.model}",
                body=msgspec.json.encode(GenerationChange(partitions=tuple(changes), by=signing.principal)),
                reason=None,
            )


@asynccontextmanager
async def rebuilding(
    settings: Settings, model: str, telling: Telling, name: str = "rebuild"
) -> AsyncIterator[Rebuilding]:
    """For the model of this name; ``name``: what this process is listed as.

    Raises `NoSuchGeneration` for an unknown one, and as `open_foundation`.
    """
    async with open_foundation(settings, name) as foundation:
        found = {each.model.name: each for each in read_models(foundation)}
        if model not in found:
            raise NoSuchGeneration(model, f"there is no such read model; there are {', '.join(sorted(found))}")
        yield Rebuilding(settings=settings, foundation=foundation, projected=found[model], telling=telling)
