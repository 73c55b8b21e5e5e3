"""What may be written: one small rule per requirement on a draft, each with its own reason. A14, and the bad inputs.

A rule answers a `Refusal` or None. `fields` asks those about the draft itself in a fixed order, so that the same draft
is always refused for the same reason. No rule reads the statement: the shell measured it (`BodyFacts`).
"""

import re
from typing import Final

from eunoe.domain.entries import SubjectState
from eunoe.domain.known import BodyFacts, Case, Refusal
from eunoe.domain.memory import MemoryState
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import Millis, is_name, is_uuid
from eunoe.schemas.policy import Limits, Policy

AHEAD_MS: Final = 300_000
"""How far an author's clock may be ahead of the log's: what is said to be observed later than that is refused."""
_PSEUDONYM: Final = re.compile(r"[0-9a-f]{32}")
# Clear fields stay on the log for ever: room for a repository or a model version, none for a sentence or an address.
_LABEL: Final = re.compile(r"[A-Za-z0-9._:/-]{1,128}")


def is_pseudonym(text: str) -> bool:
    """Whether ``text`` is 32 lower-case hex digits."""
    return _PSEUDONYM.fullmatch(text) is not None


def generation_closed(state: SubjectState | None, generation: int) -> bool:
    """Whether a record of ``generation`` counts as forgotten."""
    return state is not None and (generation < state.generation or (generation == state.generation and state.closed))


def open_subjects(case: Case, draft: Draft) -> Refusal | None:
    """Nobody it concerns is forgotten or restricted. Asked before the idempotency key, whose digest dies with them."""
    if generation_closed(case.known.subject, draft.generation):
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="subject")
    if any(state is not None and state.closed for state in case.known.about):
        return Refusal(reason=Reason.SUBJECT_CLOSED, field="about")
    if case.known.subject is not None and case.known.subject.restricted:
        return Refusal(reason=Reason.SUBJECT_RESTRICTED, field="subject")
    if any(state is not None and state.restricted for state in case.known.about):
        return Refusal(reason=Reason.SUBJECT_RESTRICTED, field="about")
    return None


def fitting_key(case: Case, draft: Draft) -> Refusal | None:
    """The key was issued through the log, in this tenant, for this subject and generation; and the body opened."""
    key = case.known.key
    if case.known.tenant is None or case.known.tenant.key_id is None:
        return Refusal(reason=Reason.TENANT_NOT_OPEN, field="tenant")
    if key is None:
        return Refusal(reason=Reason.UNKNOWN_KEY, field="key_id")
    if key.subject != draft.subject or key.generation != draft.generation:
        return Refusal(reason=Reason.WRONG_KEY, field="key_id")
    if case.opened.failure is not None:
        return Refusal(reason=case.opened.failure, field="body")
    return None


def fields(draft: Draft, body: BodyFacts, policy: Policy) -> Refusal | None:
    """The first objection to the draft's own fields."""
    limits = policy.limits
    return (
        _ids(draft)
        or _purposes(draft, policy)
        or _surfaces(draft, policy)
        or _about(draft, limits)
        or _derived_from(draft, limits)
        or _labels(draft)
        or _kind(draft, policy)
        or _confidence(draft)
        or _validity(draft)
        or _statement(body, limits)
        or _provenance(body, limits)
    )


def observed(draft: Draft, now: Millis) -> Refusal | None:
    """Nobody has observed what is still to come: the newer statement wins, so such a one would win for ever."""
    if draft.observed_at is not None and draft.observed_at > now + AHEAD_MS:
        return Refusal(reason=Reason.OBSERVED_IN_FUTURE, field="observed_at")
    return None


def same_scope(draft: Draft, old: MemoryState) -> Refusal | None:
    """A correction stays within tenant, agent, purposes (A31), visibility, surfaces and subject.

    The tenant is part of every ledger key. Purposes must be the same set: with fewer, a purpose would lose what it
    knew without a word; with more, a fact learned for one would surface in another (A8).
    """
    if old.agent != draft.agent:
        return Refusal(reason=Reason.OTHER_SCOPE, field="agent", memory_id=old.memory_id)
    if old.subject != draft.subject or old.generation != draft.generation:
        return Refusal(reason=Reason.OTHER_SCOPE, field="subject", memory_id=old.memory_id)
    if set(old.purposes) != set(draft.purposes):
        return Refusal(reason=Reason.OTHER_SCOPE, field="purposes", memory_id=old.memory_id)
    if old.visibility is not draft.visibility:
        return Refusal(reason=Reason.OTHER_SCOPE, field="visibility", memory_id=old.memory_id)
    if set(old.surfaces) != set(draft.surfaces):
        return Refusal(reason=Reason.OTHER_SCOPE, field="surfaces", memory_id=old.memory_id)
    return None


def _invalid(field: str) -> Refusal:
    return Refusal(reason=Reason.INVALID_FIELD, field=field)


def _ids(draft: Draft) -> Refusal | None:
    if not is_uuid(draft.memory_id):
        return _invalid("memory_id")
    if not is_name(draft.agent):
        return _invalid("agent")
    if not is_pseudonym(draft.subject):
        return _invalid("subject")
    return None


def _purposes(draft: Draft, policy: Policy) -> Refusal | None:
    purposes = draft.purposes
    if not purposes:
        return Refusal(reason=Reason.UNKNOWN_PURPOSE, field="purposes")
    if len(purposes) > policy.limits.purposes:
        return Refusal(reason=Reason.TOO_LONG, field="purposes")
    for purpose in purposes:
        if policy.purpose(purpose) is None:
            return Refusal(reason=Reason.UNKNOWN_PURPOSE, field="purposes")
    return _invalid("purposes") if len(set(purposes)) != len(purposes) else None


def _surfaces(draft: Draft, policy: Policy) -> Refusal | None:
    surfaces = draft.surfaces
    if len(surfaces) > policy.limits.surfaces:
        return Refusal(reason=Reason.TOO_LONG, field="surfaces")
    if len(set(surfaces)) != len(surfaces) or not all(map(is_name, surfaces)):
        return _invalid("surfaces")
    if policy.surfaces is not None and not policy.surfaces.issuperset(surfaces):
        return Refusal(reason=Reason.UNKNOWN_SURFACE, field="surfaces")
    if draft.producer_surface is not None and not is_name(draft.producer_surface):
        return _invalid("producer_surface")
    return None


def _about(draft: Draft, limits: Limits) -> Refusal | None:
    about = draft.about
    if not about:
        return None
    if len(about) > limits.about:
        return Refusal(reason=Reason.TOO_LONG, field="about")
    if len({draft.subject, *about}) != len(about) + 1 or not all(map(is_pseudonym, about)):
        return _invalid("about")
    return None


def _derived_from(draft: Draft, limits: Limits) -> Refusal | None:
    refs = draft.derived_from
    if not refs:
        return None
    if len(refs) > limits.derived_from:
        return Refusal(reason=Reason.TOO_LONG, field="derived_from")
    ids = {draft.memory_id, *(each.memory_id for each in refs)}
    if len(ids) != len(refs) + 1 or not all(is_uuid(each.memory_id) and each.version >= 1 for each in refs):
        return _invalid("derived_from")
    return None


def _labels(draft: Draft) -> Refusal | None:
    if draft.scope is not None and _LABEL.fullmatch(draft.scope) is None:
        return _invalid("scope")
    if draft.retention is not None and _LABEL.fullmatch(draft.retention) is None:
        return _invalid("retention")
    if draft.embedding_version is not None and _LABEL.fullmatch(draft.embedding_version) is None:
        return _invalid("embedding_version")
    return None


def _kind(draft: Draft, policy: Policy) -> Refusal | None:
    rule = policy.kinds.get(draft.kind)
    if rule is None:
        return Refusal(reason=Reason.UNKNOWN_KIND, field="kind")
    return None if draft.memory_class in rule.classes else Refusal(reason=Reason.CLASS_NOT_ALLOWED, field="class")


def _confidence(draft: Draft) -> Refusal | None:
    # Written so that NaN, which fails every comparison, is refused too (M68).
    return None if 0.0 <= draft.confidence <= 1.0 else _invalid("confidence")


def _validity(draft: Draft) -> Refusal | None:
    if draft.valid_from is not None and draft.valid_until is not None and draft.valid_until <= draft.valid_from:
        return _invalid("valid_until")
    return None


def _statement(body: BodyFacts, limits: Limits) -> Refusal | None:
    if body.blank or body.statement_chars == 0:
        return Refusal(reason=Reason.EMPTY_STATEMENT, field="statement")
    if body.statement_chars > limits.statement_chars:
        return Refusal(reason=Reason.TOO_LONG, field="statement")
    if body.body_bytes > limits.body_bytes:
        return Refusal(reason=Reason.TOO_LONG, field="body")
    return None


def _provenance(body: BodyFacts, limits: Limits) -> Refusal | None:
    if not body.has_provenance:
        return Refusal(reason=Reason.NO_PROVENANCE, field="source")
    if body.event_ids > limits.event_ids:
        return Refusal(reason=Reason.TOO_LONG, field="event_ids")
    return None
