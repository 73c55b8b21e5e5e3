"""A stored record held against a policy that came later: would it still be let in (B38)?

The same rules as for a draft, in their order, asked about what is stored. What a person decided stays decided: a reason
to wait that was on the item when a reviewer let it in is no reason to wait again, and a new one is.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from eunoe.domain import admission, judging
from eunoe.domain.identity import claimed
from eunoe.domain.known import BodyFacts, Refusal
from eunoe.domain.memory import MemoryState
from eunoe.domain.retention import expiry
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import Finding, Reason
from eunoe.schemas.ids import Millis
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Confirmation, Lifecycle, Review, Trust, Verdict

TRUST_LOWERED: Final = "trust_lowered"
"""A code beside those of `Reason`: the policy trusts its source less than the record is trusted."""
_RANK: Final = {each: rank for rank, each in enumerate((Trust.UNTRUSTED, Trust.ASSERTED, Trust.VERIFIED))}


class Standing(StrEnum):
    """``allowed``; ``waits``: in use, and a person would have to look at it first; ``refused``: not let in at all."""

    ALLOWED = "allowed"
    WAITS = "waits"
    REFUSED = "refused"


class Stored(Struct, frozen=True, kw_only=True, gc=False):
    """A record that is active or quarantined, as the log has it.

    ``decided_at``: when it was let in. ``reasons``: why it was quarantined, if it was. ``body``: None where the text
    cannot be opened any more; then only what is in the clear is judged, and ``findings`` is empty.
    """

    draft: Draft
    state: MemoryState
    decided_at: Millis
    reasons: tuple[Reason, ...] = ()
    body: BodyFacts | None = None
    findings: tuple[Finding, ...] = ()


class Judgement(Struct, frozen=True, kw_only=True, gc=False):
    """``reasons``: codes, in the order in which the rules are asked. ``field``: of a refusal."""

    standing: Standing
    reasons: tuple[str, ...] = ()
    field: str | None = None


def judged(stored: Stored, policy: Policy) -> Judgement:
    """What ``policy`` would make of it now."""
    refusal = _refusal(stored, policy)
    if refusal is not None:
        return Judgement(standing=Standing.REFUSED, reasons=(refusal.reason.value,), field=refusal.field)
    if stored.state.lifecycle is Lifecycle.QUARANTINED:
        return Judgement(standing=Standing.ALLOWED)
    over = _over(stored)
    reasons = [each.value for each in judging.doubts(stored.draft, stored.findings, policy) if each not in over]
    # Nothing is cut out of what is stored: a person says what becomes of it.
    reasons += [judging.reason_of(each).value for each in stored.findings if each.verdict is Verdict.REDACT]
    if stored.state.review is not Review.DECIDED and _lowered(stored, policy):
        reasons.append(TRUST_LOWERED)
    return Judgement(standing=Standing.WAITS, reasons=tuple(reasons)) if reasons else _ALLOWED


_ALLOWED: Final = Judgement(standing=Standing.ALLOWED)


def _refusal(stored: Stored, policy: Policy) -> Refusal | None:
    draft, body = stored.draft, stored.body
    author = policy.principals.get(stored.state.author)
    # An author who left the policy said what they might say then; what they wrote is judged by all other rules.
    objection = _source(draft, policy) if author is None else claimed(draft, author, policy)
    facts = _FITTING if body is None else body
    objection = objection or admission.fields(draft, facts, policy) or _lifetime(stored, policy)
    if objection is not None:
        return objection
    if body is None:
        facts = replace(facts, answers=policy.kinds[draft.kind].answers)
    return judging.objection(draft, facts, stored.findings, policy)


_FITTING: Final = BodyFacts(
    statement_chars=1, body_bytes=1, event_ids=1, has_provenance=True, blank=False, names_record=True
)
"""Stands in for a body that cannot be opened: nothing is held against what nobody can read."""


def _source(draft: Draft, policy: Policy) -> Refusal | None:
    if draft.source_kind in policy.sources:
        return None
    return Refusal(reason=Reason.SOURCE_NOT_ALLOWED, field="source_kind")


def _lifetime(stored: Stored, policy: Policy) -> Refusal | None:
    """Whether it lives longer than its kind may, from when it was let in. Clocks that disagreed then are no matter."""
    rule = policy.kinds[stored.draft.kind]
    refusal = expiry(stored.draft, rule, stored.decided_at, policy.expiry_tolerance)
    return refusal if refusal is not None and refusal.reason is Reason.EXPIRY_TOO_FAR else None


def _over(stored: Stored) -> frozenset[Reason]:
    """The reasons to wait that somebody has answered."""
    answered = set(stored.reasons) if stored.state.review is Review.DECIDED else set()
    if stored.state.confirmation is Confirmation.CONFIRMED:
        answered.add(Reason.CONFIRMATION_NEEDED)
    return frozenset(answered)


def _lowered(stored: Stored, policy: Policy) -> bool:
    return _RANK[policy.sources[stored.draft.source_kind].trust] < _RANK[stored.state.trust]
