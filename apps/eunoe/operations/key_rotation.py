"""`eunoe keys rotate`: another key-encryption key, step by step; each step is a record on ``memory-control``.

Nothing is remembered here: where it stands is on ``memory-control``, and whether a step's work is done is looked up
anew in the log, in Redis and with the holders. So it can be killed anywhere and called again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from aiokafka import TopicPartition
from msgspec.structs import replace

from eunoe.client.switching import SwitchRefused, may_operate
from eunoe.crypto.kek import KeyEncryptionKey
from eunoe.operations.backup_trial import BackupTrial
from eunoe.operations.kek_provider import Destroyed, destroy_kek
from eunoe.operations.keys_in_use import index_keys, keys_in_use
from eunoe.operations.rotation_errors import RotationRefused
from eunoe.operations.rotation_holders import CALL, HoldersWait, Telling, lacks, starts_with_another, still_holds
from eunoe.operations.rotation_work import RotationWork
from eunoe.processors.attesting.chain import receipts
from eunoe.readmodels.rebuild.errors import AlreadyRebuilding
from eunoe.readmodels.rebuild.lease import leased
from eunoe.runtime.agreement import owner_of, owners_of
from eunoe.runtime.brokers import Bootstrap
from eunoe.runtime.control import publish_control
from eunoe.runtime.kek_rotation import approved_by, check_agreed, check_step
from eunoe.runtime.principals import approval, control_signer
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.control import KEK, Approval, KekRotation, RotationStage
from eunoe.schemas.ids import Partition, PrincipalName, new_id
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.worker.foundation import Foundation, open_foundation

_LEASE: Final = "holders"


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationWishes:
    """``until``: the last stage to reach. ``gone``: holders that are dead for good. ``attested``: what the operator
    says of the destroyed key. ``settle`` and ``patience``: seconds, from the fence to the destruction at least, and for
    each thing that is waited for."""

    until: RotationStage = RotationStage.DESTROYED
    gone: tuple[str, ...] = ()
    attested: str | None = None
    settle: float = 60.0
    patience: float = 300.0


@dataclass(slots=True, kw_only=True)
class KeyRotation:
    """Made by `rotating`."""

    settings: Settings
    foundation: Foundation
    wishes: RotationWishes
    telling: Telling
    waiting: HoldersWait
    work: RotationWork

    async def rotate(self) -> KekRotation:
        """As far as the wishes say, or until it needs somebody. Raises what is in `rotation_errors`."""
        self._check_right()
        async with self._alone():
            await self.waiting.strike_off(self.wishes.gone)
            return await self._on()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        base = self.foundation
        try:
            async with leased(base.redis, Prefix(base.installation.log_id, Partition(0), _LEASE)):
                yield
        except AlreadyRebuilding:
            raise RotationRefused("another call of `eunoe keys` is at work on the rotation; wait for it") from None

    async def _on(self) -> KekRotation:
        step = self._step
        if step is None or step.stage is RotationStage.DESTROYED:
            step = await self._begin(step)
        works = {
            RotationStage.WRAPPING: self._fence,
            RotationStage.FENCED: self._agree,
            RotationStage.DESTROYING: self._destroy,
        }
        order = tuple(RotationStage)
        while order.index(step.stage) < order.index(self.wishes.until) and step.stage in works:
            after = await works[step.stage](step)
            if after.stage is step.stage:
                return after  # somebody else has to say something first
            step = after
        return step

    @property
    def _step(self) -> KekRotation | None:
        return self.foundation.control.state.rotation

    async def _begin(self, last: KekRotation | None) -> KekRotation:
        ring = self.foundation.kek
        if len(ring.held) != 2:
            problem = "the settings must name two keys: kek_file, the one in use, and kek_other_file, the new one"
            raise RotationRefused(f"{problem} (`eunoe keys new FILE` makes one)")
        (wraps,) = ring.others
        found = await keys_in_use(self.foundation)
        if last is None and found.by_kek.get(wraps):
            raise RotationRefused(f"{wraps} is in use already: kek_file must name the old key until this is done")
        await self.waiting.acknowledged(lambda each: lacks(each, (ring.kek_id, wraps)))
        step = KekRotation(
            rotation=new_id(),
            stage=RotationStage.WRAPPING,
            retires=ring.kek_id,
            wraps=wraps,
            receipts=await self._receipts(),
        )
        return await self._publish(step)

    async def _receipts(self) -> tuple[int, ...]:
        base = self.foundation
        found = []
        for number in range(base.installation.partitions):
            last = 0
            async for record in receipts(self.settings.brokers, base.installation, Partition(number)):
                last = record.sequence
            found.append(last)
        return tuple(found)

    async def _fence(self, step: KekRotation) -> KekRotation:
        await self.waiting.obeyed(step.wraps)
        found = await self.work.nothing_behind(step.wraps)
        await self.work.renew_indexes(step.wraps)
        return await self._publish(
            replace(
                step,
                stage=RotationStage.FENCED,
                fence=tuple(each.end for each in found.partitions),
                log_fence=await self._log_ends(),
                fenced_at=self.foundation.clock.now(),
                without=self.wishes.gone,
            )
        )

    async def _log_ends(self) -> tuple[int, ...]:
        topic, count = self.foundation.installation.topic(Topic.LIFECYCLE), self.foundation.installation.partitions
        places = [TopicPartition(topic, number) for number in range(count)]
        ends = await self.foundation.ends.end_offsets(places)
        return tuple(ends[each] for each in places)

    async def try_backup(self, restored: Bootstrap, names: TopicNames, kek: KeyEncryptionKey) -> KekRotation:
        """What was restored there, as `BackupTrial`; that it was tried is recorded. Raises as it, and as `rotate`."""
        base = self.foundation
        self._check_right()
        async with self._alone():
            step = self._step
            if step is None or step.stage is not RotationStage.FENCED:
                at = "there is none" if step is None else f"it is {step.stage}"
                raise RotationRefused(f"a backup is tried while a rotation is fenced, and {at}")
            trial = BackupTrial(
                brokers=self.settings.brokers,
                live=base.installation,
                restored=restored,
                names=names,
                kek=kek,
                rotation=step,
            )
            return await self._publish(replace(step, backup=await trial.run(base.clock.now()), approvals=()))

    async def _agree(self, step: KekRotation) -> KekRotation:
        if step.backup is None:
            why = "the old key is destroyed only after a backup from after the fence was restored elsewhere and tried"
            raise RotationRefused(f"{why}: see `eunoe keys try-backup`; this rotation stays fenced until then")
        holding = await self.waiting.obeyed(step.wraps)
        rest = step.fenced_at / 1_000 + self.wishes.settle - self.foundation.clock.now() / 1_000
        if rest > 0:
            self.telling(f"waiting {rest:.0f} s for what was begun before the fence")
            await asyncio.sleep(rest)
        await self.work.nothing_behind(step.wraps)
        await self.work.renew_indexes(step.wraps)
        renewed = sum((await index_keys(self.foundation.redis, self.foundation.installation)).values())
        await self.waiting.acknowledged(lambda each: starts_with_another(each, step.wraps))
        step = replace(
            step,
            approvals=self._with_mine(step),
            holders=len(holding),
            without=tuple(sorted({*step.without, *self.wishes.gone})),
            index_keys=renewed,
        )
        try:
            check_agreed(step, self.foundation.control.state.policy, self.foundation.installation.log_id)
        except ValueError as missing:
            self.telling(f"{missing}; somebody of another owner calls this too")
            return await self._publish(step)
        return await self._publish(replace(step, stage=RotationStage.DESTROYING))

    async def _destroy(self, step: KekRotation) -> KekRotation:
        await self.waiting.acknowledged(lambda each: still_holds(each, step.retires))
        done: Destroyed = destroy_kek(self.settings, step.retires)
        self.telling(done.what)
        return await self._publish(
            replace(step, stage=RotationStage.DESTROYED, evidence=done.evidence, attested=done.what)
        )

    def _with_mine(self, step: KekRotation) -> tuple[Approval, ...]:
        """The approvals so far and the caller's, where one of another owner is not there yet."""
        base = self.foundation
        if self.wishes.attested is None:
            raise RotationRefused('say what becomes of every copy of the old key: --attest "…"')
        signed, policy = approved_by(step, base.installation.log_id), base.control.state.policy
        try:
            mine = approval(self.settings, self._principal, base.clock.now(), signed, self.wishes.attested)
            owner = owner_of(mine, signed, policy)
        except ValueError as refused:
            raise RotationRefused(str(refused)) from None
        holding = [each for each in step.approvals if owners_of((each,), signed, policy)]
        known = owners_of(holding, signed, policy)
        return tuple(holding) if owner in known else (*holding, mine)

    @property
    def _principal(self) -> PrincipalName:
        if self.settings.principal is None:
            raise SettingsError((SettingProblem("EUNOE_PRINCIPAL", "must say who calls (--as NAME)"),))
        return self.settings.principal

    def _check_right(self) -> None:
        if self.settings.control_key is None:
            raise SettingsError((SettingProblem("EUNOE_CONTROL_KEY", "must name the key that signs control records"),))
        try:
            may_operate(self.foundation.control, self.settings, self._principal)
        except SwitchRefused as refused:
            raise RotationRefused(f"{self._principal} may not rotate keys: {refused.reason}") from None

    async def _publish(self, step: KekRotation) -> KekRotation:
        base = self.foundation
        assert self.settings.control_key is not None
        step = replace(step, by=self._principal)
        try:
            state = base.control.state
            check_step(self._step, step, state.policy, base.installation.log_id, state.destroyed)
        except ValueError as refused:
            raise RotationRefused(str(refused)) from None
        await publish_control(
            self.settings.brokers,
            base.control,
            base.installation,
            signer=control_signer(self.settings.control_key),
            clock=base.clock,
            name=KEK,
            body=msgspec.json.encode(step),
            by=self._principal,
        )
        self.telling(f"{step.stage}: {step.retires} -> {step.wraps}")
        return step


@asynccontextmanager
async def rotating(settings: Settings, wishes: RotationWishes, telling: Telling) -> AsyncIterator[KeyRotation]:
    """Raises as `open_foundation`."""
    async with open_foundation(settings, CALL) as foundation:
        yield KeyRotation(
            settings=settings,
            foundation=foundation,
            wishes=wishes,
            telling=telling,
            waiting=HoldersWait(foundation=foundation, patience=wishes.patience, telling=telling),
            work=RotationWork(foundation=foundation, patience=wishes.patience, telling=telling),
        )
