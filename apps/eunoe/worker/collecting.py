"""When Python looks for cycles: rarely, in a process that makes and drops many values a batch."""

import gc
from typing import Final

_YOUNG_VALUES: Final = 50_000


def collect_rarely() -> None:
    """A batch makes tens of thousands of values that die by reference count; looking through the live ones for cycles
    every 700 allocations had been a third of a decider's CPU (measured, before most values were left out of it).
    """
    gc.freeze()
    gc.set_threshold(_YOUNG_VALUES)
