"""What can go wrong with a read model. `ReadModelError` is the base; the second base says who acts, and none holds
content."""

from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault, RuntimeFault, WorldFault
from eunoe.runtime.lane import LaneStalled
from eunoe.schemas.ids import CommandId, LogId, Offset, Partition


class ReadModelError(RuntimeFault):
    """Base of this area."""


@dataclass(eq=False)
class CannotApply(ReadModelError):
    """A model's ``fold`` met a record that it cannot apply. The lane turns it into `ProjectionStopped`."""

    offset: Offset
    problem: str

    def __str__(self) -> str:
        return f"offset {self.offset}: {self.problem}"


class ProjectionHalted(ReadModelError, LaneStalled):
    """The partition of this read model stands still until a person acts. Blame: log. Nothing was skipped."""


@dataclass(eq=False)
class ProjectionStopped(ProjectionHalted):
    """The record at ``offset`` cannot be decoded or applied; everything before it has been."""

    model: str
    topic: str
    partition: Partition
    offset: Offset
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.model} stopped at {self.topic}/{self.partition} offset {self.offset}: {self.problem}. "
            "The record is not skipped: upgrade this worker or repair the cause, then start it again"
        )


@dataclass(eq=False)
class LogStartMovedOn(ProjectionHalted):
    """Records that the model has not folded are no longer in the log (retention, or deleted by hand)."""

    model: str
    topic: str
    partition: Partition
    watermark: Offset
    log_start: Offset

    def __str__(self) -> str:
        return (
            f"{self.model} has folded {self.topic}/{self.partition} up to offset {self.watermark}, but the log now "
            f"starts at {self.log_start}: what lay between is gone and is not skipped silently. Restore the topic from "
            "a backup (or Redis from one that reaches further), then start the worker again"
        )


@dataclass(eq=False)
class ProjectionAheadOfLog(ProjectionHalted):
    """The model has folded records that the log no longer has: it was truncated, recreated or restored (S31)."""

    model: str
    topic: str
    partition: Partition
    watermark: Offset
    log_end: Offset

    def __str__(self) -> str:
        return (
            f"{self.model} has folded {self.topic}/{self.partition} up to offset {self.watermark}, but the log ends at "
            f"{self.log_end}: it lost records, and this read model still answers from them. Choose: restore the log, "
            f"or accept the loss with `eunoe rebuild {self.model}`, which fills a new generation from what is there"
        )


@dataclass(eq=False)
class GenerationRetired(ProjectionHalted):
    """The generation was retired: it is not projected any more, and no other takes its number."""

    model: str
    partition: Partition
    generation: int

    def __str__(self) -> str:
        return f"{self.model} partition {self.partition}: generation {self.generation} was retired"


@dataclass(eq=False)
class NotThisLog(ProjectionHalted):
    """The partition does not start with the genesis record of the log that this worker was started for."""

    topic: str
    partition: Partition
    expected: LogId
    found: LogId | None

    def __str__(self) -> str:
        found = "no genesis record" if self.found is None else f"log {self.found}"
        return (
            f"{self.topic}/{self.partition} should begin log {self.expected}, but holds {found}: the topic was "
            "recreated or replaced. Restore it, or restart the workers so that they serve the log that is there now"
        )


@dataclass(eq=False)
class StoreUnavailable(ReadModelError, WorldFault):
    """Redis did not answer; nothing is known."""

    doing: str
    cause: str

    def __str__(self) -> str:
        return f"Redis did not answer while {self.doing}: {self.cause}"


@dataclass(eq=False)
class BeingMoved(StoreUnavailable):
    """The partition's slot is on its way to another node of the Redis Cluster: neither can answer in full."""

    def __str__(self) -> str:
        return f"while {self.doing}: the partition is being moved to another Redis node. Ask again later"


@dataclass(eq=False)
class BeingFilled(ReadModelError, WorldFault):
    """The read model has not been at the end of the log since Redis was empty: what it lacks says nothing.

    ``position`` of ``log_end`` offsets are folded; None where no projector has told where the log ends.
    """

    model: str
    partition: Partition
    position: Offset
    log_end: Offset | None

    def __str__(self) -> str:
        if self.log_end is None:
            said = f"offset {self.position}, and no projector has said how far that is from the end"
        else:
            share = 100 * self.position // max(1, self.log_end)
            said = f"offset {self.position} of {self.log_end} ({share} %)"
        return f"{self.model} is being rebuilt from the log on partition {self.partition}: {said}. Ask again later"


@dataclass(eq=False)
class ForeignToken(ReadModelError, CallerFault):
    """The consistency token was issued by another installation, or before the topics were recreated."""

    expected: LogId
    found: LogId

    def __str__(self) -> str:
        return f"the token belongs to log {self.found}, this is log {self.expected}"


@dataclass(eq=False)
class UnknownPlace(ReadModelError, CallerFault):
    """The consistency token names a partition that this log does not have, or a model that does not fold its topic."""

    problem: str

    def __str__(self) -> str:
        return f"the token cannot be waited for: {self.problem}"


@dataclass(eq=False)
class NotYet(ReadModelError, WorldFault):
    """The read model had not come as far in time. ``behind`` is in offsets, of which some hold no record."""

    model: str
    partition: Partition
    wanted: Offset
    position: Offset
    after_seconds: float

    @property
    def behind(self) -> int:
        return self.wanted - self.position

    def __str__(self) -> str:
        return (
            f"{self.model} is at {self.position} of partition {self.partition} after {self.after_seconds:g} s, "
            f"{self.behind} before {self.wanted}"
        )


@dataclass(eq=False)
class NoOutcome(ReadModelError, WorldFault):
    """No outcome became known in time. The command may still be decided: its id stays valid to ask for."""

    command_id: CommandId
    after_seconds: float
    problem: str | None = None

    def __str__(self) -> str:
        why = f" ({self.problem})" if self.problem else ""
        return f"no outcome of command {self.command_id} within {self.after_seconds:g} s{why}"
