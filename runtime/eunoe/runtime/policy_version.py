"""Which policy may follow the one in force. Every event names the version it was judged by: one number, one file."""

from eunoe.runtime.control_state import ControlState
from eunoe.runtime.errors import PolicyNotNewer
from eunoe.schemas.policy import Policy


def would_change(state: ControlState, new: Policy) -> bool:
    """Whether publishing ``new`` would change what is in force: not where it is the same file.

    Raises `PolicyNotNewer` unless its version is above that in force.
    """
    current = state.policy
    if current is None:
        return True
    if current.hash == new.hash:
        return False
    if new.version <= current.version:
        raise PolicyNotNewer(new.version, current.version)
    return True
