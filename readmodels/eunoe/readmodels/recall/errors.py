"""What goes wrong in `recall`, split by who acts. No error holds a statement, a query or a subject's name."""

from dataclasses import dataclass

from eunoe.readmodels.errors import ProjectionHalted, ReadModelError
from eunoe.runtime.errors import CallerFault, WorldFault
from eunoe.schemas.ids import KeyId, Partition, TenantId


class RecallError(ReadModelError):
    """Base of this area."""


@dataclass(eq=False)
class BadScope(RecallError, CallerFault, ValueError):
    """A field of the read scope or of the query is no value for it. Blame: caller."""

    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


@dataclass(eq=False)
class ReadRefused(RecallError, CallerFault):
    """The gate does not let this principal read here now. ``reason`` is a code. Blame: caller.

    ``fallback``: where memory is switched off, what the policy says an agent does without it for this purpose (B70).
    """

    reason: str
    tenant: TenantId
    fallback: str | None = None

    def __str__(self) -> str:
        without = "" if self.fallback is None else f"; without memory: {self.fallback}"
        return f"reading tenant {self.tenant} is refused: {self.reason}{without}"


@dataclass(eq=False)
class TooStale(RecallError, WorldFault):
    """The read model lags more than reads may (an erasure could be missing from it). Blame: world.

    ``lag`` in ms; None where no projector has said for how long it has been at the end of the log.
    """

    partition: Partition
    lag: int | None
    allowed: int

    def __str__(self) -> str:
        lag = "by an unknown time" if self.lag is None else f"by {self.lag} ms"
        return f"recall lags {lag} on partition {self.partition}; {self.allowed} ms are allowed"


@dataclass(eq=False)
class AnalyserChanged(RecallError, ProjectionHalted):
    """The generation was built by other text rules than this process's. What to do: rebuild `recall`. Blame: log."""

    tenant: TenantId
    built_by: str
    here: str

    def __str__(self) -> str:
        return f"recall of tenant {self.tenant} was built by {self.built_by}, this process has {self.here}: rebuild it"


@dataclass(eq=False)
class KeyStillUnknown(RecallError, ProjectionHalted):
    """A record's key is unknown although keys and subjects have passed it. It is not taken for erased. Blame: log."""

    tenant: TenantId
    key_id: KeyId | None

    def __str__(self) -> str:
        return (
            f"no key {self.key_id or '(tenant key)'} of tenant {self.tenant} is known, and none says it was destroyed"
        )


@dataclass(eq=False)
class UnreadableStored(RecallError, ProjectionHalted):
    """What Redis holds under one of this model's keys is not what was written. Blame: world; rebuild."""

    what: str

    def __str__(self) -> str:
        return f"recall holds an unreadable {self.what}"
