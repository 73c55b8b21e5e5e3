"""Not sending what the decider would refuse: the policy's limits by the minute, kept where writing starts."""

from collections import Counter
from dataclasses import dataclass

from eunoe.runtime.errors import CallerFault
from eunoe.schemas.ids import Millis, TenantId
from eunoe.schemas.policy import RATE_WINDOW_MS, RateRules


@dataclass(eq=False)
class TooFast(CallerFault):
    """As much was written in this tenant in this minute as the policy lets this principal. Nothing was sent; the same
    can be written after ``retry_after`` ms."""

    tenant: TenantId
    retry_after: int

    retryable = True

    def __str__(self) -> str:
        return (
            f"the policy's limit by the minute is reached in tenant {self.tenant} (rate_limited): "
            f"try again in {self.retry_after / 1_000:.1f} s"
        )


class Pace:
    """Of one principal. It knows only what this process wrote: the decider counts what all do.

    Without it a command over the limit would still be refused, but after it had waited its turn before everybody
    else's, and each refusal stays on the log for ever.
    """

    def __init__(self) -> None:
        self._window = 0
        self._written: Counter[TenantId] = Counter()

    def take(self, tenant: TenantId, rules: RateRules, now: Millis) -> None:
        """One more is written. Raises `TooFast`."""
        limits = [each for each in (rules.per_minute, rules.tenant_per_minute) if each is not None]
        if not limits:
            return
        window = now // RATE_WINDOW_MS
        if window != self._window:
            self._window = window
            self._written.clear()
        if self._written[tenant] >= min(limits):
            raise TooFast(tenant, RATE_WINDOW_MS - now % RATE_WINDOW_MS)
        self._written[tenant] += 1
