"""Every page: its path, its name in the menu, and what makes it."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from eunoe.console.snapshot import Snapshot
from eunoe.console.view import Page
from eunoe.console.views import control, erasures, lag, letters, models, overview, refusals, review

MENU: Final = (
    ("overview", "Overview", overview.page),
    ("lag", "Lag", lag.page),
    ("models", "Read models", models.page),
    ("switches", "Switches", control.page),
    ("review", "Review", review.page),
    ("erasures", "Erasures", erasures.page),
    ("refusals", "Refusals", refusals.page),
    ("dead-letters", "Dead letters", letters.page),
)
"""In order. ``overview`` is at the root too."""
PAGES: Final[Mapping[str, Callable[[Snapshot], Page]]] = MappingProxyType({name: make for name, _, make in MENU})
