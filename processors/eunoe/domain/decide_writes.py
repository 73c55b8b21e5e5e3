"""Remember and correct: what becomes of a draft.

First the rules about who asks and about the fields, then `judging` (what speaks against it), then `conflict` (what it
contradicts). A draft that met every rule is born active, quarantined, or, where memory only observes, recorded as a
candidate.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from eunoe.domain import admission, conflict, judging, lineage, retention
from eunoe.domain.addressed import erased
from eunoe.domain.identity import cleared, owner, repeated, source_allowed, writing_gate
from eunoe.domain.known import Case, Refusal
from eunoe.domain.memory import MemoryState, Step, allowed
from eunoe.domain.rates import within_rate
from eunoe.schemas.commands import CorrectMemory, Draft, RememberMemory
from eunoe.schemas.events import (
    CandidateObserved,
    ConflictRef,
    Fact,
    MemoryAccepted,
    MemoryQuarantined,
    Reason,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import MemoryId
from eunoe.schemas.values import Action, Writing


def remember(case: Case, command: RememberMemory) -> Fact | Refusal:
    """A new record: active at version 1, or quarantined where its source is untrusted (A15)."""
    draft = command.draft
    return _kept(
        case,
        draft,
        _asked(case, command)
        or admission.fitting_key(case, draft)
        or _admissible(case, draft)
        or _unborn(case, draft, command.expected_version)
        or _born(case, draft, None),
    )


def correct(case: Case, command: CorrectMemory) -> Fact | Refusal:
    """A new record in place of one that is active, at the expected version and of the same scope (A28, A31)."""
    draft = command.draft
    return _kept(
        case,
        draft,
        _asked(case, command)
        or admission.fitting_key(case, draft)
        or _admissible(case, draft)
        or _unborn(case, draft, 0)
        or _replaceable(case, command)
        or _born(case, draft, command.supersedes),
    )


def _kept(case: Case, draft: Draft, outcome: Fact | Refusal) -> Fact | Refusal:
    """The outcome; where memory only observes (B63), what it would have been, and nothing is stored.

    A refusal stays one, and so does a repeated request: neither would have stored anything.
    """
    if case.writing is Writing.ON:
        return outcome
    reasons: tuple[Reason, ...] = ()
    match outcome:
        case MemoryAccepted(findings=findings):
            verdict = "accepted"
        case MemoryQuarantined(findings=findings, reasons=reasons):
            verdict = "quarantined"
        case _:
            return outcome
    return CandidateObserved(
        memory_id=draft.memory_id,
        kind=draft.kind,
        purposes=draft.purposes,
        verdict=verdict,
        reasons=reasons,
        findings=findings,
    )


def _asked(case: Case, command: RememberMemory | CorrectMemory) -> Fact | Refusal | None:
    """Who asks, for what source, about whom, whether it was asked before, and whether it is too much."""
    return (
        writing_gate(case, Action.WRITE, command.tenant)
        or source_allowed(case, command.draft)
        or admission.open_subjects(case, command.draft)
        or lineage.present(case)
        or repeated(case, command.idempotency)
        or within_rate(case)
    )


def _admissible(case: Case, draft: Draft) -> Refusal | None:
    opened, policy, key = case.opened, case.policy, case.known.key
    if opened.body is None or opened.digests is None or key is None:
        return Refusal(reason=Reason.UNREADABLE_BODY, field="body")
    if case.known.value_forgotten:
        return Refusal(reason=Reason.ERASED, field="statement")
    objection = admission.fields(draft, opened.body, policy)
    if objection is not None:
        return objection
    rule = policy.kinds[draft.kind]
    return (
        admission.observed(draft, case.now)
        or retention.expiry(draft, rule, case.now, policy.expiry_tolerance)
        or retention.fitting_bucket(draft, rule, key.bucket)
        or lineage.admissible(case, draft)
        or judging.objection(draft, opened.body, opened.findings, policy)
    )


def _unborn(case: Case, draft: Draft, expected: int) -> Refusal | None:
    """The version of what does not exist is 0 (A24)."""
    there = case.known.memory
    if there is not None and erased(there, closed=_of_an_earlier_generation(case, draft, there)):
        return Refusal(reason=Reason.ERASED, memory_id=draft.memory_id, field="memory_id")
    current = 0 if there is None else there.version
    if current or expected:
        return Refusal(reason=Reason.VERSION_CONFLICT, memory_id=draft.memory_id, current_version=current)
    return None


def _of_an_earlier_generation(case: Case, draft: Draft, there: MemoryState) -> bool:
    """Of the same person, from before they were forgotten and readmitted. Anybody else's is only known to be there."""
    return there.subject == draft.subject and admission.generation_closed(case.known.subject, there.generation)


def _replaceable(case: Case, command: CorrectMemory) -> Refusal | None:
    old = case.known.superseded
    if old is None:
        return Refusal(reason=Reason.NOT_FOUND, field="supersedes")
    if erased(old, closed=case.known.superseded_closed):
        return Refusal(reason=Reason.ERASED, field="supersedes", memory_id=old.memory_id)
    hidden = cleared(case, old)
    if hidden is not None:
        return hidden
    if old.version != command.expected_version:
        return Refusal(reason=Reason.VERSION_CONFLICT, memory_id=old.memory_id, current_version=old.version)
    if allowed(old, Step.SUPERSEDED) is None:
        return Refusal(reason=Reason.WRONG_STATE, memory_id=old.memory_id, current_version=old.version)
    return retention.still_running(old, case.now) or admission.same_scope(command.draft, old)


def _born(case: Case, draft: Draft, supersedes: MemoryId | None) -> Fact | Refusal:
    """The outcome of a draft that met every rule. Trust and confirmation come from policy, never from it (A22)."""
    digests = case.opened.digests
    assert digests is not None
    source = case.policy.sources[draft.source_kind]
    newcomer = conflict.of_draft(
        case, draft, source.trust, judging.confirmation(draft, case.policy), digests.content_hash
    )
    repetition = conflict.repeats(case, newcomer, _claim(case), draft.source_kind)
    if repetition is not None:
        return repetition
    standing = conflict.standing(case, newcomer)
    better = conflict.bettered(case, newcomer, _claim(case), draft.source_kind)
    if better is not None and standing.beats is None and not standing.loses_to:
        standing = replace(standing, beats=better[0], by=better[1])
    reasons = judging.doubts(draft, case.opened.findings, case.policy)
    if standing.loses_to:
        reasons += (Reason.CONFLICT_REVIEW if standing.review else Reason.CONTRADICTS,)
    if case.known.superseded is not None:
        reasons += conflict.replacing(case, newcomer, _claim(case), case.known.superseded)
        reasons = tuple(dict.fromkeys(reasons))
    if lineage.lowers(case, draft) and Reason.SENSITIVITY_LOWERED not in reasons:
        reasons += (Reason.SENSITIVITY_LOWERED,)
    kept = case.opened.redacted or draft
    if reasons:
        return conflict.waits_already(case) or _quarantined(case, kept, supersedes, standing, reasons)
    return _accepted(case, kept, standing)


def _quarantined(
    case: Case, draft: Draft, supersedes: MemoryId | None, standing: conflict.Standing, reasons: tuple[Reason, ...]
) -> MemoryQuarantined:
    known, digests, findings = case.known, case.opened.digests, case.opened.findings
    assert known.tenant is not None
    assert digests is not None
    source = case.policy.sources[draft.source_kind]
    others = standing.loses_to or standing.ties or (() if standing.beats is None else (standing.beats,))
    return MemoryQuarantined(
        draft=draft,
        about=_about(case, draft),
        incarnation=known.tenant.incarnation,
        owner=owner(case),
        trust=source.trust,
        confirmation=judging.confirmation(draft, case.policy),
        content_hash=digests.content_hash,
        claim_ref=_claim(case),
        supersedes=supersedes,
        supersedes_version=0 if known.superseded is None else known.superseded.version,
        reasons=reasons,
        policy_influence=judging.influences(findings),
        reviewable_at=judging.reviewable_at(reasons, case.now, case.policy),
        conflicts_with=tuple(each.memory_id for each in others),
        unnamed=_unnamed(case, others),
        findings=findings,
    )


def _accepted(case: Case, draft: Draft, standing: conflict.Standing) -> MemoryAccepted:
    known, digests = case.known, case.opened.digests
    assert known.tenant is not None
    assert digests is not None
    source = case.policy.sources[draft.source_kind]
    named = known.superseded
    # One fact retires one record: beside the one the author named, a beaten one stays, marked as contested.
    old = standing.beats if named is None else named
    ties = standing.ties if named is None or standing.beats is None else (*standing.ties, standing.beats)
    withdrawn = lineage.superseded_with(case, (old,))
    going = {each.memory_id for each in withdrawn}
    ties = tuple(each for each in ties if each.memory_id not in going)
    return MemoryAccepted(
        draft=draft,
        about=_about(case, draft),
        incarnation=known.tenant.incarnation,
        owner=owner(case),
        trust=source.trust,
        confirmation=judging.confirmation(draft, case.policy),
        content_hash=digests.content_hash,
        claim_ref=_claim(case),
        supersedes=None if old is None else SupersededRef(memory_id=old.memory_id, version=old.version + 1),
        conflicts_with=tuple(ConflictRef(memory_id=each.memory_id, version=each.version + 1) for each in ties),
        unnamed=_unnamed(case, ties),
        settled_by=standing.by if named is None else (),
        claim_changed=named is not None and named.claim_ref not in (None, _claim(case)),
        findings=case.opened.findings,
        withdrawn=withdrawn,
    )


def _unnamed(case: Case, rivals: Iterable[MemoryState]) -> tuple[MemoryId, ...]:
    """Those that the author is not cleared for: which records they are is not told."""
    return tuple(each.memory_id for each in rivals if cleared(case, each) is not None)


def _claim(case: Case) -> bytes | None:
    """The claim that the draft makes: its own, else that of the record it corrects."""
    digests, old = case.opened.digests, case.known.superseded
    own = None if digests is None else digests.claim_ref
    return old.claim_ref if own is None and old is not None else own


def _about(case: Case, draft: Draft) -> tuple[SubjectRef, ...]:
    named = (
        SubjectRef(subject=subject, generation=1 if state is None else state.generation)
        for subject, state in zip(draft.about, case.known.about, strict=True)
    )
    return lineage.people(case, draft, named)
