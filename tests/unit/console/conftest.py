"""A console's snapshot with something in every part."""

from typing import TypeVar

import pytest

from eunoe.console.snapshot import (
    AtStage,
    Control,
    Erasures,
    GroupLag,
    Lag,
    Letter,
    Letters,
    Model,
    ModelPartition,
    Models,
    Part,
    PartitionLag,
    Queued,
    Refusals,
    Refused,
    Review,
    Snapshot,
    Store,
    Switch,
    Throughput,
)
from eunoe.schemas.ids import LogId, Millis

T = TypeVar("T")
NOW = Millis(1_800_000_000_000)


def partition(number: int, status: str = "ok", lag: int | None = 0, owner: str | None = "eunoe-a-1") -> PartitionLag:
    return PartitionLag(
        partition=number,
        status=status,
        reason="caught up" if status == "ok" else "records wait and the position does not move",
        lag=lag,
        age=None if lag is None else 0.0 if lag == 0 else 4.2,
        trend=0.0,
        eta=None,
        progress_age=None,
        end=120 + number,
        committed=100,
        stored=110,
        owner=owner,
    )


def group(name: str, *partitions: PartitionLag, status: str = "ok", topic: str = "memory-lifecycle") -> GroupLag:
    found = partitions or (partition(0), partition(1))
    lags = [each.lag for each in found]
    return GroupLag(
        name=name,
        topic=topic,
        status=status,
        total=None if None in lags else sum(each or 0 for each in lags),
        rate=12.5,
        partitions=found,
    )


def model(name: str, age: int | None = 400, topic: str = "memory-lifecycle") -> Model:
    at = None if age is None else Millis(NOW - age)
    return Model(
        name=name,
        topic=topic,
        partitions=tuple(
            ModelPartition(partition=number, generation=1, role="serving", position=110, caught_up_at=at)
            for number in range(2)
        ),
    )


def _part(value: T) -> Part[T]:
    return Part(value=value, taken_at=Millis(NOW - 700))


@pytest.fixture
def snapshot() -> Snapshot:
    """Everything answers, at `NOW`."""
    throughput = Throughput(
        log_id=LogId("01a23719-0000-7000-8000-000000000000"),
        partitions=2,
        commands=12.5,
        facts=25.0,
        reads=3.0,
        commands_past=(None, 1.0, 12.5),
        facts_past=(2.0, 25.0),
        reads_past=(3.0,),
    )
    switch = Switch(
        tenant="globex", purpose=None, reads=True, writes="off", by="dev-officer", made_at=Millis(NOW - 9_000), offset=1
    )
    return Snapshot(
        version=7,
        at=NOW,
        started_at=Millis(NOW - 60_000),
        throughput=_part(throughput),
        store=_part(Store(version="8.2.3", mode="standalone", used=3 << 20, limit=0)),
        lag=_part(Lag(groups=(group("decide", topic="memory-events"), group("recall"), group("review")))),
        models=_part(Models(models=(model("ledger", None), model("recall"), model("review")), max_lag=60.0)),
        control=_part(Control(policy=3, offset=1, switches=(switch,))),
        review=_part(
            Review(items=2, reasons=(Queued(reason="untrusted_source", items=2, oldest=Millis(NOW - 90_000)),))
        ),
        erasures=_part(
            Erasures(
                stages=(AtStage(stage="logical", erasures=1, oldest=Millis(NOW - 12_000)),), receipts=(("logical", 4),)
            )
        ),
        refusals=_part(
            Refusals(
                facts=40,
                since=Millis(NOW - 600_000),
                refused=(Refused(reason="unknown_kind", command="RememberMemory", times=5, last=Millis(NOW - 3_000)),),
            )
        ),
        letters=_part(
            Letters(
                letters=(
                    Letter(at=Millis(NOW - 5_000), reason="misrouted", topic="memory-events", partition=1, offset=33),
                ),
                kept=2,
            )
        ),
    )
