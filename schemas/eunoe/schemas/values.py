"""The closed vocabularies of a memory record. Orthogonal axes, not one status.

Each is text on the wire; a value outside its vocabulary is refused where the record is decoded.
"""

from enum import StrEnum


class Lifecycle(StrEnum):
    """Where a record is in its life. The allowed transitions are in ``eunoe.domain.memory``."""

    QUARANTINED = "quarantined"
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    RETRACTED = "retracted"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    FORGOTTEN = "forgotten"


class Confirmation(StrEnum):
    """Whether a person stands behind the statement."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


class Trust(StrEnum):
    """How far the source is trusted: low, medium, high of the retrieval contract."""

    UNTRUSTED = "untrusted"
    ASSERTED = "asserted"
    VERIFIED = "verified"


class Review(StrEnum):
    """Whether a person has to decide, or has decided."""

    NONE = "none"
    PENDING = "pending"
    DECIDED = "decided"


class Visibility(StrEnum):
    """Who may read: the agent that wrote it, or every agent of the tenant with the purpose."""

    AGENT = "agent"
    SHARED = "shared"


class MemoryClass(StrEnum):
    SHORT_TERM = "short_term"
    LONG_TERM = "long_term"
    PROFILE = "profile"


class SourceKind(StrEnum):
    """Where the statement comes from. What each may do is policy."""

    USER_EXPLICIT = "user_explicit"
    SYSTEM = "system"
    TOOL = "tool"
    INFERRED = "inferred"
    THIRD_PARTY = "third_party"
    MODEL_OUTPUT = "model_output"


class Sensitivity(StrEnum):
    """The data class, from harmless to most protected; the order is the order of definition."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    RESTRICTED = "restricted"


class Verdict(StrEnum):
    """What a detector's finding, or a circumstance, does to a candidate; the order is from mild to severe."""

    ALLOW = "allow"
    REDACT = "redact"
    QUARANTINE = "quarantine"
    REJECT = "reject"


class Circumstance(StrEnum):
    """What speaks against remembering at all, as the author declares it (B4). What follows is policy."""

    ONE_OFF = "one_off"
    AUTHORITATIVE_ELSEWHERE = "authoritative_elsewhere"
    LIVE_QUERYABLE = "live_queryable"
    PURPOSE_UNEXPLAINED = "purpose_unexplained"
    ERROR_UNDETECTABLE = "error_undetectable"
    NOT_CORRECTABLE = "not_correctable"
    HIGH_RISK_ALONE = "high_risk_alone"


class Writing(StrEnum):
    """What the switches allow of writing: everything, recording candidates only (B63), or nothing."""

    ON = "on"
    OBSERVE = "observe"
    OFF = "off"


class ConflictPolicy(StrEnum):
    """What a contradiction does to the newcomer."""

    POLICY_DECIDES = "policy_decides"
    REQUIRE_REVIEW = "require_review_on_conflict"


class ExportDeletePolicy(StrEnum):
    """Whether the person described may export and delete the record without an operator: who acts for them does it
    with the right ``self_service``. A record that concerns several people is never left to one of them."""

    USER_VISIBLE = "user_visible"
    OPERATOR_ONLY = "operator_only"


class Algorithm(StrEnum):
    """How a command says who sent it."""

    HMAC_SHA256 = "hmac-sha256"
    ED25519 = "ed25519"


class PrincipalKind(StrEnum):
    HUMAN = "human"
    SERVICE = "service"


class Action(StrEnum):
    """Rights, each granted separately to a principal."""

    WRITE = "write"
    REVIEW = "review"
    ERASE = "erase"
    REQUEST_ERASURE = "request_erasure"
    READMIT = "readmit"
    EXPIRE = "expire"
    READ = "read"
    EXPORT = "export"
    IMPORT = "import"
    HOLD = "hold"
    OPERATE = "operate"
    SELF_SERVICE = "self_service"
    """To hand a person, or forget at their wish, those of their records that ``export_delete_policy`` leaves them."""
