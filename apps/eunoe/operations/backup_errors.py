"""Why a restored backup does not count as one that could take the place of the live installation."""

from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault


@dataclass(eq=False)
class BackupUseless(CallerFault):
    """What was restored is not, or not wholly, what the installation needs. Nothing was changed."""

    problem: str

    def __str__(self) -> str:
        return f"{self.problem}; take a backup of all topics now, restore it elsewhere, and try that one"
