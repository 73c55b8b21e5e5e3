"""Dead letters: why a record could not be judged, and where it lay. What is in it stays sealed."""

from collections import Counter
from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import Letter, Letters, Snapshot
from eunoe.console.view import Cell, Column, Page, Table, page_of

_LEAD: Final = (
    "Records of memory-events that could not be judged, the newest of each partition. They are sealed; what is told "
    "of them is why, and where they lay."
)
MEANING: Final = {
    "undecodable": "a stray writer",
    "unknown_schema": "a newer writer than this installation",
    "misrouted": "a client with another partitioner",
    "unauthenticated": "a wrong or retired secret",
    "overdue": "a client's clock, or a replayed record",
    "other": "not written by a decider of this version",
}


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.letters,
        snapshot.at,
        name="dead-letters",
        title="Dead letters",
        heading="Kept for 14 days",
        lead=_LEAD,
        shown=lambda found: (_by_reason(found), _newest(found, snapshot.at)),
    )


def _by_reason(found: Letters) -> Table:
    counted = Counter(each.reason for each in found.letters)
    return Table(
        caption="By reason, of those shown below",
        columns=(Column("reason"), Column("letters", right=True)),
        rows=tuple(
            (Cell(words.spaced(reason), note=MEANING.get(reason, "")), Cell(words.number(count), right=True))
            for reason, count in counted.most_common()
        ),
        empty="No dead letters.",
    )


def _newest(found: Letters, now: int) -> Table:
    return Table(
        caption="Newest first",
        columns=(
            Column("written"),
            Column("reason"),
            Column("from topic"),
            Column("partition", right=True),
            Column("offset", right=True),
        ),
        rows=tuple(_row(each, now) for each in found.letters),
        empty="No dead letters.",
        more=f"{words.many(found.kept, 'offset')} on the topic, transaction markers among them." if found.kept else "",
    )


def _row(each: Letter, now: int) -> tuple[Cell, ...]:
    known = each.offset >= 0
    return (
        Cell(words.instant(each.at), note=words.ago(now, each.at)),
        Cell(words.spaced(each.reason)),
        Cell(each.topic if known else words.UNKNOWN, code=known),
        Cell(str(each.partition) if known else words.UNKNOWN, right=True),
        Cell(words.number(each.offset) if known else words.UNKNOWN, right=True),
    )
