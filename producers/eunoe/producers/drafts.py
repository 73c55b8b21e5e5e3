"""From a proposal to a draft: first everything that needs no key (`place`), then the sealing (`seal`)."""

from typing import Final

from msgspec.structs import replace

from eunoe.crypto.buckets import month_bucket, own_bucket
from eunoe.crypto.keys import DataCipher, TenantKeys
from eunoe.producers import checks
from eunoe.producers.errors import CallerError, TooLarge
from eunoe.producers.proposal import Asked, Placed, Proposal
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Answers, Draft, EvidenceSpan, MemoryBody, SourceRef
from eunoe.schemas.durations import duration_text
from eunoe.schemas.ids import AgentId, KeyId, MemoryId, Millis, Pseudonym, TenantId
from eunoe.schemas.policy import KindRule, Limits, Policy
from eunoe.schemas.values import (
    Circumstance,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Visibility,
)

_BODY_VERSION: Final = 1
_LATER_SUBJECT: Final = Pseudonym("")
_LATER_KEY: Final = KeyId("")


def place(proposal: Proposal, memory_id: MemoryId, policy: Policy | None, now: Millis) -> Placed:
    """The proposal checked, encoded and given its end and bucket. Raises `CallerError` (`TooLarge` above a limit)."""
    limits = Limits() if policy is None else policy.limits
    kind = checks.name("kind", proposal.kind)
    rule = None if policy is None else policy.kinds.get(kind)
    ttl, expires_at = _end(proposal, rule, now)
    draft = _draft(proposal, MemoryId(checks.uuid("memory_id", memory_id)), limits, ttl, expires_at)
    subject = None if proposal.subject is None else checks.subject("subject", proposal.subject)
    about = tuple(checks.subject("about", each) for each in checks.several("about", proposal.about, limits.about))
    body = _body(proposal, limits, subject, about)
    alone = bool(about or draft.derived_from) or (rule is not None and rule.own_bucket)
    return Placed(
        tenant=TenantId(checks.name("tenant", proposal.tenant)),
        subject=subject,
        about=about,
        bucket=own_bucket(memory_id) if alone else month_bucket(expires_at),
        body=body,
        draft=draft,
    )


def seal(placed: Placed, keys: TenantKeys, cipher: DataCipher) -> Draft:
    """The record as it travels. ``cipher`` serves the subject's open generation and the bucket."""
    return replace(
        placed.draft,
        subject=keys.pseudonym(placed.subject),
        generation=cipher.meta.generation,
        about=tuple(keys.pseudonym(each) for each in placed.about),
        key_id=cipher.key_id,
        body=cipher.seal(placed.draft.memory_id, _BODY_VERSION, placed.body),
    )


def check_asked(asked: Asked) -> None:
    """Raises `CallerError`."""
    if asked.idempotency_key is not None:
        checks.short("idempotency_key", asked.idempotency_key, checks.IDEMPOTENCY_CHARS)
    if asked.command_id is not None:
        checks.uuid("command_id", asked.command_id)
    if asked.causation is not None:
        checks.label("causation", asked.causation)
    if asked.correlation is not None:
        checks.label("correlation", asked.correlation)
    if asked.session_id is not None:
        checks.name("session_id", asked.session_id)
    if asked.traceparent is not None:
        checks.traceparent("traceparent", asked.traceparent)


def _end(proposal: Proposal, rule: KindRule | None, now: Millis) -> tuple[int | None, Millis]:
    """``ttl`` as the author asked for it, and when the record ends. ``rule`` None: a kind that is not known here.

    The decider judges both by its own policy and clock. But it meets the month of the end first, in the request for the
    key, and could only say that there is no key for such a month.
    """
    longest = "" if rule is None else f"; a {rule.name} lasts at most {duration_text(rule.ttl_max)}"
    if proposal.ttl is not None and proposal.expires_at is not None:
        raise CallerError("ttl", "only one of ttl and expires_at may be given")
    if proposal.expires_at is not None:
        at = checks.instant("expires_at", proposal.expires_at)
        if at <= now:
            raise CallerError("expires_at", f"has passed{longest}")
        if rule is not None and at - now > rule.ttl_max:
            raise CallerError("expires_at", f"is too far away{longest}")
        return None, at
    if proposal.ttl is None:
        raise CallerError("ttl", f"is missing, and so is expires_at{longest}")
    ttl = checks.duration("ttl", proposal.ttl)
    if rule is not None and ttl > rule.ttl_max:
        raise CallerError("ttl", f"is too long{longest}")
    if now + ttl > checks.LAST:
        raise CallerError("ttl", "ends after the year 9999")
    return ttl, Millis(now + ttl)


def _draft(proposal: Proposal, memory_id: MemoryId, limits: Limits, ttl: int | None, expires_at: Millis) -> Draft:
    valid_from, valid_until = _instant(proposal, "valid_from"), _instant(proposal, "valid_until")
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        raise CallerError("valid_until", "must be after valid_from")
    return Draft(
        memory_id=memory_id,
        agent=AgentId(checks.name("agent", proposal.agent)),
        subject=_LATER_SUBJECT,
        generation=0,
        derived_from=_sources(proposal, limits),
        purposes=checks.names("purposes", proposal.purposes, limits.purposes, least=1),
        visibility=checks.choice("visibility", proposal.visibility, Visibility),
        surfaces=checks.names("surfaces", proposal.surfaces, limits.surfaces),
        producer_surface=None
        if proposal.producer_surface is None
        else checks.name("producer_surface", proposal.producer_surface),
        scope=_label(proposal, "scope"),
        kind=checks.name("kind", proposal.kind),
        memory_class=checks.choice("memory_class", proposal.memory_class, MemoryClass),
        retention=_label(proposal, "retention"),
        source_kind=checks.choice("source_kind", proposal.source_kind, SourceKind),
        observed_at=_instant(proposal, "observed_at"),
        confidence=checks.confidence("confidence", proposal.confidence),
        sensitivity=checks.choice("sensitivity", proposal.sensitivity, Sensitivity),
        valid_from=valid_from,
        valid_until=valid_until,
        ttl=ttl,
        expires_at=expires_at,
        conflict_policy=checks.choice("conflict_policy", proposal.conflict_policy, ConflictPolicy),
        circumstances=tuple(
            checks.choice("circumstances", each, Circumstance)
            for each in checks.several("circumstances", proposal.circumstances, len(Circumstance))
        ),
        reference=checks.flag("reference", proposal.reference),
        export_delete_policy=checks.choice("export_delete_policy", proposal.export_delete_policy, ExportDeletePolicy),
        embedding_version=_label(proposal, "embedding_version"),
        key_id=_LATER_KEY,
        body_version=_BODY_VERSION,
        body=b"",
    )


def _sources(proposal: Proposal, limits: Limits) -> tuple[SourceRef, ...]:
    sources = checks.several("derived_from", proposal.derived_from, limits.derived_from)
    return tuple(_source(each) for each in sources)


def _source(source: object) -> SourceRef:
    if not isinstance(source, SourceRef):
        raise CallerError("derived_from", f"must be a list of SourceRef, not of {type(source).__name__}")
    checks.uuid("derived_from.memory_id", source.memory_id)
    checks.whole("derived_from.version", source.version, 1)
    return source


def _body(proposal: Proposal, limits: Limits, subject: str | None, about: tuple[str, ...]) -> bytes:
    """What is sealed. Raises `TooLarge` above the policy's limits."""
    body = BODIES.encode(
        MemoryBody(
            statement=checks.statement("statement", proposal.statement, limits.statement_chars),
            claim_key=_text(proposal, "claim_key"),
            provenance=_text(proposal, "provenance"),
            source_uri=_text(proposal, "source_uri"),
            event_ids=checks.texts("event_ids", proposal.event_ids, limits.event_ids),
            evidence=tuple(map(_span, checks.several("evidence", proposal.evidence, limits.event_ids))),
            answers=_answers(proposal.answers),
            external_id=_text(proposal, "external_id"),
            session_id=None if proposal.session_id is None else checks.name("session_id", proposal.session_id),
            subject=subject,
            about=about,
        )
    )
    if len(body) > limits.body_bytes:
        raise TooLarge("body", limits.body_bytes, len(body))
    return body


def _span(span: object) -> EvidenceSpan:
    if not isinstance(span, EvidenceSpan):
        raise CallerError("evidence", f"must be a list of EvidenceSpan, not of {type(span).__name__}")
    checks.text("evidence.event_id", span.event_id)
    checks.whole("evidence.end", span.end, checks.whole("evidence.start", span.start, 0))
    return span


def _answers(answers: Answers | None) -> Answers | None:
    if answers is None:
        return None
    for name in Answers.__struct_fields__:
        value = getattr(answers, name)
        if value is not None:
            checks.text(f"answers.{name}", value)
    return answers


def _text(proposal: Proposal, field: str) -> str | None:
    value = getattr(proposal, field)
    return None if value is None else checks.text(field, value)


def _label(proposal: Proposal, field: str) -> str | None:
    value = getattr(proposal, field)
    return None if value is None else checks.label(field, value)


def _instant(proposal: Proposal, field: str) -> Millis | None:
    value = getattr(proposal, field)
    return None if value is None else checks.instant(field, value)
