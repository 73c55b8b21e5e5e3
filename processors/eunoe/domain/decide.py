"""`decide`: one command, what is known, the time and the policy in; exactly one fact out. No I/O, clock or chance."""

from eunoe.domain.known import Known, Opened
from eunoe.schemas.events import Fact
from eunoe.schemas.ids import Millis
from eunoe.schemas.policy import Policy


def decide(opened: Opened, known: Known, now: Millis, policy: Policy, writes_allowed: bool) -> tuple[Fact, ...]:
    """The outcome of the command: one fact, or none where this command id has its outcome already."""
    raise NotImplementedError
