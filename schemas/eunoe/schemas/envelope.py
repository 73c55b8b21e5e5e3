"""Who sends a command, and proof of it: the envelope around every record of ``memory-events``.

The MAC covers the command's encoded bytes as they are, so that it can be checked without encoding anything again, and
with them where the command may count: this installation, this topic, until ``not_after``.
"""

from msgspec import Struct

from eunoe.schemas.canonical import canonical
from eunoe.schemas.ids import CommandId, LogId, MessageId, Millis, PrincipalName, SecretId

TRACEPARENT_HEADER = "traceparent"
"""W3C Trace Context travels as a Kafka header of the command only: an event is kept for ever, a trace is not."""


class Envelope(Struct, frozen=True, kw_only=True, gc=False):
    """``command`` is a single-object encoded command; ``mac`` covers every other field.

    ``command_id`` names the request and is the same in every retry; ``message_id`` names this attempt. ``session``: of
    which conversation it is part, 16 bytes keyed under the tenant (`TenantKeys.session_reference`).
    """

    command_id: CommandId
    message_id: MessageId
    principal: PrincipalName
    secret_id: SecretId
    not_after: Millis
    causation: str | None = None
    correlation: str | None = None
    session: bytes | None = None
    command: bytes
    mac: bytes


def signed_bytes(envelope: Envelope, log_id: LogId, topic: str) -> bytes:
    """The canonical bytes that ``mac`` authenticates, in this installation and on this topic."""
    return canonical(
        "eunoe/command/1",
        log_id,
        topic,
        envelope.command_id,
        envelope.message_id,
        envelope.principal,
        envelope.secret_id,
        envelope.not_after,
        envelope.causation,
        envelope.correlation,
        envelope.session,
        envelope.command,
    )
