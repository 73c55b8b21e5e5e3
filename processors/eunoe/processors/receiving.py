"""From a record on ``memory-events`` to a command whose sender is proven, or to the reason it is not one.

Nothing here looks at what is known; a record that does not get through has no outcome on the log (it is no sink for
spam) and goes to the dead letters.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from eunoe.crypto.signatures import Verifier
from eunoe.schemas.codec import COMMANDS, ENVELOPES
from eunoe.schemas.commands import Command
from eunoe.schemas.envelope import Envelope, signed_bytes
from eunoe.schemas.errors import SchemaError, UnknownSchema
from eunoe.schemas.ids import LogId, Millis, Offset, Partition, PrincipalName, SecretId, TenantId, is_name, is_uuid
from eunoe.schemas.partitioning import partition_of

LONGEST_LINK: Final = 256
"""Characters of a causation or correlation id."""
SESSION_BYTES: Final = 16


class Unusable(StrEnum):
    """Why a record cannot be judged. The only thing a dead letter's header says of it besides its origin."""

    UNDECODABLE = "undecodable"
    UNKNOWN_SCHEMA = "unknown_schema"
    MISROUTED = "misrouted"
    UNAUTHENTICATED = "unauthenticated"
    OVERDUE = "overdue"
    """Its MAC holds, but not until now: sent again after its time."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    """One record of ``memory-events`` as Kafka gave it. ``timestamp`` is append time, the broker's."""

    offset: Offset
    timestamp: Millis
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Received:
    """A command and its proven envelope. ``verifier`` is what proved it; ``signed`` is what it proved."""

    record: RawRecord
    envelope: Envelope
    command: Command
    verifier: Verifier
    signed: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """``tenant`` is set only where the record is sound enough that its key is known to be a tenant's name."""

    record: RawRecord
    why: Unusable
    tenant: TenantId | None = None


class Verifiers(Protocol):
    """The secrets of principals, by the policy in force."""

    def find(self, principal: PrincipalName, secret_id: SecretId) -> Verifier | None:
        """What checks a MAC of this secret; None where the policy has no such principal or secret."""
        ...


@dataclass(frozen=True, slots=True)
class Receiver:
    """What a record is checked against: the place it must have been meant for, and who may send."""

    log_id: LogId
    topic: str
    partition: Partition
    partitions: int

    def receive(self, record: RawRecord, verifiers: Verifiers, retention: int) -> Received | Refused:
        """``retention`` (ms): how far ahead of append time a MAC may say that it holds."""
        try:
            envelope = ENVELOPES.decode(record.value or b"")
            command = COMMANDS.decode(envelope.command)
        except UnknownSchema:
            return Refused(record, Unusable.UNKNOWN_SCHEMA)
        except SchemaError:
            return Refused(record, Unusable.UNDECODABLE)
        tenant = command.tenant
        if not is_name(tenant) or not _in_form(envelope):
            return Refused(record, Unusable.UNDECODABLE)
        if record.key != tenant.encode() or partition_of(tenant, self.partitions) != self.partition:
            return Refused(record, Unusable.MISROUTED)
        verifier = verifiers.find(envelope.principal, envelope.secret_id)
        signed = signed_bytes(envelope, self.log_id, self.topic)
        if verifier is None or not verifier.verify(signed, envelope.mac):
            return Refused(record, Unusable.UNAUTHENTICATED, tenant)
        if not record.timestamp <= envelope.not_after <= record.timestamp + retention:
            return Refused(record, Unusable.OVERDUE, tenant)
        return Received(record, envelope, command, verifier, signed)


def _in_form(envelope: Envelope) -> bool:
    """Whether what goes into the event as it is, for ever and in the clear, is ids and no text."""
    links = (envelope.causation, envelope.correlation)
    return (
        is_uuid(envelope.command_id)
        and is_uuid(envelope.message_id)
        and is_name(envelope.principal)
        and all(each is None or len(each) <= LONGEST_LINK for each in links)
        and (envelope.session is None or len(envelope.session) == SESSION_BYTES)
    )
