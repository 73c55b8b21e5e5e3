"""Pages and their sections as HTML. A rendering is made once for all viewers of the same snapshot."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from eunoe.console import words
from eunoe.console.menu import MENU, PAGES
from eunoe.console.snapshot import Snapshot
from eunoe.console.view import Page, Section, Tone

FILES: Final = str(resources.files("eunoe.console"))
SAID: Final = "said"
_GLYPHS: Final = {Tone.OK: "✓", Tone.PLAIN: "·", Tone.UNKNOWN: "?", Tone.WARNING: "!", Tone.BAD: "✕"}


@dataclass(frozen=True, slots=True)
class Rendering:
    """One page of one snapshot. ``fragments``: HTML by section, and `SAID`."""

    snapshot: Snapshot
    page: Page
    fragments: Mapping[str, str]


@dataclass(slots=True)
class Pages:
    """Renders. Keeps the newest rendering of each page, and no other."""

    environment: Environment = field(init=False)
    kept: dict[str, Rendering] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.environment = Environment(
            loader=FileSystemLoader(f"{FILES}/templates"), autoescape=True, undefined=StrictUndefined, auto_reload=False
        )
        self.environment.globals["glyphs"] = _GLYPHS
        self.environment.filters["coded"] = coded

    def render(self, name: str, snapshot: Snapshot) -> Rendering:
        """Raises ``KeyError`` for a page that is none."""
        known = self.kept.get(name)
        if known is None or known.snapshot is not snapshot:
            page = PAGES[name](snapshot)
            fragments = {each.id: self._section(each) for each in page.sections}
            known = self.kept[name] = Rendering(snapshot, page, {**fragments, SAID: escape(announcement(page))})
        return known

    def document(self, rendering: Rendering, *, may_leave: bool) -> str:
        return self.environment.get_template("page.html").render(
            page=rendering.page,
            fragments=rendering.fragments,
            menu=[(name, title) for name, title, _ in MENU],
            at=words.of_day(rendering.snapshot.at),
            version=rendering.snapshot.version,
            may_leave=may_leave,
        )

    def login(self, problem: str = "") -> str:
        return self.environment.get_template("login.html").render(problem=problem)

    def _section(self, section: Section) -> str:
        return self.environment.get_template("section.html").render(section=section).strip()


def coded(text: str) -> Markup:
    """``text`` with what stands between backticks as code, everything escaped."""
    return Markup("").join(
        Markup("<code>{}</code>").format(each) if number % 2 else escape(each)
        for number, each in enumerate(text.split("`"))
    )


def announcement(page: Page) -> str:
    """What is read aloud when it changes: the sections that need a look, without ages."""
    bad = [each.title for each in page.sections if each.state.tone is Tone.BAD]
    warned = [each.title for each in page.sections if each.state.tone is Tone.WARNING]
    said = [f"Out of order: {', '.join(bad)}."] if bad else []
    said += [f"Needs a look: {', '.join(warned)}."] if warned else []
    return " ".join(said) or "All figures are live."
