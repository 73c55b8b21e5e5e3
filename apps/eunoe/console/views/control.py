"""Switches: what is turned off, for whom, by whom and since when."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import Control, Snapshot, Switch
from eunoe.console.view import Badge, Cell, Column, Page, Table, Tone, page_of

_LEAD: Final = (
    "In force in every process within two seconds. Without a switch everything is on; of several that speak of the "
    "same, the strictest holds. Why one was set: `eunoe switch show`."
)
_COLUMNS: Final = (
    Column("of"),
    Column("purpose"),
    Column("reads"),
    Column("writes"),
    Column("by"),
    Column("since"),
    Column("control offset", right=True),
)


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.control,
        snapshot.at,
        name="switches",
        title="Switches",
        heading="In force",
        lead=_LEAD,
        shown=lambda found: (_table(found),),
    )


def _table(control: Control) -> Table:
    policy = "No policy is in force: nothing is decided."
    if control.policy is not None:
        policy = f"Policy version {control.policy} is in force."
    return Table(
        caption="Switches that were ever set, as they are now",
        columns=_COLUMNS,
        rows=tuple(_row(each) for each in control.switches),
        empty="No switch was ever set: reads and writes are on.",
        more=policy,
    )


def in_short(control: Control) -> Badge:
    """How many hold something back."""
    off = sum(not each.reads or each.writes != "on" for each in control.switches)
    if control.policy is None:
        return Badge(Tone.BAD, "no policy in force")
    return Badge(Tone.WARNING, f"{words.many(off, 'switch', 'switches')} not on") if off else Badge(Tone.OK, "all on")


def _row(each: Switch) -> tuple[Cell, ...]:
    reads = Cell("on", badge=Tone.OK) if each.reads else Cell("off", badge=Tone.BAD)
    tones = {"on": Tone.OK, "observe": Tone.WARNING, "off": Tone.BAD}
    return (
        Cell("every tenant" if each.tenant is None else each.tenant),
        Cell("every purpose" if each.purpose is None else each.purpose),
        reads,
        Cell(each.writes, badge=tones.get(each.writes, Tone.UNKNOWN)),
        Cell(each.by or words.UNKNOWN),
        Cell(words.instant(each.made_at)),
        Cell(words.number(each.offset), right=True),
    )
