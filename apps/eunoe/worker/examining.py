"""What a worker looks at a text with: every detector that is installed, made once per process."""

from functools import cache

from eunoe.detectors.bodies import BodyExaminer
from eunoe.detectors.detectors import load_detectors
from eunoe.processors.opening import Examiner


@cache
def examiner() -> Examiner:
    """Raises `eunoe.detectors.detectors.BadDetector`: a worker does not start without a detector it should have."""
    return BodyExaminer(load_detectors())
