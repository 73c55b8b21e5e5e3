"""`eunoe keys rotate`: another key-encryption key, step by step; each step is a record on ``memory-control``.

Nothing is remembered here: where it stands is on ``memory-control``, and whether a step's work is done is looked up
anew in the log, in Redis and with the holders. So it can be killed anywhere and called again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import msgspec
from msgspec.structs import replace

from eunoe.client.switching import SwitchRefused, may_operate
from eunoe.operations.kek_provider import Destroyed, destroy_kek
from eunoe.operations.keys_in_use import KeysInUse, index_keys, keys_in_use
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.operations.rotation_errors import HoldersMissing, RotationRefused, RotationWaits
from eunoe.processors.attesting.chain import receipts
from eunoe.readmodels import keys as keys_model
from eunoe.readmodels.rebuild.errors import AlreadyRebuilding
from eunoe.readmodels.rebuild.lease import leased
from eunoe.readmodels.rebuild.places import Places
from eunoe.readmodels.recall.keys import MODEL as RECALL
from eunoe.runtime.agreement import owner_of, owners_of
from eunoe.runtime.control import publish_control
from eunoe.runtime.holding import Holder, holders, strike_off
from eunoe.runtime.kek_rotation import approved_by, check_agreed, check_step
from eunoe.runtime.principals import approval, control_signer
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import SettingProblem, Settings, SettingsError
from eunoe.schemas.control import KEK, Approval, KekRotation, RotationStage
from eunoe.schemas.ids import Partition, PrincipalName, new_id
from eunoe.worker.foundation import Foundation, open_foundation

_LOOK_S: Final = 0.3
_CALL: Final = "rotate"
_LEASE: Final = "holders"
Telling = Callable[[str], None]


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

    async def rotate(self) -> KekRotation:
        """As far as the wishes say, or until it needs somebody. Raises what is in `rotation_errors`."""
        base = self.foundation
        self._check_right()
        try:
            async with leased(base.redis, Prefix(base.installation.log_id, Partition(0), _LEASE)):
                await strike_off(
                    base.redis, base.installation.log_id, (*self.wishes.gone, *await self._killed_before())
                )
                return await self._on()
        except AlreadyRebuilding:
            raise RotationRefused("another call of `eunoe keys rotate` is at work; wait for it") from None

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
        await self._acknowledged(lambda each: _lacks(each, (ring.kek_id, wraps)))
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
        await self._obeyed(step)
        found = await self._nothing_behind(step)
        await self._renew_indexes(step)
        fence = tuple(each.end for each in found.partitions)
        return await self._publish(
            replace(
                step,
                stage=RotationStage.FENCED,
                fence=fence,
                fenced_at=self.foundation.clock.now(),
                without=self.wishes.gone,
            )
        )

    async def _agree(self, step: KekRotation) -> KekRotation:
        holding = await self._obeyed(step)
        rest = step.fenced_at / 1_000 + self.wishes.settle - self.foundation.clock.now() / 1_000
        if rest > 0:
            self.telling(f"waiting {rest:.0f} s for what was begun before the fence")
            await asyncio.sleep(rest)
        await self._nothing_behind(step)
        await self._renew_indexes(step)
        renewed = sum((await index_keys(self.foundation.redis, self.foundation.installation)).values())
        await self._acknowledged(lambda each: _starts_with_another(each, step.wraps))
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
        await self._acknowledged(lambda each: _still_holds(each, step.retires))
        done: Destroyed = destroy_kek(self.settings, step.retires)
        self.telling(done.what)
        return await self._publish(
            replace(step, stage=RotationStage.DESTROYED, evidence=done.evidence, attested=done.what)
        )

    async def _nothing_behind(self, step: KekRotation) -> KeysInUse:
        """What the log holds, once nothing of it is under another KEK and every `keys` model has folded it."""
        found: list[KeysInUse] = []

        async def done() -> str | None:
            found[:] = [await keys_in_use(self.foundation)]
            left = found[0].behind(step.wraps)
            return f"{left} keys to be wrapped anew (by a worker with the role shred)" if left else None

        await self._until(done)
        ends = {each.partition: each.end for each in found[0].partitions}

        async def folded() -> str | None:
            for partition, end in ends.items():
                prefix = Prefix(self.foundation.installation.log_id, partition, keys_model.NAME)
                at = min((await GenerationStore(self.foundation.redis).filled(prefix)).values())
                if at < end:
                    return f"the read model keys is at {at} of {end} in partition {partition}"
            return None

        await self._until(folded)
        return found[0]

    async def _renew_indexes(self, step: KekRotation) -> None:
        """A generation of `recall` under fresh index keys serves, and every other one is removed."""
        base = self.foundation
        found = await index_keys(base.redis, base.installation)
        if set(found) <= {step.wraps}:
            return
        places = Places(redis=base.redis, installation=base.installation, model=RECALL)
        async with rebuilding(self.settings, RECALL, lambda each: self.telling(f"recall: {each.phase}"), _CALL) as at:
            for role in ("kept", "building"):
                if any(getattr(each, role) is not None for each in (await places.generations()).values()):
                    await at.remove(role)
            for each in {number for found_ in (await places.generations()).values() for number in found_.frozen}:
                await at.remove_frozen(each)
            await at.rebuild(Wishes())
            await at.remove("kept")
        left = await index_keys(base.redis, base.installation)
        if not set(left) <= {step.wraps}:
            raise RotationWaits(f"index keys of recall are still under {', '.join(sorted(set(left) - {step.wraps}))}")

    async def _killed_before(self) -> Sequence[str]:
        """Earlier calls that ended without a word. They are dead, or stop at once: the lease is this call's."""
        base, now = self.foundation, self.foundation.clock.now()
        found = await holders(base.redis, base.installation.log_id)
        return [each.holder for each in found if each.holder.startswith(f"{_CALL}-") and each.silent(now)]

    async def _obeyed(self, step: KekRotation) -> Sequence[Holder]:
        offset = self.foundation.control.state.in_force(KEK)
        return await self._acknowledged(
            lambda each: None if each.control >= offset and each.wraps == step.wraps else "has not read the last step"
        )

    async def _acknowledged(self, lacks: Callable[[Holder], str | None]) -> Sequence[Holder]:
        """Every holder, once none lacks anything. Tells once of each that it waits for.

        Raises `HoldersMissing` after the patience.
        """
        base, told = self.foundation, set[str]()
        deadline = asyncio.get_running_loop().time() + self.wishes.patience
        while True:
            found = await holders(base.redis, base.installation.log_id)
            now = base.clock.now()
            missing = [f"{each.holder} {_state(each, now, why)}" for each in found if (why := lacks(each))]
            missing += [f"{each.holder} is silent" for each in found if each.silent(now) and not lacks(each)]
            if not missing:
                return found
            if asyncio.get_running_loop().time() > deadline:
                raise HoldersMissing(missing)
            for each in missing:
                if (holder := each.split()[0]) not in told:
                    self.telling(f"waiting for a process: {each}")
                    told.add(holder)
            await asyncio.sleep(_LOOK_S)

    async def _until(self, look: Callable[[], Awaitable[str | None]]) -> None:
        deadline, said = asyncio.get_running_loop().time() + self.wishes.patience, ""
        while (problem := await look()) is not None:
            if asyncio.get_running_loop().time() > deadline:
                raise RotationWaits(problem)
            if problem != said:
                self.telling(problem)
                said = problem
            await asyncio.sleep(_LOOK_S)

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


def _lacks(holder: Holder, wanted: tuple[str, ...]) -> str | None:
    missing = [each for each in wanted if each not in holder.held]
    return f"does not hold {', '.join(missing)}" if missing else None


def _still_holds(holder: Holder, retired: str) -> str | None:
    return f"still holds {retired}" if retired in holder.held else None


def _starts_with_another(holder: Holder, wraps: str) -> str | None:
    return None if holder.first == wraps else f"will not start again with {wraps}: its kek_file must name it now"


def _state(holder: Holder, now: int, why: str) -> str:
    return f"{why} and is silent for {(now - holder.at) // 1_000} s" if holder.silent(holder.at.__class__(now)) else why


@asynccontextmanager
async def rotating(settings: Settings, wishes: RotationWishes, telling: Telling) -> AsyncIterator[KeyRotation]:
    """Raises as `open_foundation`."""
    async with open_foundation(settings, _CALL) as foundation:
        yield KeyRotation(settings=settings, foundation=foundation, wishes=wishes, telling=telling)
