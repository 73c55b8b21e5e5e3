"""What goes wrong on the way to the log, before anybody has decided anything. No error holds content."""

from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault, WorldFault
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.outcomes import Outcome


@dataclass(eq=False)
class TooLarge(CallerFault):
    """A text or record above its limit; nothing was sent."""

    field: str
    limit: int
    found: int

    def __str__(self) -> str:
        return f"{self.field}: {self.found} is above the limit of {self.limit}"


@dataclass(eq=False)
class NoSecret(CallerFault):
    """The producer was made without any secret to sign with."""

    principal: PrincipalName

    def __str__(self) -> str:
        return f"{self.principal} has no secret to sign with"


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
            f"no key for tenant {self.tenant} came within {self.after_seconds:g} s: is a worker running, and does it "
            "know this principal's secret?"
        )


@dataclass(eq=False)
class NotSent(WorldFault):
    """Kafka did not take the record in time. It may still be there: sending again with the same command id is safe."""

    cause: str

    def __str__(self) -> str:
        return f"Kafka did not confirm the record ({self.cause}); nothing is reported as written"
