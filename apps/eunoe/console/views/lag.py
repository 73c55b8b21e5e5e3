"""Consumer lag by group and partition: what `eunoe lag` says, with both marks and who owns what."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import GroupLag, Lag, PartitionLag, Snapshot
from eunoe.console.view import Badge, Cell, Column, Folded, Page, Table, Tone, page_of

TONES: Final = {
    "ok": Tone.OK,
    "unknown": Tone.UNKNOWN,
    "warning": Tone.WARNING,
    "rewinding": Tone.WARNING,
    "stalled": Tone.BAD,
    "stopped": Tone.BAD,
}
SHOWN: Final = 64
"""Partitions in one table; those that need looking at come first."""
_COLUMNS: Final = (
    Column("partition"),
    Column("status"),
    Column("waiting", right=True),
    Column("oldest", right=True),
    Column("trend", right=True),
    Column("gone in", right=True),
    Column("last progress", right=True),
    Column("end", right=True),
    Column("committed", right=True),
    Column("in Redis", right=True),
    Column("gap", right=True),
    Column("owner"),
)
_LEAD: Final = (
    "What waits is counted in records that a reader of committed ones can see. A group is where Redis says; Kafka's "
    "committed offset stands beside it, and the gap is how far Redis is ahead of it."
)


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.lag,
        snapshot.at,
        name="lag",
        title="Lag",
        heading="Consumer groups",
        lead=_LEAD,
        shown=lambda found: map(_group, found.groups),
    )


def badge(status: str) -> Badge:
    return Badge(TONES.get(status, Tone.UNKNOWN), status)


def oldest(group: GroupLag) -> float | None:
    """The age of the oldest record that waits; None where one is not known."""
    ages = [each.age for each in group.partitions]
    return None if None in ages else max((each or 0.0 for each in ages), default=0.0)


def owned(group: GroupLag) -> str:
    count = sum(each.owner is not None for each in group.partitions)
    return f"{count} of {words.many(len(group.partitions), 'partition')} owned"


def waiting(group: GroupLag) -> str:
    return "not known what waits" if group.total is None else f"{words.many(group.total, 'record')} waiting"


def _group(group: GroupLag) -> Folded:
    facts = [waiting(group), owned(group)]
    age = oldest(group)
    if age:
        facts.insert(1, f"oldest {words.seconds(age)}")
    if group.rate is not None:
        facts.append(f"moves {words.rate(group.rate)}")
    return Folded(
        id=f"group-{group.name}",
        title=group.name,
        badge=badge(group.status),
        facts=(*facts, f"reads {group.topic}"),
        table=_table(group),
        open=TONES.get(group.status) in (Tone.WARNING, Tone.BAD),
    )


def _table(group: GroupLag) -> Table:
    order = list(Tone)
    ranked = sorted(group.partitions, key=lambda each: -order.index(TONES.get(each.status, Tone.UNKNOWN)))
    shown = sorted(ranked[:SHOWN], key=lambda each: each.partition)
    left = len(ranked) - len(shown)
    return Table(
        caption=f"Partitions of {group.topic}, as group {group.name} reads them",
        columns=_COLUMNS,
        rows=tuple(_row(each) for each in shown),
        empty="No partitions.",
        more=f"{words.many(left, 'more partition')} that need no look" if left else "",
    )


def _row(each: PartitionLag) -> tuple[Cell, ...]:
    figures = (
        words.number(each.lag),
        words.seconds(each.age),
        words.signed(each.trend),
        words.NONE if each.eta is None else words.seconds(each.eta),
        words.NONE if each.progress_age is None else f"{words.seconds(each.progress_age)} ago",
        words.number(each.end),
        *(words.NONE if mark is None else words.number(mark) for mark in (each.committed, each.stored, each.gap)),
    )
    return (
        Cell(str(each.partition)),
        Cell(each.status, badge=TONES.get(each.status, Tone.UNKNOWN), note=each.reason),
        *(Cell(figure, right=True) for figure in figures),
        Cell(each.owner or "nobody", code=each.owner is not None),
    )


def named(lag: Lag, name: str) -> GroupLag | None:
    return next((each for each in lag.groups if each.name == name), None)
