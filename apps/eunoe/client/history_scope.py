"""Who may learn what happened to a record: whoever may read it, and those who review or operate. Nobody else even
learns that it is there."""

from collections.abc import Mapping
from typing import Final

from eunoe.readmodels.history import SUPERSEDED, WITHDRAWN
from eunoe.readmodels.history_reader import Entry, History
from eunoe.readmodels.recall.errors import BadScope
from eunoe.readmodels.recall.scope import Admission, ReadScope
from eunoe.readmodels.subjects import SubjectsReader
from eunoe.schemas.events import MemoryExpired, MemoryRetracted, SubjectForgotten
from eunoe.schemas.ids import Millis, TenantId
from eunoe.schemas.policy import PrincipalRule
from eunoe.schemas.values import Action, Sensitivity

_LEVELS: Final = tuple(Sensitivity)
_ENDS: Final[Mapping[str, str]] = {
    SUPERSEDED: "superseded",
    WITHDRAWN: "withdrawn",
    MemoryRetracted.__name__: "retracted",
    MemoryExpired.__name__: "expired",
}
"""How a record that once was in use ended, as `why` says it to whoever could have read it."""


def sees_all(rule: PrincipalRule, tenant: TenantId) -> bool:
    """Whether this principal looks at records whatever their scope: to review, or to operate."""
    return rule.may(Action.REVIEW, tenant) or rule.may(Action.OPERATE, tenant)


def named_scope(agent: str | None, purpose: str | None) -> tuple[str, str]:
    """Both. Raises `BadScope` where one is missing: whose memory, and what for, must be said (C22)."""
    for field, value in (("agent", agent), ("purpose", purpose)):
        if value is None:
            raise BadScope(field, "must be given by whoever may neither review nor operate")
    assert agent is not None
    assert purpose is not None
    return agent, purpose


async def is_readable(history: History, scope: ReadScope, admission: Admission, subjects: SubjectsReader) -> bool:
    """Whether this scope could read the record while it was in use, and still may know of its people."""
    if not history.entries or (place := history.entries[0].place) is None:
        return False
    if scope.purpose not in place.purposes or not (place.shared or place.agent == scope.agent):
        return False
    if _LEVELS.index(place.sensitivity) > _LEVELS.index(admission.max_sensitivity):
        return False
    if any(each.kind == SubjectForgotten.__name__ for each in history.entries):
        return False
    people = {each.subject for entry in history.entries for each in entry.subjects}
    return not await subjects.restricted(scope.tenant, *people)


def until(history: History, as_of: Millis | None) -> History:
    """What of it was known then."""
    entries = tuple(each for each in history.entries if as_of is None or each.decided_at <= as_of)
    return History(memory_id=history.memory_id, entries=entries, position=history.position)


def end_of(entries: tuple[Entry, ...]) -> str | None:
    """How it ended; None where it did not, or was never in use."""
    return _ENDS.get(entries[-1].kind) if entries else None
