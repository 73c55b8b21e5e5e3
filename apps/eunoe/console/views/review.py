"""What waits for a person: how many, why, how long. Never what it says."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import Queued, Review, Snapshot
from eunoe.console.view import Cell, Column, Page, Table, Tile, Tiles, page_of

_LEAD: Final = (
    "Quarantined memories and open conflicts of all tenants. An item may wait for several reasons, so they may add up "
    "to more. Reviewers work with `eunoe review list`."
)


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.review,
        snapshot.at,
        name="review",
        title="Review queue",
        heading="Waiting for a person",
        lead=_LEAD,
        shown=lambda found: (_tiles(found, snapshot.at), _table(found, snapshot.at)),
    )


def _tiles(review: Review, now: int) -> Tiles:
    oldest = min((each.oldest for each in review.reasons if each.oldest is not None), default=None)
    waits = "nothing waits" if oldest is None else f"since {words.instant(oldest)}"
    return Tiles(
        tiles=(
            Tile(label="In the queue", figure=words.number(review.items)),
            Tile(label="Oldest waits", figure=words.NONE if oldest is None else _waits(now, oldest), note=waits),
        )
    )


def _table(review: Review, now: int) -> Table:
    return Table(
        caption="What waits, by reason",
        columns=(Column("reason"), Column("items", right=True), Column("oldest waits", right=True)),
        rows=tuple(_row(each, now) for each in review.reasons),
        empty="Nothing waits for a person.",
    )


def _row(each: Queued, now: int) -> tuple[Cell, ...]:
    waits = words.UNKNOWN if each.oldest is None else _waits(now, each.oldest)
    return (
        Cell(words.spaced(each.reason)),
        Cell(words.number(each.items), right=True),
        Cell(waits, right=True),
    )


def _waits(now: int, since: int) -> str:
    return words.whole_seconds(max(0, now - since) / 1_000)
