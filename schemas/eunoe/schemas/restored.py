"""One fact of another installation's log, as a command carries it in, and what vouches for it."""

from msgspec import Struct

from eunoe.schemas.ids import CommandId, EventId, LogId, MemoryId, Millis, PrincipalName, SecretId
from eunoe.schemas.values import Confirmation, Trust, Verdict


class RestoredFinding(Struct, frozen=True, kw_only=True, gc=False):
    """As `eunoe.schemas.events.Finding`."""

    detector: str
    rule: str
    verdict: Verdict


class Restored(Struct, frozen=True, kw_only=True, gc=False):
    """One fact about a record as another installation's log has it; see the fact that ``what`` names.

    ``superseded`` gave way in the same moment, ``contested`` stayed; their versions follow from what is known here.
    ``supersedes`` and ``conflicts``: of a quarantined record. ``owner``: whose its author was.
    ``incarnation``: of the tenant there, whose name may have been another tenant's before.
    ``at``, ``by`` and the rest: when it was decided there, who had asked for it, and under which policy.
    """

    what: str
    version: int = 1
    incarnation: int = 1
    trust: Trust | None = None
    confirmation: Confirmation | None = None
    superseded: tuple[MemoryId, ...] = ()
    contested: tuple[MemoryId, ...] = ()
    supersedes: MemoryId | None = None
    conflicts: tuple[MemoryId, ...] = ()
    reasons: tuple[str, ...] = ()
    settled_by: tuple[str, ...] = ()
    owner: str = ""
    claim_changed: bool = False
    policy_influence: bool = False
    reviewable_at: Millis = Millis(0)
    findings: tuple[RestoredFinding, ...] = ()
    at: Millis
    by: PrincipalName
    event_id: EventId
    command_id: CommandId
    policy_version: int
    policy_hash: str


class Proof(Struct, frozen=True, kw_only=True, gc=False):
    """What an export's signer signed of one fact (`eunoe.schemas.restoring`), and for which log."""

    log_id: LogId
    signer: SecretId
    signature: bytes
