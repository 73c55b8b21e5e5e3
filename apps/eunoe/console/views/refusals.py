"""Recent refusals by reason: which commands the decider said no to, how often, and when last."""

from typing import Final

from eunoe.console import words
from eunoe.console.from_log import FACTS
from eunoe.console.snapshot import Refusals, Refused, Snapshot
from eunoe.console.view import Cell, Column, Page, Table, page_of

_LEAD: Final = (
    f"Among the last facts of memory-lifecycle, at most {FACTS} offsets a partition. Many of one reason: a client is "
    "set up wrongly, or writers race."
)


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.refusals,
        snapshot.at,
        name="refusals",
        title="Refusals",
        heading="Recent refusals",
        lead=_LEAD,
        shown=lambda found: (_table(found, snapshot.at),),
    )


def _table(found: Refusals, now: int) -> Table:
    looked = f"{words.many(found.facts, 'fact')} looked at"
    if found.since is not None:
        looked += f", the oldest of {words.instant(found.since)}"
    if found.unreadable:
        looked += f"; {words.number(found.unreadable)} of a newer version than this console"
    return Table(
        caption="Refused commands, by reason",
        columns=(Column("reason"), Column("command"), Column("times", right=True), Column("last", right=True)),
        rows=tuple(_row(each, now) for each in found.refused),
        empty="None was refused.",
        more=f"{looked}.",
    )


def _row(each: Refused, now: int) -> tuple[Cell, ...]:
    return (
        Cell(words.spaced(each.reason)),
        Cell(words.spaced(each.command)),
        Cell(words.number(each.times), right=True),
        Cell(words.ago(now, each.last), right=True),
    )
