"""What a page shows, before it is HTML: sections of tiles, tables and one diagram, every state as a tone and words."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from eunoe.console import words
from eunoe.console.snapshot import Part, Problem

T = TypeVar("T")


class Tone(StrEnum):
    """How a state looks; what it is, the words beside it say. From calm to alarming, as `worst` orders them."""

    OK = "ok"
    PLAIN = "plain"
    UNKNOWN = "unknown"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Badge:
    tone: Tone
    words: str


@dataclass(frozen=True, slots=True)
class Cell:
    """``right``: a figure. ``note``: smaller, below."""

    text: str
    badge: Tone | None = None
    right: bool = False
    note: str = ""
    code: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    right: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """``empty``: what is said where there are no rows; ``more``: what is left out."""

    kind: str = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str
    more: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One figure. ``href``: the page that says more; ``stale``: it is an old one."""

    label: str
    figure: str
    note: str = ""
    badge: Badge | None = None
    href: str = ""
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    kind: str = "tiles"
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A box of the flow. ``spark``: points of a line in a box of 100 by 24; ``flow``: what goes on to the next box."""

    name: str
    role: str
    badge: Badge
    facts: tuple[str, ...]
    is_topic: bool = False
    spark: str = ""
    flow: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    kind: str = "flow"
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A table behind a line that says the most of it. ``open``: shown from the start, for it needs looking at."""

    kind: str = "folded"
    id: str
    title: str
    badge: Badge
    facts: tuple[str, ...]
    table: Table
    open: bool


Block = Table | Tiles | Flow | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """``state``: how fresh the figures are, or why they are not. ``stale``: they are old. ``lead``: what they are."""

    id: str
    title: str
    state: Badge
    lead: str = ""
    blocks: tuple[Block, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """``said``: what is read aloud when it changes; it holds no ages, which would be read aloud every second."""

    name: str
    title: str
    sections: tuple[Section, ...]


def worst(tones: tuple[Tone, ...]) -> Tone:
    order = list(Tone)
    return max(tones, key=order.index, default=Tone.UNKNOWN)


def problem_words(problem: Problem, now: int) -> str:
    """``Redis does not answer (for 12 s)``."""
    return f"{problem.who} {problem.what} (for {words.whole_seconds(max(0, now - problem.since) / 1_000)})"


def state_of(part: Part[object], now: int) -> Badge:
    """How fresh a part is."""
    if part.problem is not None:
        old = "no figures yet" if part.taken_at is None else "the figures are from before"
        return Badge(Tone.BAD, f"{problem_words(part.problem, now)}; {old}")
    if part.taken_at is None:
        return Badge(Tone.UNKNOWN, "looking for the first time")
    age = max(0, now - part.taken_at) / 1_000
    if age > 15:
        return Badge(Tone.WARNING, f"looking takes long; figures are from {words.ago(now, part.taken_at)}")
    return Badge(Tone.OK, "live")


def page_of(
    part: Part[T],
    now: int,
    *,
    name: str,
    title: str,
    heading: str,
    lead: str,
    shown: Callable[[T], Iterable[Block]],
) -> Page:
    """A page about one part, in one section: what ``shown`` makes of its last figures, if there ever were any."""
    section = Section(
        id=name,
        title=heading,
        state=state_of(part, now),
        lead=lead,
        blocks=() if part.value is None else tuple(shown(part.value)),
        stale=part.problem is not None,
    )
    return Page(name=name, title=title, sections=(section,))
