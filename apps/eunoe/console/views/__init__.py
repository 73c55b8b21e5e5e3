"""One module a page: pure functions from a snapshot to what the page shows."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from eunoe.console.snapshot import Snapshot
from eunoe.console.view import Page
from eunoe.console.views import control, erasures, lag, letters, models, overview, refusals, review

PAGES: Final[Mapping[str, Callable[[Snapshot], Page]]] = MappingProxyType(
    {
        "overview": overview.page,
        "lag": lag.page,
        "models": models.page,
        "switches": control.page,
        "review": review.page,
        "erasures": erasures.page,
        "refusals": refusals.page,
        "dead-letters": letters.page,
    }
)
"""By their path, in the order of the menu; ``overview`` is at the root too."""
