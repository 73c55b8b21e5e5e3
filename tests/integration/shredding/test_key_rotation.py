"""A key-encryption key rotated on the real stack, from the first wrapping to the day after."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from eunoe.client.memory import Memory
from eunoe.crypto.kek import create_key_file, read_key_file
from eunoe.operations.key_rotation import RotationWishes, rotating
from eunoe.operations.keys_in_use import KeysInUse, keys_in_use
from eunoe.operations.rotation_errors import RotationRefused
from eunoe.runtime.settings import Settings
from eunoe.schemas.control import KekRotation, RotationStage
from eunoe.schemas.ids import PrincipalName
from eunoe.worker.embedded import running_services
from eunoe.worker.foundation import open_foundation
from shred_log import SCOPE, WHERE

OFFICER = PrincipalName("dev-officer")
ATTESTED = "There is no copy of the old key."


@pytest.fixture
def both(settings: Settings, tmp_path: Path) -> Settings:
    """The old KEK in use, the new one beside it."""
    create_key_file(tmp_path / "kek-new")
    return replace(settings, kek_other_file=tmp_path / "kek-new")


def swapped(settings: Settings) -> Settings:
    return replace(settings, kek_file=settings.kek_other_file, kek_other_file=settings.kek_file)


def ids(settings: Settings) -> tuple[str, str]:
    assert settings.kek_file is not None
    assert settings.kek_other_file is not None
    return read_key_file(settings.kek_file).kek_id, read_key_file(settings.kek_other_file).kek_id


async def rotate(settings: Settings, until: RotationStage, **wishes: object) -> KekRotation:
    given = {"settle": 0.2, "patience": 30.0, "attested": ATTESTED} | wishes
    asked = RotationWishes(until=until, **given)  # type: ignore[arg-type]  # a table of wishes has no types of its own
    async with rotating(replace(settings, principal=OFFICER), asked, print) as rotation:
        return await rotation.rotate()


async def in_use(settings: Settings) -> KeysInUse:
    async with open_foundation(settings, "status") as foundation:
        return await keys_in_use(foundation)


@asynccontextmanager
async def working(settings: Settings) -> AsyncIterator[Memory]:
    """A worker of every role, and a client."""
    async with running_services(settings) as running:
        await running.ready()
        async with Memory.connect(settings) as memory:
            yield memory


@dataclass(slots=True)
class Traffic:
    """Writes and reads all the while; everything that goes wrong is kept."""

    memory: Memory
    time: str
    written: int = 0
    read: int = 0
    problems: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            name = f"{self.time}-{self.written}"
            outcome = await self.memory.remember(f"Likes tea number {name}.", subject=name, **WHERE)
            if outcome.refused:
                self.problems.append(str(outcome.reason))
            self.written += 1
            found = await self.memory.search("green", **SCOPE)
            if not any(each.statement == "Prefers green tea." for each in found.records):
                self.problems.append("not found")
            self.read += 1

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.run())
        try:
            yield
        finally:
            task.cancel()
            done = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(done[0], asyncio.CancelledError), done
        assert not self.problems
        assert min(self.written, self.read) > 0, "the control: there was traffic"


async def test_another_kek_takes_the_place_of_the_old_one_while_everything_goes_on(both: Settings) -> None:
    old, new = ids(both)
    async with working(both) as memory:
        await memory.remember("Prefers green tea.", subject="anna", **WHERE)
        before = await in_use(both)
        assert set(before.by_kek) == {old}
        assert set(before.index_keys) == {old}
        async with Traffic(memory, "before").flowing():
            step = await rotate(both, RotationStage.FENCED)
        assert step.fence[0] > before.partitions[0].end
    async with working(swapped(both)) as memory:
        async with Traffic(memory, "after").flowing():
            step = await rotate(swapped(both), RotationStage.DESTROYED)
        assert (step.stage, step.evidence) == (RotationStage.DESTROYED, "operator attests")
        assert both.kek_file is not None
        assert not both.kek_file.exists()
        after = await in_use(swapped(both))
        assert set(after.by_kek) == {new}
        assert set(after.index_keys) == {new}
        assert [each.held for each in after.holders] == [(new,)] * len(after.holders)
        with pytest.raises(RotationRefused, match="two keys"):
            await rotate(swapped(both), RotationStage.DESTROYED)
