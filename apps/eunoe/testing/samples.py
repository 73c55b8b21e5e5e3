"""Sample facts and events for tests: valid, fixed values, each field changeable by name.

Ids come from `sample_id`, so that one name is one id in every test and process.
"""

from typing import Any, Final, TypedDict, Unpack

from msgspec import structs

from eunoe.crypto.hierarchy import KeyKind
from eunoe.schemas.commands import Draft, SourceRef
from eunoe.schemas.events import (
    Authorization,
    Event,
    EventHeader,
    Fact,
    MemoryAccepted,
    MemoryQuarantined,
    PartitionOpened,
    Reason,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import (
    AgentId,
    Bucket,
    CommandId,
    EventId,
    KeyId,
    LogId,
    MemoryId,
    MessageId,
    Millis,
    Offset,
    PrincipalName,
    Pseudonym,
    TenantId,
    derived_id,
)
from eunoe.schemas.keys import KeyRecord
from eunoe.schemas.traces import Delivered, LeftOut, Limits, OverBudget, Trace, TraceKind
from eunoe.schemas.values import (
    Confirmation,
    ConflictPolicy,
    ExportDeletePolicy,
    MemoryClass,
    Sensitivity,
    SourceKind,
    Trust,
    Visibility,
)

SAMPLE_TENANT: Final = TenantId("acme")
SAMPLE_SUBJECT: Final = Pseudonym("5a" * 16)
SAMPLE_TIME: Final = Millis(1_800_000_000_000)
"""2027-01-15T08:00:00Z."""
_DAY: Final = 86_400_000


def sample_id(name: str) -> str:
    """A UUID that stands for ``name``."""
    return derived_id("eunoe/sample", name)


class DraftFields(TypedDict, total=False):
    memory_id: MemoryId
    agent: AgentId
    subject: Pseudonym
    generation: int
    about: tuple[Pseudonym, ...]
    derived_from: tuple[SourceRef, ...]
    purposes: tuple[str, ...]
    visibility: Visibility
    surfaces: tuple[str, ...]
    producer_surface: str | None
    scope: str | None
    kind: str
    memory_class: MemoryClass
    retention: str | None
    source_kind: SourceKind
    observed_at: Millis | None
    confidence: float
    sensitivity: Sensitivity
    valid_from: Millis | None
    valid_until: Millis | None
    ttl: int | None
    expires_at: Millis
    conflict_policy: ConflictPolicy
    export_delete_policy: ExportDeletePolicy
    embedding_version: str | None
    key_id: KeyId
    body_version: int
    body: bytes


class HeaderFields(TypedDict, total=False):
    event_id: EventId
    command_id: CommandId
    message_id: MessageId
    tenant: TenantId
    principal: PrincipalName
    input_offset: Offset
    decided_at: Millis
    policy_version: int
    policy_hash: str
    control_offset: Offset
    causation: str | None
    correlation: str | None
    idempotency: bytes | None
    payload_digest: bytes | None
    authorization: Authorization | None


class KeyFields(TypedDict, total=False):
    key_id: KeyId
    tenant: TenantId
    incarnation: int
    subject: Pseudonym | None
    generation: int
    bucket: Bucket | None
    wrapped_by: str
    wrapped: bytes
    created_at: Millis


def sample_draft(**over: Unpack[DraftFields]) -> Draft:
    """A fact about `SAMPLE_SUBJECT` that expires in 30 days. Its ``body`` is not really sealed."""
    draft = Draft(
        memory_id=MemoryId(sample_id("memory")),
        agent=AgentId("support-bot"),
        subject=SAMPLE_SUBJECT,
        generation=1,
        purposes=("support",),
        visibility=Visibility.AGENT,
        kind="fact",
        memory_class=MemoryClass.LONG_TERM,
        source_kind=SourceKind.USER_EXPLICIT,
        observed_at=SAMPLE_TIME,
        confidence=0.9,
        sensitivity=Sensitivity.PERSONAL,
        ttl=30 * _DAY,
        expires_at=Millis(SAMPLE_TIME + 30 * _DAY),
        key_id=KeyId(sample_id("data-key")),
        body_version=1,
        body=b"sealed body",
    )
    return structs.replace(draft, **over)


def sample_accepted(
    draft: Draft | None = None, *, about: tuple[SubjectRef, ...] = (), supersedes: SupersededRef | None = None
) -> MemoryAccepted:
    return MemoryAccepted(
        draft=draft or sample_draft(),
        about=about,
        incarnation=1,
        trust=Trust.ASSERTED,
        confirmation=Confirmation.PROPOSED,
        content_hash=b"c" * 16,
        supersedes=supersedes,
    )


def sample_quarantined(
    draft: Draft | None = None, *, about: tuple[SubjectRef, ...] = (), supersedes: MemoryId | None = None
) -> MemoryQuarantined:
    return MemoryQuarantined(
        draft=draft or sample_draft(source_kind=SourceKind.MODEL_OUTPUT),
        about=about,
        incarnation=1,
        trust=Trust.UNTRUSTED,
        confirmation=Confirmation.PROPOSED,
        content_hash=b"c" * 16,
        supersedes=supersedes,
        reasons=(Reason.UNTRUSTED_SOURCE,),
    )


def sample_event(fact: Fact, **header: Unpack[HeaderFields]) -> Event:
    """``fact`` as decided for `SAMPLE_TENANT`. Ids that are not given derive from ``command_id``."""
    command_id = header.get("command_id", CommandId(sample_id("command")))
    made = EventHeader(
        event_id=EventId(derived_id("eunoe/sample/event", command_id)),
        command_id=command_id,
        message_id=MessageId(derived_id("eunoe/sample/message", command_id)),
        tenant=SAMPLE_TENANT,
        principal=PrincipalName("dev-agent"),
        input_offset=Offset(0),
        decided_at=SAMPLE_TIME,
        policy_version=1,
        policy_hash="0" * 64,
        control_offset=Offset(0),
    )
    return Event(header=structs.replace(made, **header), fact=fact)


def sample_genesis(log_id: LogId, partition: int = 0, partitions: int = 1) -> Event:
    """What every partition of ``memory-lifecycle`` starts with."""
    fact = PartitionOpened(log_id=log_id, partition=partition, partitions=partitions)
    return sample_event(fact, tenant=TenantId(""), input_offset=Offset(-1), decided_at=Millis(0))


def sample_key(log_id: LogId, kind: KeyKind, **over: Unpack[KeyFields]) -> KeyRecord:
    """A record of ``memory-keys`` of `SAMPLE_TENANT`; its ``wrapped`` bytes open nowhere."""
    record = KeyRecord(
        log_id=log_id,
        key_id=KeyId(sample_id(f"{kind.value}-key")),
        kind=kind.value,
        tenant=SAMPLE_TENANT,
        incarnation=1,
        wrapped_by="kek-0011223344556677",
        wrapped=b"w" * 60,
        created_at=SAMPLE_TIME,
    )
    return structs.replace(record, **over)


def sample_trace(**over: Any) -> Trace:
    """What a search of `SAMPLE_TENANT` delivered, with every field in use; any can be given."""
    trace = Trace(
        trace_id=sample_id("trace"),
        session_id="conversation-7",
        kind=TraceKind.SEARCHED,
        tenant=SAMPLE_TENANT,
        principal=PrincipalName("dev-agent"),
        agent=AgentId("support-bot"),
        purpose="support",
        surface="chat",
        at=SAMPLE_TIME,
        limits=Limits(
            classes=(MemoryClass.LONG_TERM,),
            max_sensitivity=Sensitivity.PERSONAL,
            max_age=86_400_000,
            limit=10,
            budget=500,
        ),
        policy_version=3,
        policy_hash="0" * 64,
        control_offset=Offset(4),
        delivered=(
            Delivered(
                memory_id=MemoryId(sample_id("memory")),
                version=2,
                memory_class=MemoryClass.LONG_TERM,
                trust=Trust.ASSERTED,
                confirmation=Confirmation.PROPOSED,
                source_kind=SourceKind.INFERRED,
                score=0.25,
                reasons=("term", "recency"),
                conflicts=(MemoryId(sample_id("rival")),),
            ),
        ),
        excluded=(LeftOut(reason="expired", count=2),),
        examined=4,
        skipped=(OverBudget(memory_id=MemoryId(sample_id("long")), tokens=700),),
        used_tokens=12,
        position=Offset(17),
        lag=5,
        key_id=KeyId(sample_id("access-key")),
        sealed=b"s" * 96,
    )
    return structs.replace(trace, **over)
