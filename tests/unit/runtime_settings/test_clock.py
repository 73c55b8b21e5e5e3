import time

from eunoe.runtime.clock import Clock, ManualClock, SystemClock
from eunoe.schemas.ids import Millis


def test_the_manual_clock_goes_on_only_when_told() -> None:
    clock = ManualClock(Millis(1_000))
    assert clock.now() == clock.now() == 1_000
    clock.advance(500)
    clock.advance(-700)
    assert clock.now() == 800
    clock.set(Millis(5))
    assert clock.now() == 5


def test_the_system_clock_is_the_wall_clock_in_milliseconds() -> None:
    clock: Clock = SystemClock()
    before = time.time() * 1_000
    assert before - 1 <= clock.now() <= time.time() * 1_000
