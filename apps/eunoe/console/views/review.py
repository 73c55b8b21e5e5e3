"""What waits for a person: how many, why, how long. Never what it says."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import Queued, Snapshot
from eunoe.console.view import Cell, Column, Page, Section, Table, Tile, Tiles, state_of

_LEAD: Final = (
    "Quarantined memories and open conflicts of all tenants. An item may wait for several reasons, so they may add up "
    "to more. Reviewers work with `eunoe review list`."
)


def page(snapshot: Snapshot) -> Page:
    part, now = snapshot.review, snapshot.at
    blocks: tuple[Tiles | Table, ...] = ()
    if part.value is not None:
        oldest = min((each.oldest for each in part.value.reasons if each.oldest is not None), default=None)
        waits = "nothing waits" if oldest is None else f"since {words.instant(oldest)}"
        tiles = (
            Tile(label="In the queue", figure=words.number(part.value.items)),
            Tile(label="Oldest waits", figure=words.NONE if oldest is None else _waits(now, oldest), note=waits),
        )
        blocks = (
            Tiles(tiles=tiles),
            Table(
                caption="What waits, by reason",
                columns=(Column("reason"), Column("items", right=True), Column("oldest waits", right=True)),
                rows=tuple(_row(each, now) for each in part.value.reasons),
                empty="Nothing waits for a person.",
            ),
        )
    section = Section(
        id="review",
        title="Waiting for a person",
        state=state_of(part, now),
        lead=_LEAD,
        blocks=blocks,
        stale=part.problem is not None,
    )
    return Page(name="review", title="Review queue", sections=(section,))


def _row(each: Queued, now: int) -> tuple[Cell, ...]:
    waits = words.UNKNOWN if each.oldest is None else _waits(now, each.oldest)
    return (
        Cell(words.spaced(each.reason)),
        Cell(words.number(each.items), right=True),
        Cell(waits, right=True),
    )


def _waits(now: int, since: int) -> str:
    return words.whole_seconds(max(0, now - since) / 1_000)
