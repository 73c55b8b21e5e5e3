"""What ends a rebuild. None of them has changed what readers are answered from."""

from collections.abc import Sequence
from dataclasses import dataclass

from eunoe.readmodels.errors import ReadModelError
from eunoe.readmodels.rebuild.content import Difference
from eunoe.runtime.errors import CallerFault, LogFault, WorldFault
from eunoe.schemas.ids import Offset, Partition


@dataclass(eq=False)
class AlreadyRebuilding(ReadModelError, CallerFault):
    """Another process rebuilds this model; it said so ``seconds`` ago."""

    model: str
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.model} is being rebuilt by another process (last sign {self.seconds:.1f} s ago). Wait for it, or "
            "end it and try again: what it has filled is gone on with"
        )


@dataclass(eq=False)
class LogDoesNotReachBack(ReadModelError, LogFault):
    """The log does not begin at offset 0 any more, so a generation filled from it lacks what was there."""

    model: str
    topic: str
    partition: Partition
    start: Offset

    def __str__(self) -> str:
        return (
            f"{self.topic}/{self.partition} begins at offset {self.start}: what lay before is gone, and {self.model} "
            "filled from there would lack it. Restore the topic from a copy of it; what serves stays as it is"
        )


@dataclass(eq=False)
class NotTheSame(ReadModelError, LogFault):
    """Both generations were at one offset and did not hold the same. Nothing was switched.

    ``items``: how many each holds, None where nobody has counted.
    """

    model: str
    partition: Partition
    position: Offset
    items: tuple[int | None, int | None]
    found: Sequence[Difference]

    def __str__(self) -> str:
        here, there = map(_number, self.items)
        told = "; ".join(f"{each.key} {each.field} is {each.how}".replace("  ", " ") for each in self.found)
        return (
            f"{self.model} partition {self.partition} differs at offset {self.position}: the generation that serves "
            f"holds {here}, the one that was built {there}. In the latter: {told or 'unknown'}. "
            "Nothing was switched. Where the code was changed on purpose, so that the two must differ, switch with "
            "--accept-difference; else look for the cause, and give the generation up with --abandon"
        )


def _number(items: int | None) -> str:
    return "items that workers of several versions counted" if items is None else f"{items} items"


@dataclass(eq=False)
class NotInTime(ReadModelError, WorldFault):
    """It did not come as far as it had to in time; what was done stays, and the next call goes on from there."""

    model: str
    partition: Partition
    problem: str

    def __str__(self) -> str:
        return f"{self.model} partition {self.partition}: {self.problem}. Call it again to go on from there"


@dataclass(eq=False)
class NoSuchGeneration(ReadModelError, CallerFault):
    """There is nothing to roll back to, retire or abandon."""

    model: str
    problem: str

    def __str__(self) -> str:
        return f"{self.model}: {self.problem}"


@dataclass(eq=False)
class NotFound(ReadModelError, LogFault):
    """A record of the generation that was built is not found by its own words. Nothing was switched."""

    model: str
    partition: Partition
    asked: int
    missed: Sequence[str]

    def __str__(self) -> str:
        return (
            f"{self.model} partition {self.partition}: {len(self.missed)} of {self.asked} records are not found by "
            f"their own rarest words: {', '.join(self.missed[:10])}. Nothing was switched"
        )


@dataclass(eq=False)
class OtherWords(ReadModelError, LogFault):
    """Records whose words were counted otherwise than in the generation that serves, by the same rules."""

    model: str
    partition: Partition
    records: Sequence[str]

    def __str__(self) -> str:
        return (
            f"{self.model} partition {self.partition}: the words of {len(self.records)} records were counted "
            f"otherwise: {', '.join(self.records[:10])}. Nothing was switched"
        )
