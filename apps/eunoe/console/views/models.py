"""Read models: which generation serves, how far it is, and since when it was last at the end of its topic."""

from typing import Final

from eunoe.console import words
from eunoe.console.snapshot import Model, ModelPartition, Models, Snapshot
from eunoe.console.view import Badge, Cell, Column, Folded, Page, Section, Table, Tone, state_of, worst

_FRESH_S: Final = 5.0
"""A projector says once a second that it is at the end; some of these may be missed."""
_LEAD: Final = (
    "A generation is a whole copy of a read model; the one that serves is shown. The ledger is the decider's own and "
    "is caught up before anything is decided, so it keeps no such time."
)
LEDGER: Final = "ledger"


def page(snapshot: Snapshot) -> Page:
    part = snapshot.models
    blocks: tuple[Folded, ...] = ()
    if part.value is not None:
        blocks = tuple(_model(each, part.value.max_lag, snapshot.at) for each in part.value.models)
    section = Section(
        id="models",
        title="Read models",
        state=state_of(part, snapshot.at),
        lead=_LEAD,
        blocks=blocks,
        stale=part.problem is not None,
    )
    return Page(name="models", title="Read models", sections=(section,))


def freshness(each: ModelPartition, max_lag: float, now: int) -> Badge:
    """Whether readers get what was decided a moment ago."""
    if each.position is None:
        return Badge(Tone.UNKNOWN, "empty")
    if each.caught_up_at is None:
        return Badge(Tone.WARNING, "never caught up")
    age = max(0, now - each.caught_up_at) / 1_000
    if age <= _FRESH_S:
        return Badge(Tone.OK, "fresh")
    if age <= max_lag:
        return Badge(Tone.WARNING, "behind")
    return Badge(Tone.BAD, "too old to be read")


def serving(models: Models, now: int) -> Badge:
    """The least fresh of all that readers are answered from."""
    found = {
        each.name: worst(tuple(freshness(one, models.max_lag, now).tone for one in each.partitions))
        for each in models.models
        if each.name != LEDGER
    }
    tone = worst(tuple(found.values()))
    if tone is Tone.OK:
        return Badge(tone, "all fresh")
    names = [name for name, each in found.items() if each is tone]
    said = {Tone.UNKNOWN: "empty", Tone.WARNING: "behind", Tone.BAD: "too old to be read"}[tone]
    return Badge(tone, f"{', '.join(names)} {said}")


def _model(model: Model, max_lag: float, now: int) -> Folded:
    ledger = model.name == LEDGER
    badges = [
        Badge(Tone.PLAIN, "decider's own") if ledger else freshness(each, max_lag, now) for each in model.partitions
    ]
    tone = worst(tuple(each.tone for each in badges))
    said = next((each.words for each in badges if each.tone is tone), words.UNKNOWN)
    generations = sorted({each.generation for each in model.partitions})
    several = "generations " if len(generations) > 1 else "generation "
    facts = [several + ", ".join(map(str, generations)), f"folds {model.topic}"]
    if not ledger:
        facts.append(f"at its end {words.ago(now, _oldest(model))}")
    return Folded(
        id=f"model-{model.name}",
        title=model.name,
        badge=Badge(tone, said),
        facts=tuple(facts),
        table=_table(model, badges, now),
        open=tone in (Tone.WARNING, Tone.BAD),
    )


def _oldest(model: Model) -> int | None:
    known = [each.caught_up_at for each in model.partitions]
    return None if None in known else min((each or 0 for each in known), default=None)


def _table(model: Model, badges: list[Badge], now: int) -> Table:
    digests = any(each.digest is not None for each in model.partitions)
    columns = [
        Column("partition", right=True),
        Column("freshness"),
        Column("generation", right=True),
        Column("position", right=True),
        Column("last at the end", right=True),
    ]
    if digests:
        columns.append(Column("digest"))
    rows = tuple(_row(each, badge, now, digests) for each, badge in zip(model.partitions, badges, strict=True))
    return Table(
        caption=f"Partitions of the read model {model.name}", columns=tuple(columns), rows=rows, empty="No partitions."
    )


def _row(each: ModelPartition, badge: Badge, now: int, digests: bool) -> tuple[Cell, ...]:
    cells = (
        Cell(str(each.partition), right=True),
        Cell(badge.words, badge=badge.tone),
        Cell(str(each.generation), right=True),
        Cell(words.NONE if each.position is None else words.number(each.position), right=True),
        Cell(words.NONE if each.caught_up_at is None else words.ago(now, each.caught_up_at), right=True),
    )
    return (*cells, Cell(each.digest or words.NONE, code=True)) if digests else cells
