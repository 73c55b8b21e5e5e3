"""Who says so: a command put into its envelope under its principal's MAC or signature."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from eunoe.crypto.signatures import Algorithm, Signer
from eunoe.runtime.clock import Clock
from eunoe.runtime.errors import CallerFault
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import COMMANDS, ENVELOPES
from eunoe.schemas.commands import (
    Command,
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
    RestoreMemory,
    RetractMemory,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.envelope import Envelope, signed_bytes
from eunoe.schemas.ids import CommandId, MessageId, Millis, PrincipalName, new_id
from eunoe.schemas.topics import Topic

LIFETIME_MS: Final = 86_400_000
"""For how long a command counts after it was signed: a backlog of a day is decided, a replay of last week is not."""
RECORD_LIMIT: Final = 1_000_000
"""Bytes of one record. Kafka's own default is 1,048,588 with the batch around it."""

# Retracting is among them because taking back what somebody else wrote is a review, and only the decider knows whose
# it is; a signature is never refused where a shared secret would do.
_SIGNED: Final = (
    PromoteMemory, RejectMemory, ConfirmMemory, RetractMemory, ForgetMemory, ForgetSubject, ReadmitSubject,
    WithdrawForgetting, HoldSubject, LiftHold, RecordExport, RestoreMemory, SuspendMemory, ForgetTenant, ReadmitTenant,
)  # fmt: skip


@dataclass(eq=False)
class MissingSecret(CallerFault):
    """The principal was given no secret at all; nothing was sent."""

    principal: PrincipalName

    def __str__(self) -> str:
        return f"{self.principal} has no secret to sign with"


@dataclass(eq=False)
class RecordTooLarge(CallerFault):
    """The record is larger than Kafka takes; nothing was sent."""

    limit: int
    found: int

    def __str__(self) -> str:
        return f"the record has {self.found} bytes, above the limit of {self.limit}"


class Signers:
    """A principal's secrets; of each kind the first counts.

    Review, erasure and readmission need an Ed25519 signature (DESIGN §3); the rest goes with a shared secret, which is
    cheaper to check. Who has none of the kind signs with the other: the decider refuses, and the attempt is on the log.
    """

    def __init__(self, principal: PrincipalName, secrets: Iterable[Signer]) -> None:
        found = {secret.algorithm: secret for secret in reversed(tuple(secrets))}
        self.principal = principal
        self._shared = found.get(Algorithm.HMAC_SHA256)
        self._own = found.get(Algorithm.ED25519)

    def signer_for(self, command: Command) -> Signer:
        """Raises `MissingSecret`."""
        signed = isinstance(command, _SIGNED)
        chosen = (self._own or self._shared) if signed else (self._shared or self._own)
        if chosen is None:
            raise MissingSecret(self.principal)
        return chosen


class EnvelopeMaker:
    """Makes the value of a record. ``lifetime_ms``: for how long a command counts after it was signed."""

    def __init__(
        self, installation: Installation, signers: Signers, clock: Clock, lifetime_ms: int = LIFETIME_MS
    ) -> None:
        self._log_id = installation.log_id
        self._topic = installation.topic(Topic.EVENTS)
        self._signers = signers
        self._clock = clock
        self._lifetime_ms = lifetime_ms

    def envelope(
        self,
        command: Command,
        command_id: CommandId,
        causation: str | None = None,
        correlation: str | None = None,
        session: bytes | None = None,
    ) -> Envelope:
        """The command under its principal's MAC, as an attempt of its own. Raises `MissingSecret`."""
        signer = self._signers.signer_for(command)
        unsigned = Envelope(
            command_id=command_id,
            message_id=MessageId(new_id()),
            principal=self._signers.principal,
            secret_id=signer.secret_id,
            not_after=Millis(self._clock.now() + self._lifetime_ms),
            causation=causation,
            correlation=correlation,
            session=session,
            command=COMMANDS.encode(command),
            mac=b"",
        )
        return replace(unsigned, mac=signer.sign(signed_bytes(unsigned, self._log_id, self._topic)))

    def record(
        self,
        command: Command,
        command_id: CommandId,
        causation: str | None = None,
        correlation: str | None = None,
        session: bytes | None = None,
    ) -> bytes:
        """The record's value. Raises `MissingSecret`, or `RecordTooLarge` before anything is sent."""
        value = ENVELOPES.encode(self.envelope(command, command_id, causation, correlation, session))
        if len(value) > RECORD_LIMIT:
            raise RecordTooLarge(RECORD_LIMIT, len(value))
        return value
