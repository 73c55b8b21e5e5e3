"""From a line to the producer's call: the one place where the two vocabularies meet."""

from typing import assert_never

from eunoe.client.lines import (
    ConfirmLine,
    ForgetLine,
    HoldLine,
    LiftHoldLine,
    Line,
    PromoteLine,
    ReadmitLine,
    RejectLine,
    RememberLine,
    ResolveLine,
    RetractLine,
    Seen,
    SuspendLine,
    WithdrawLine,
    millis,
)
from eunoe.producers.client import Asked, MemoryProducer, Sent
from eunoe.producers.proposal import Placed, Proposal
from eunoe.schemas.commands import Answers, EvidenceSpan, SeenRef, SourceRef
from eunoe.schemas.durations import duration_millis
from eunoe.schemas.ids import AgentId, MemoryId, TenantId


def proposal_of(line: RememberLine) -> Proposal:
    source = line.source
    return Proposal(
        tenant=TenantId(line.tenant),
        agent=AgentId(line.agent),
        statement=line.statement,
        purposes=line.purposes,
        source_kind=source.kind,
        subject=line.subject,
        about=line.about,
        derived_from=tuple(
            SourceRef(memory_id=MemoryId(each.memory_id), version=each.version) for each in line.derived_from
        ),
        visibility=line.visibility,
        surfaces=line.surfaces,
        producer_surface=line.producer_surface,
        scope=line.scope,
        kind=line.kind,
        memory_class=line.memory_class,
        claim_key=line.key,
        source_uri=source.uri,
        event_ids=source.event_ids,
        provenance=source.provenance,
        evidence=tuple(
            EvidenceSpan(event_id=each.event_id, start=each.start, end=each.end) for each in source.evidence
        ),
        observed_at=None if source.observed_at is None else millis(source.observed_at),
        confidence=line.confidence,
        sensitivity=line.sensitivity,
        answers=None
        if line.answers is None
        else Answers(**{name: getattr(line.answers, name) for name in Answers.__struct_fields__}),
        circumstances=line.circumstances,
        reference=line.reference,
        retention=line.retention,
        ttl=None if line.ttl is None else duration_millis(line.ttl),
        expires_at=None if line.expires_at is None else millis(line.expires_at),
        valid_from=None if line.valid_from is None else millis(line.valid_from),
        valid_until=None if line.valid_until is None else millis(line.valid_until),
        conflict_policy=line.conflict_policy,
        export_delete_policy=line.export_delete_policy,
        embedding_version=line.embedding_version,
        external_id=line.external_id,
        session_id=line.session_id,
    )


def placed(producer: MemoryProducer, line: RememberLine) -> Placed:
    """The proposal with its place; the line's own ``memory_id`` where it names one."""
    return producer.place(proposal_of(line), None if line.memory_id is None else MemoryId(line.memory_id))


def _seen(named: Seen) -> SeenRef:
    return SeenRef(memory_id=MemoryId(named.memory_id), version=named.version)


async def send(  # noqa: PLR0911, PLR0912 - one line per command
    producer: MemoryProducer, line: Line, asked: Asked, ready: Placed | None = None
) -> Sent:
    """``ready``: what `placed` made of a remembering line before, when its keys were fetched ahead."""
    tenant = TenantId(line.tenant)
    match line:
        case RememberLine():
            new = ready or placed(producer, line)
            if line.supersedes is None:
                return await producer.remember(new, asked, expected_version=line.expected_version)
            return await producer.correct(
                new, asked, supersedes=MemoryId(line.supersedes), expected_version=line.expected_version
            )
        case PromoteLine():
            replaces = None if line.replaces is None else _seen(line.replaces)
            which = MemoryId(line.memory_id)
            return await producer.promote(tenant, which, line.expected_version, asked, replaces=replaces)
        case RejectLine():
            return await producer.reject(tenant, MemoryId(line.memory_id), line.expected_version, line.reason, asked)
        case ConfirmLine():
            return await producer.confirm(tenant, MemoryId(line.memory_id), line.expected_version, asked)
        case ResolveLine():
            over = tuple(map(_seen, line.over))
            return await producer.resolve(tenant, MemoryId(line.memory_id), line.expected_version, asked, over=over)
        case RetractLine():
            return await producer.retract(tenant, MemoryId(line.memory_id), line.expected_version, asked)
        case SuspendLine():
            return await producer.suspend(tenant, MemoryId(line.memory_id), line.expected_version, line.reasons, asked)
        case ForgetLine() if line.memory_id is not None:
            return await producer.forget_memory(tenant, MemoryId(line.memory_id), asked, subject=line.subject)
        case ForgetLine():
            return await producer.forget_subject(tenant, line.subject, asked)
        case ReadmitLine():
            return await producer.readmit_subject(tenant, line.subject, asked)
        case WithdrawLine():
            return await producer.withdraw_forgetting(tenant, line.subject, asked)
        case HoldLine():
            return await producer.hold(tenant, line.subject, millis(line.review_at), asked)
        case LiftHoldLine():
            return await producer.lift_hold(tenant, line.subject, asked)
        case unreachable:
            assert_never(unreachable)
