"""What speaks against a draft whose fields are in order: findings, circumstances, what policy asks of its kind.

`objection` refuses; `doubts` are the reasons for which it waits for a person. Both read what the shell found (a class
of rules and a verdict), never the text, and no finding can let anything through.
"""

from collections.abc import Iterable
from typing import Final

from eunoe.domain.identity import SENSITIVITY_RANK
from eunoe.domain.known import BodyFacts, Refusal
from eunoe.schemas.commands import Draft
from eunoe.schemas.events import Finding, Reason
from eunoe.schemas.ids import Millis
from eunoe.schemas.policy import BY_POLICY, INFLUENCE, Policy
from eunoe.schemas.values import Confirmation, Trust, Verdict

FAILED: Final = "failed"
"""The class of a detector that crashed or overran its time (M62)."""
_REASONS: Final = {each.value: each for each in Reason} | {FAILED: Reason.DETECTOR_FAILED}


def reason_of(finding: Finding) -> Reason:
    """The code of its class; one that only a plug-in knows has the general one."""
    return _REASONS.get(finding.rule, Reason.DETECTED)


def influences(findings: tuple[Finding, ...]) -> bool:
    return any(each.rule in INFLUENCE for each in findings)


def objection(draft: Draft, body: BodyFacts, findings: tuple[Finding, ...], policy: Policy) -> Refusal | None:
    """The first reason to refuse, in a fixed order."""
    return (
        _purpose_sensitivity(draft, policy)
        or _circumstances(draft, policy)
        or _reference(draft, body, policy)
        or _origin(draft, body, policy)
        or _answers(draft, body, policy)
        or _rejected(findings)
    )


def doubts(draft: Draft, findings: tuple[Finding, ...], policy: Policy) -> tuple[Reason, ...]:
    """Why a person has to look at it first; empty where nobody has to."""
    source = policy.sources[draft.source_kind]
    found: list[Reason] = []
    if source.trust is Trust.UNTRUSTED:
        found.append(Reason.UNTRUSTED_SOURCE)
    found += [reason_of(each) for each in findings if each.verdict is Verdict.QUARANTINE or each.rule in INFLUENCE]
    if any(policy.circumstance(each) is Verdict.QUARANTINE for each in draft.circumstances):
        found.append(Reason.CIRCUMSTANCE)
    if source.copies is Verdict.QUARANTINE and not draft.reference:
        found.append(Reason.PREFER_REFERENCE)
    if policy.kinds[draft.kind].confirmed_only and confirmation(draft, policy) is Confirmation.PROPOSED:
        found.append(Reason.CONFIRMATION_NEEDED)
    return tuple(dict.fromkeys(found))


def confirmation(draft: Draft, policy: Policy) -> Confirmation:
    """What it starts as: what its source is worth; what is derived is proposed at most, whoever says it (B45)."""
    return Confirmation.PROPOSED if policy.kinds[draft.kind].derived else policy.sources[draft.source_kind].confirmation


def reviewable_at(reasons: Iterable[str], now: Millis, policy: Policy) -> Millis:
    """When the longest of the waiting periods is over (C15). A code that no policy names waits as long as is usual."""
    rules = policy.review
    named = (each.removeprefix(BY_POLICY) for each in reasons)
    return Millis(now + max((rules.waiting.get(each, rules.usual) for each in named), default=0))


def _purpose_sensitivity(draft: Draft, policy: Policy) -> Refusal | None:
    rank = SENSITIVITY_RANK[draft.sensitivity]
    for name in draft.purposes:
        purpose = policy.purpose(name)
        if purpose is not None and rank > SENSITIVITY_RANK[purpose.max_sensitivity]:
            return Refusal(reason=Reason.PURPOSE_SENSITIVITY, field="purposes")
    return None


def _circumstances(draft: Draft, policy: Policy) -> Refusal | None:
    for each in draft.circumstances:
        if policy.circumstance(each) is Verdict.REJECT:
            return Refusal(reason=Reason.CIRCUMSTANCE, field=f"circumstances.{each.value}")
    return None


def _reference(draft: Draft, body: BodyFacts, policy: Policy) -> Refusal | None:
    if draft.reference:
        return None if body.names_record else Refusal(reason=Reason.NO_PROVENANCE, field="reference")
    if policy.sources[draft.source_kind].copies is Verdict.REJECT:
        return Refusal(reason=Reason.PREFER_REFERENCE, field="reference")
    return None


def _origin(draft: Draft, body: BodyFacts, policy: Policy) -> Refusal | None:
    """What is derived names the events that it was made from (B45)."""
    if policy.kinds[draft.kind].derived and body.event_ids == 0:
        return Refusal(reason=Reason.NO_PROVENANCE, field="event_ids")
    return None


def _answers(draft: Draft, body: BodyFacts, policy: Policy) -> Refusal | None:
    missing = policy.kinds[draft.kind].answers - body.answers
    return Refusal(reason=Reason.UNJUSTIFIED, field=f"answers.{min(missing)}") if missing else None


def _rejected(findings: tuple[Finding, ...]) -> Refusal | None:
    for each in findings:
        if each.verdict is Verdict.REJECT:
            return Refusal(reason=reason_of(each), field="statement", findings=findings)
    return None
