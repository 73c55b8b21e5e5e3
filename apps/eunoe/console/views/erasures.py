"""Erasures in progress, by the stage they have reached. Never whose."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import AtStage, Erasures, Snapshot
from eunoe.console.view import Cell, Column, Page, Table, page_of

_LEAD: Final = (
    "A forgotten person's texts are unreadable from the first moment on; each stage proves more of it, and its receipt "
    "is signed. `eunoe receipt list` shows them by request."
)
MEANING: Final = {
    "closed": "reads are refused; no receipt yet",
    "logical": "every read model has passed it; keys are being destroyed",
    "compacted": "no key value is left in the log; files are being searched",
    "scanned": "no key value is left in the files; the last receipt is written",
}


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.erasures,
        snapshot.at,
        name="erasures",
        title="Erasures",
        heading="In progress",
        lead=_LEAD,
        shown=lambda found: (_stages(found, snapshot.at), _receipts(found)),
    )


def _stages(found: Erasures, now: int) -> Table:
    return Table(
        caption="Erasures in progress, by the last stage that is proved",
        columns=(Column("stage"), Column("erasures", right=True), Column("oldest asked for", right=True)),
        rows=tuple(_row(each, now) for each in found.stages),
        empty="No erasure is in progress.",
    )


def _receipts(found: Erasures) -> Table:
    return Table(
        caption="Receipts lately written, by stage",
        columns=(Column("stage"), Column("receipts", right=True)),
        rows=tuple((Cell(stage), Cell(words.number(count), right=True)) for stage, count in found.receipts if count),
        empty="No receipt was written yet.",
    )


def _row(each: AtStage, now: int) -> tuple[Cell, ...]:
    return (
        Cell(each.stage, note=MEANING.get(each.stage, "")),
        Cell(words.number(each.erasures), right=True),
        Cell(words.ago(now, each.oldest), right=True),
    )
