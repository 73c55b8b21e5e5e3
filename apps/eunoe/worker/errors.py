"""What keeps a worker from starting. Blame: whoever started it."""

from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault


@dataclass(eq=False)
class RoleUnavailable(CallerFault):
    """A role that this version names and does not have."""

    role: str
    why: str

    def __str__(self) -> str:
        return f"role {self.role}: {self.why}"


@dataclass(eq=False)
class BadAcceptance(CallerFault):
    """What follows ``--accept-bad`` is not ``PARTITION:FIRST-LAST``."""

    text: str

    def __str__(self) -> str:
        return f"--accept-bad {self.text}: must be PARTITION:FIRST-LAST, offsets as the error message names them"
