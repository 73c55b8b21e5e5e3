"""All that is looked at."""

from eunoe.console.from_control import ControlSource
from eunoe.console.from_lag import LagSource
from eunoe.console.from_log import LettersSource, RefusalsSource, ThroughputSource
from eunoe.console.from_models import ModelsSource
from eunoe.console.from_redis import ErasuresSource, ReviewSource, StoreSource
from eunoe.console.gatherer import Source
from eunoe.console.known_log import KnownLog
from eunoe.runtime.settings import Settings


def all_sources(settings: Settings) -> tuple[Source, ...]:
    """One a part, the shortest first."""
    known = KnownLog(settings)
    return (
        ThroughputSource(settings, known),
        StoreSource(settings, known),
        ControlSource(settings, known),
        ModelsSource(settings, known),
        LagSource(settings, known),
        ReviewSource(settings, known),
        ErasuresSource(settings, known),
        RefusalsSource(settings, known),
        LettersSource(settings, known),
    )
