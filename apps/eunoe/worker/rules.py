"""The decider's rules, from ``memory-control`` and the secrets folder: one snapshot per state of the topic."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eunoe.runtime.control import ControlFollower
from eunoe.runtime.control_state import ControlState
from eunoe.runtime.errors import CallerFault
from eunoe.runtime.principals import PolicyVerifiers
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import Offset, TenantId
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Writing
from eunoe.worker.foundation import Foundation
from eunoe.worker.health import Failing, Item


class NoPolicy(CallerFault):
    """Nothing can be judged yet."""

    def __str__(self) -> str:
        return "no policy is in force; publish one with `eunoe policy apply FILE`"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one batch is judged by (`eunoe.processors.decider.Rules`)."""

    policy: Policy
    verifiers: PolicyVerifiers
    state: ControlState

    @property
    def offset(self) -> Offset:
        return self.state.offset

    def writing(self, tenant: TenantId, purposes: Sequence[str]) -> Writing:
        return self.state.writing(tenant, purposes)

    def reading(self, tenant: TenantId, purposes: Sequence[str]) -> bool:
        """Whether what serves these purposes may be read for one of them."""
        if not purposes:
            return self.state.reads_allowed(tenant)
        return any(self.state.reads_allowed(tenant, each) for each in purposes)


class ControlRules:
    """A `eunoe.processors.decider.RuleSource`. Secrets are read again when the policy changes, and only then."""

    def __init__(self, follower: ControlFollower, settings: Settings) -> None:
        self._follower = follower
        self._settings = settings
        self._snapshot: Snapshot | None = None

    @property
    def offset(self) -> Offset:
        """How far ``memory-control`` has been read."""
        return self._follower.state.offset

    def current(self) -> Snapshot:
        """The rules in force now. Raises `NoPolicy`."""
        state, last = self._follower.state, self._snapshot
        if last is not None and last.state is state:
            return last
        if state.policy is None:
            raise NoPolicy
        if last is not None and last.policy is state.policy:
            verifiers = last.verifiers
        else:
            verifiers = PolicyVerifiers(state.policy, self._settings.secrets)
        self._snapshot = Snapshot(state.policy, verifiers, state)
        return self._snapshot

    def failing(self) -> Iterator[Failing]:
        """No policy; secrets that cannot be read, so that their principals' commands end as dead letters."""
        try:
            snapshot = self.current()
        except NoPolicy as none:
            yield Failing(Item.CONTROL, "control", str(none))
        else:
            for missing in snapshot.verifiers.missing:
                yield Failing(Item.CONTROL, "control", f"a secret is missing: {missing}")

    async def ended(self) -> None:
        """Returns never; raises what ended the following of ``memory-control``."""
        await self._follower.ended()


def rules_of(foundation: Foundation) -> ControlRules:
    """The rules, read to the end of ``memory-control`` as it was when the foundation was opened, and followed."""
    return ControlRules(foundation.control, foundation.settings)
