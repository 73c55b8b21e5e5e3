"""What goes wrong on the way to the log, before anybody has decided anything. No error holds content."""

from dataclasses import dataclass
from typing import Final

from eunoe.runtime.errors import CallerFault, WorldFault
from eunoe.runtime.publish import NotSent
from eunoe.runtime.signing import MissingSecret
from eunoe.schemas.ids import Pseudonym, TenantId
from eunoe.schemas.outcomes import Outcome


@dataclass(eq=False)
class CallerError(CallerFault):
    """An argument that no command can carry; nothing was sent. ``problem`` names a rule and repeats no value."""

    field: str
    problem: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}"


class TooLarge(CallerError):
    """A text, list or record above its limit."""

    def __init__(self, field: str, limit: int, found: int) -> None:
        super().__init__(field, f"{found} is above the limit of {limit}")
        self.limit: Final = limit
        self.found: Final = found


@dataclass(eq=False)
class SubjectClosed(CallerFault):
    """The subject was forgotten and not readmitted, as far as the read models have come. Nothing was sent.

    Only a producer without an `OutcomeSource` raises it: one that has one asks the decider (`KeyRefused`).
    """

    tenant: TenantId
    subject: Pseudonym

    def __str__(self) -> str:
        return f"subject {self.subject} of tenant {self.tenant} is forgotten; only ReadmitSubject opens it again"


@dataclass(eq=False)
class KeyRefused(CallerFault):
    """The decider refused the key that the command needs, and so the command: ``outcome`` says why."""

    outcome: Outcome

    def __str__(self) -> str:
        return f"no key was issued: {self.outcome.reason or self.outcome.status}"


@dataclass(eq=False)
class NoKeyYet(WorldFault):
    """A key was asked for and has not come: no worker decides or projects, or the request was not believed."""

    tenant: TenantId
    after_seconds: float

    def __str__(self) -> str:
        return (
            f"no key for tenant {self.tenant} came within {self.after_seconds:g} s: is a worker running (roles decide "
            "and project), and does its policy know this principal's secret?"
        )


__all__ = ["CallerError", "KeyRefused", "MissingSecret", "NoKeyYet", "NotSent", "SubjectClosed", "TooLarge"]
