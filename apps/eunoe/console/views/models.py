"""Read models: which generation serves, how far it is, and since when it was last at the end of its topic."""

from typing import Final

from eunoe.console import words
from eunoe.console.from_models import BUILDING, FROZEN, KEPT, SERVING
from eunoe.console.snapshot import Model, ModelPartition, Models, Snapshot
from eunoe.console.view import Badge, Cell, Column, Folded, Page, Table, Tone, page_of, worst

_FRESH_S: Final = 5.0
"""A projector says once a second that it is at the end; some of these may be missed."""
_LEAD: Final = (
    "A generation is a whole copy of a read model; readers are answered from the one that serves. Two of the same "
    "position hold the same if their digests are equal. The ledger is the decider's own and is caught up before "
    "anything is decided, so it keeps no time of its own."
)
_BADGES: Final = {BUILDING: Tone.WARNING, KEPT: Tone.PLAIN, FROZEN: Tone.PLAIN}
LEDGER: Final = "ledger"
SHOWN: Final = 64
"""Rows of one table."""


def page(snapshot: Snapshot) -> Page:
    return page_of(
        snapshot.models,
        snapshot.at,
        name="models",
        title="Read models",
        heading="Generations and freshness",
        lead=_LEAD,
        shown=lambda found: (_model(each, found.max_lag, snapshot.at) for each in found.models),
    )


def freshness(each: ModelPartition, max_lag: float, now: int) -> Badge:
    """Whether readers get what was decided a moment ago."""
    if each.position is None:
        return Badge(Tone.UNKNOWN, "empty")
    if each.caught_up_at is None:
        return Badge(Tone.WARNING, f"being filled{_done(each)}")
    age = max(0, now - each.caught_up_at) / 1_000
    if age <= _FRESH_S:
        return Badge(Tone.OK, "fresh")
    if age <= max_lag:
        return Badge(Tone.WARNING, "behind")
    return Badge(Tone.BAD, "too old to be read")


def _done(each: ModelPartition) -> str:
    if not each.log_end or each.position is None:
        return ""
    return f", {min(99, 100 * each.position // each.log_end)} %"


def serving(models: Models, now: int) -> Badge:
    """The least fresh of all that readers are answered from."""
    found = {
        each.name: worst(
            tuple(freshness(one, models.max_lag, now).tone for one in each.partitions if one.role == SERVING)
        )
        for each in models.models
        if each.name != LEDGER
    }
    tone = worst(tuple(found.values()))
    if tone is Tone.OK:
        return Badge(tone, "all fresh")
    names = [name for name, each in found.items() if each is tone]
    said = {Tone.UNKNOWN: "empty", Tone.WARNING: "behind", Tone.BAD: "too old to be read"}[tone]
    return Badge(tone, f"{words.named(names, len(found))} {said}")


def _badge(model: Model, each: ModelPartition, max_lag: float, now: int) -> Badge:
    if each.role != SERVING:
        done = _done(each) if each.role == BUILDING and each.caught_up_at is None else ""
        return Badge(_BADGES.get(each.role, Tone.PLAIN), f"{each.role}{done}")
    return Badge(Tone.PLAIN, "decider's own") if model.name == LEDGER else freshness(each, max_lag, now)


def _model(model: Model, max_lag: float, now: int) -> Folded:
    badges = [_badge(model, each, max_lag, now) for each in model.partitions]
    serves = [badge for each, badge in zip(model.partitions, badges, strict=True) if each.role == SERVING]
    tone = worst(tuple(each.tone for each in serves))
    said = next((each.words for each in serves if each.tone is tone), words.UNKNOWN)
    return Folded(
        id=f"model-{model.name}",
        title=model.name,
        badge=Badge(tone, said),
        facts=_facts(model, now),
        table=_table(model, badges, now),
        open=tone in (Tone.WARNING, Tone.BAD) or any(each.role == BUILDING for each in model.partitions),
    )


def _facts(model: Model, now: int) -> tuple[str, ...]:
    serving = [each for each in model.partitions if each.role == SERVING]
    numbers = sorted({each.generation for each in serving})
    facts = [f"{'generation' if len(numbers) == 1 else 'generations'} {', '.join(map(str, numbers))} in use"]
    others = sorted({(each.generation, each.role) for each in model.partitions if each.role != SERVING})
    facts += [f"{number} {role}" for number, role in others]
    counts = [each.items for each in serving if each.items is not None]
    if counts:
        facts.append(f"{words.number(sum(counts))} items")
    if model.name != LEDGER:
        known = [each.caught_up_at for each in serving]
        oldest = None if None in known else min((each or 0 for each in known), default=None)
        facts.append(f"at its end {words.ago(now, oldest)}")
    return (*facts, f"folds {model.topic}")


def _table(model: Model, badges: list[Badge], now: int) -> Table:
    digests = any(each.digest is not None for each in model.partitions)
    columns = [
        Column("partition"),
        Column("state"),
        Column("generation", right=True),
        Column("position", right=True),
        Column("last at the end", right=True),
    ]
    if digests:
        columns += [Column("items", right=True), Column("digest")]
    rows = [_row(each, badge, now, digests) for each, badge in zip(model.partitions, badges, strict=True)]
    left = len(rows) - SHOWN
    return Table(
        caption=f"Partitions of the read model {model.name}",
        columns=tuple(columns),
        rows=tuple(rows[:SHOWN]),
        empty="No partitions.",
        more=f"{words.many(left, 'more row')}" if left > 0 else "",
    )


def _row(each: ModelPartition, badge: Badge, now: int, digests: bool) -> tuple[Cell, ...]:
    cells = (
        Cell(str(each.partition)),
        Cell(badge.words, badge=badge.tone),
        Cell(str(each.generation), right=True),
        Cell(_figure(each.position), right=True),
        Cell(words.NONE if each.caught_up_at is None else words.ago(now, each.caught_up_at), right=True),
    )
    if not digests:
        return cells
    return (
        *cells,
        Cell(_figure(each.items), right=True),
        Cell(each.digest or words.NONE, code=each.digest is not None),
    )


def _figure(value: int | None) -> str:
    return words.NONE if value is None else words.number(value)
