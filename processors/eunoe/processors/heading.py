"""What an event says of where it comes from."""

from typing import Protocol

from eunoe.domain.decide_imports import origin_of
from eunoe.domain.known import Opened
from eunoe.processors.receiving import Received
from eunoe.schemas.commands import (
    ConfirmMemory,
    ForgetMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    LiftHold,
    PromoteMemory,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RejectMemory,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.events import (
    Authorization,
    CommandRejected,
    EventHeader,
    Fact,
)
from eunoe.schemas.ids import EventId, Millis, Offset, derived_id
from eunoe.schemas.policy import Policy
from eunoe.schemas.values import Algorithm

_ANSWERED_FOR = (
    PromoteMemory, RejectMemory, ConfirmMemory, ForgetMemory, ForgetSubject, ReadmitSubject, WithdrawForgetting,
    HoldSubject, LiftHold, RecordExport, SuspendMemory, ForgetTenant, ReadmitTenant,
)  # fmt: skip
"""Commands that somebody answers for: their signature is kept. None of them holds a sealed body."""


class InForce(Protocol):
    """The policy a command was judged by, and how far ``memory-control`` had been read."""

    @property
    def policy(self) -> Policy: ...
    @property
    def offset(self) -> Offset: ...


def header_of(received: Received, opened: Opened, fact: Fact, rules: InForce, now: Millis) -> EventHeader:
    """The header of the command's outcome. Its event id follows from the command id: one command, one outcome."""
    envelope = received.envelope
    answered_for = isinstance(received.command, _ANSWERED_FOR) and not isinstance(fact, CommandRejected)
    signed = answered_for and opened.algorithm is Algorithm.ED25519
    return EventHeader(
        event_id=EventId(derived_id("event", envelope.command_id)),
        command_id=envelope.command_id,
        message_id=envelope.message_id,
        tenant=received.command.tenant,
        principal=envelope.principal,
        input_offset=received.record.offset,
        decided_at=now,
        policy_version=rules.policy.version,
        policy_hash=rules.policy.hash,
        control_offset=rules.offset,
        causation=envelope.causation,
        correlation=envelope.correlation,
        session=envelope.session,
        idempotency=getattr(received.command, "idempotency", None),
        payload_digest=None if opened.digests is None else opened.digests.payload,
        authorization=_authorization(received) if signed else None,
        origin=origin_of(received.command, opened, fact),
    )


def _authorization(received: Received) -> Authorization:
    return Authorization(secret_id=received.envelope.secret_id, signed=received.signed, signature=received.envelope.mac)
