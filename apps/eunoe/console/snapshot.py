"""Everything the console knows at one moment. Frozen, bounded, and free of content by its types.

A text in here is a word of a vocabulary, a name that an operator gave (topic, group, model, purpose; tenants in
switches alone), or an id of the log. There is no field for a statement, a subject, a record or a person's reason.
Times are wall-clock milliseconds; durations are seconds.
"""

from enum import StrEnum
from typing import Generic, TypeVar

from msgspec import Struct

from eunoe.schemas.ids import LogId, Millis

T_co = TypeVar("T_co", covariant=True)


class Service(StrEnum):
    """What a part is asked of."""

    KAFKA = "Kafka"
    REDIS = "Redis"
    CONSOLE = "the console"


class Problem(Struct, frozen=True, kw_only=True):
    """Why a part has no newer figures. ``what`` ends a sentence that starts with ``who``; ``since``: the last time it
    answered, or when the console began to ask."""

    who: str
    what: str
    since: Millis


class Part(Struct, Generic[T_co], frozen=True, kw_only=True):
    """One thing that is looked at again and again: what was found last, when, and what keeps it from being newer."""

    value: T_co | None = None
    taken_at: Millis | None = None
    problem: Problem | None = None


class PartitionLag(Struct, frozen=True, kw_only=True):
    """As `eunoe.operations.lag.PartitionLag`, flat. None: not known."""

    partition: int
    status: str
    reason: str
    lag: int | None
    age: float | None
    trend: float | None
    eta: float | None
    progress_age: float | None
    end: int
    committed: int | None
    stored: int | None
    owner: str | None

    @property
    def gap(self) -> int | None:
        """How far Redis is before Kafka's committed offset."""
        return None if self.stored is None or self.committed is None else self.stored - self.committed


class GroupLag(Struct, frozen=True, kw_only=True):
    """``rate``: offsets a second by which its positions moved lately, transaction markers among them."""

    name: str
    topic: str
    status: str
    total: int | None
    rate: float | None
    partitions: tuple[PartitionLag, ...]


class Lag(Struct, frozen=True, kw_only=True):
    groups: tuple[GroupLag, ...]


class Throughput(Struct, frozen=True, kw_only=True):
    """What is appended a second, in offsets: commands and reads are one each, a transaction's marker is one, too.

    ``*_past``: the same at earlier looks, oldest first, None where it was not known.
    """

    log_id: LogId
    partitions: int
    commands: float | None
    facts: float | None
    reads: float | None
    commands_past: tuple[float | None, ...] = ()
    facts_past: tuple[float | None, ...] = ()
    reads_past: tuple[float | None, ...] = ()


class Store(Struct, frozen=True, kw_only=True):
    """Redis. ``limit``: bytes, 0 for none. ``bound``: it is tied to this log; not, after it lost everything."""

    version: str
    mode: str
    used: int
    limit: int
    bound: bool = True


class ModelPartition(Struct, frozen=True, kw_only=True):
    """One generation in one partition. ``position``: the next offset to fold; ``caught_up_at``: when it last was at
    the end of its topic; ``log_end``: where that was while it was on its way; ``items`` and ``digest``: how much
    it holds, and a number over all of it, where it is kept."""

    partition: int
    generation: int
    role: str
    position: int | None
    caught_up_at: Millis | None
    log_end: int | None = None
    items: int | None = None
    digest: str | None = None


class Model(Struct, frozen=True, kw_only=True):
    name: str
    topic: str
    partitions: tuple[ModelPartition, ...]


class Models(Struct, frozen=True, kw_only=True):
    """``max_lag``: seconds after which a reader of a model that is behind fails closed."""

    models: tuple[Model, ...]
    max_lag: float


class Switch(Struct, frozen=True, kw_only=True):
    """``tenant`` None: every tenant; ``purpose`` None: every purpose. Why it was set, `eunoe switch show` says."""

    tenant: str | None
    purpose: str | None
    reads: bool
    writes: str
    by: str | None
    made_at: Millis
    offset: int


class Control(Struct, frozen=True, kw_only=True):
    """``policy``: the version in force; None where there is none, and nothing is decided."""

    policy: int | None
    offset: int
    switches: tuple[Switch, ...]


class Queued(Struct, frozen=True, kw_only=True):
    """What waits for a person for one reason (an item may have several). ``oldest``: since when (log time)."""

    reason: str
    items: int
    oldest: Millis | None


class Review(Struct, frozen=True, kw_only=True):
    items: int
    reasons: tuple[Queued, ...]


class AtStage(Struct, frozen=True, kw_only=True):
    """Erasures whose last receipt is of ``stage``; ``oldest``: when the first of them was asked for (log time)."""

    stage: str
    erasures: int
    oldest: Millis


class Erasures(Struct, frozen=True, kw_only=True):
    """Not all receipts written yet. ``receipts``: how many were looked at, by stage."""

    stages: tuple[AtStage, ...]
    receipts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        return sum(each.erasures for each in self.stages)


class Refused(Struct, frozen=True, kw_only=True):
    reason: str
    command: str
    times: int
    last: Millis


class Refusals(Struct, frozen=True, kw_only=True):
    """Of the last ``facts`` on memory-lifecycle. ``unreadable``: written by a newer version than this."""

    facts: int
    since: Millis | None
    refused: tuple[Refused, ...]
    unreadable: int = 0

    @property
    def total(self) -> int:
        return sum(each.times for each in self.refused)


class Letter(Struct, frozen=True, kw_only=True):
    """A dead letter: why, and where the record had been."""

    at: Millis
    reason: str
    topic: str
    partition: int
    offset: int


class Letters(Struct, frozen=True, kw_only=True):
    """The newest ones of each partition, newest first. ``kept``: offsets on the topic, 14 days of them."""

    letters: tuple[Letter, ...]
    kept: int


class Snapshot(Struct, frozen=True, kw_only=True):
    """All parts at the moment ``at``. ``version`` grows with every snapshot of one console."""

    version: int = 0
    at: Millis = Millis(0)
    started_at: Millis = Millis(0)
    throughput: Part[Throughput] = Part()
    store: Part[Store] = Part()
    lag: Part[Lag] = Part()
    models: Part[Models] = Part()
    control: Part[Control] = Part()
    review: Part[Review] = Part()
    erasures: Part[Erasures] = Part()
    refusals: Part[Refusals] = Part()
    letters: Part[Letters] = Part()
