"""What the doctor looked at and what it found: each finding says what to do."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``where``: a topic, a partition, a read model. ``what`` names ids at most, never content or a person."""

    where: str
    what: str
    todo: str

    @property
    def document(self) -> dict[str, Any]:
        return {"where": self.where, "what": self.what, "do": self.todo}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One check. ``examined``: how many ``things`` it looked at: a check that saw nothing proves nothing."""

    name: str
    examined: int
    things: str
    findings: tuple[Finding, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        return {
            "check": self.name,
            "examined": self.examined,
            "things": self.things,
            "findings": [each.document for each in self.findings],
        }


def some(names: Iterable[object]) -> str:
    """The first few, and how many more there are."""
    ordered = sorted(map(str, names))
    more = len(ordered) - _SHOWN
    return ", ".join(ordered[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
