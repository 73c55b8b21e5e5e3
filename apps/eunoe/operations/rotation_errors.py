"""Why a rotation of the key-encryption key does not go on; each says what to do."""

from collections.abc import Sequence
from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault, WorldFault


@dataclass(eq=False)
class RotationRefused(CallerFault):
    """Nothing was changed. ``problem`` says what is in the way."""

    problem: str

    def __str__(self) -> str:
        return self.problem


@dataclass(eq=False)
class HoldersMissing(CallerFault):
    """Processes that hold keys and do not (yet) do what the next step needs. ``why``: by each of them."""

    why: Sequence[str]

    def __str__(self) -> str:
        return (
            "; ".join(self.why)
            + ". Restart those that run with other settings; name those that are dead for good with --gone"
        )


@dataclass(eq=False)
class RotationWaits(WorldFault):
    """Something did not come in time. Called again, it goes on where it is."""

    problem: str

    def __str__(self) -> str:
        return f"{self.problem}; call `eunoe keys rotate` again to go on"
