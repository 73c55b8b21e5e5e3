"""Who reads what for which purpose: the required argument of every read, and the gate it passes first."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Protocol

from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.keys import Grades
from eunoe.readmodels.tenants import TenantStanding
from eunoe.schemas.ids import AgentId, Millis, PrincipalName, TenantId, is_name
from eunoe.schemas.values import MemoryClass, Sensitivity, Trust

_LEVELS: Final = tuple(Sensitivity)
_TRUSTS: Final = tuple(Trust)
_DIGITS: Final = {None: "0", "sensitivity": "1", "class": "2", "trust": "3", "scope": "4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScope:
    """Hard limits of a read: a record outside one of them is never scored. None means: not limited by this.

    A search reads the agent's own records and the shared ones of its tenant, of this purpose only. ``subject`` is the
    plain name (of the record's own subject, not of whom it is about); it is turned into its pseudonym here and never
    stored. ``surface`` is where the answer will be shown: a record that lists surfaces is given to those alone.
    ``max_sensitivity`` narrows what the policy allows the principal, and never widens it. ``max_age`` in ms.
    """

    tenant: TenantId
    agent: AgentId
    purpose: str
    principal: PrincipalName
    subject: str | None = None
    surface: str | None = None
    classes: frozenset[MemoryClass] | None = None
    trust_min: Trust = Trust.UNTRUSTED
    max_sensitivity: Sensitivity | None = None
    max_age: int | None = None
    require_provenance: bool = False

    def __post_init__(self) -> None:
        for field in ("tenant", "agent", "purpose"):
            if not is_name(getattr(self, field)):
                raise BadScope(field, "not a name")
        if self.surface is not None and not is_name(self.surface):
            raise BadScope("surface", "not a name")
        if self.subject is not None and not self.subject:
            raise BadScope("subject", "is empty; None means any subject")
        if self.max_age is not None and self.max_age < 0:
            raise BadScope("max_age", "is negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What the policy lets the principal read, and which one said so.

    ``control_offset``: how far ``memory-control`` was read to say so.
    """

    max_sensitivity: Sensitivity
    control_offset: int
    policy_version: int = 0
    policy_hash: str = ""


class ReadGate(Protocol):
    """Filled by `apps` from the control follower: policy and switches as they are now, at wall-clock time."""

    def admit(self, scope: ReadScope) -> Admission:
        """Raises `ReadRefused` where the principal may not read the tenant, the purpose is unknown or reads are off."""
        ...

    def enter(self, tenant: TenantId, standing: TenantStanding) -> None:
        """Raises `ReadRefused` where the tenant is forgotten or about to be, or what the principal may read is another
        tenant that has, or had, the same name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The hard filters of one read, worked out: the same for a search, an exact read, and the check after opening.

    ``cleared`` is what the rules allow: what is above is outside the scope, and no count tells of it. The caller's own,
    narrower ``max_sensitivity`` is a filter like the others.

    ``at`` is the reference time of expiry and validity; what was not known until ``known_until`` is left out.
    """

    at: Millis
    known_until: Millis
    known_since: Millis
    cleared: Sensitivity
    max_sensitivity: Sensitivity
    classes: frozenset[MemoryClass] | None
    trust_min: Trust
    require_provenance: bool
    surface: str | None

    @staticmethod
    def of(scope: ReadScope, admission: Admission, now: Millis, as_of: Millis | None) -> "Filters":
        at = now if as_of is None else as_of
        return Filters(
            at=at,
            # A record's time is the log's; a reader's clock may be behind it, which must hide nothing.
            known_until=Millis(1 << 47) if as_of is None else as_of,
            known_since=Millis(0 if scope.max_age is None else max(0, at - scope.max_age)),
            cleared=admission.max_sensitivity,
            max_sensitivity=_allowed(scope, admission),
            classes=scope.classes,
            trust_min=scope.trust_min,
            require_provenance=scope.require_provenance,
            surface=scope.surface,
        )

    def under(self, scope: ReadScope, admission: Admission) -> "Filters":
        """The same read under other rules."""
        return replace(self, cleared=admission.max_sensitivity, max_sensitivity=_allowed(scope, admission))

    def refusal_of_grades(self, grades: Grades) -> str | None:
        """The first filter the grades fail, or None."""
        return _refusal(grades, self.cleared, self.max_sensitivity, self.classes, self.trust_min)

    @property
    def mask(self) -> str:
        """A digit for each value of the grades byte: 0 passes, 4 is outside the scope, else which filter refuses
        (order of REASONS in Lua)."""
        return _mask(self.cleared, self.max_sensitivity, self.classes, self.trust_min)


def _allowed(scope: ReadScope, admission: Admission) -> Sensitivity:
    if scope.max_sensitivity is None:
        return admission.max_sensitivity
    return min(admission.max_sensitivity, scope.max_sensitivity, key=_LEVELS.index)


def _refusal(
    grades: Grades,
    cleared: Sensitivity,
    max_sensitivity: Sensitivity,
    classes: frozenset[MemoryClass] | None,
    trust_min: Trust,
) -> str | None:
    if _LEVELS.index(grades.sensitivity) > _LEVELS.index(cleared):
        return "scope"
    if _LEVELS.index(grades.sensitivity) > _LEVELS.index(max_sensitivity):
        return "sensitivity"
    if classes is not None and grades.memory_class not in classes:
        return "class"
    if _TRUSTS.index(grades.trust) < _TRUSTS.index(trust_min):
        return "trust"
    return None


@lru_cache(maxsize=1_024)
def _mask(
    cleared: Sensitivity, max_sensitivity: Sensitivity, classes: frozenset[MemoryClass] | None, trust_min: Trust
) -> str:
    # Kept: working it out takes as long as a small search, and callers ask with few different limits.
    return "".join(
        "3" if grades is None else _DIGITS[_refusal(grades, cleared, max_sensitivity, classes, trust_min)]
        for grades in map(Grades.unpack, range(256))
    )
