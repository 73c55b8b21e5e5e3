"""The policy as frozen values: what decides every write. It is authored as TOML (`eunoe.schemas.policy_file`).

Pure code receives a `Policy`; nothing here reads files, clocks or topics. Durations are milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from eunoe.schemas.ids import AgentId, PrincipalName, SecretId, TenantId, incarnation_name, tenant_of
from eunoe.schemas.values import (
    Action,
    Algorithm,
    Circumstance,
    Confirmation,
    MemoryClass,
    PrincipalKind,
    Sensitivity,
    SourceKind,
    Trust,
    Verdict,
)

SIGNED_ACTIONS: Final = frozenset(
    {Action.REVIEW, Action.ERASE, Action.READMIT, Action.HOLD, Action.OPERATE, Action.EXPORT, Action.IMPORT}
)
"""Actions that need an Ed25519 signature, kept in the event; a shared secret would let the verifier forge it."""

HUMAN_ACTIONS: Final = frozenset(
    {Action.REVIEW, Action.ERASE, Action.READMIT, Action.HOLD, Action.EXPORT, Action.IMPORT}
)
"""What no service does, whatever it was granted: a model neither lets its own memory into use nor destroys anything,
and hands out or brings back nobody's memory as a whole."""

BY_POLICY: Final = "policy."
"""Stands before the code of a reason for which a policy no longer allows what is stored."""
INFLUENCE: Final = frozenset({"policy_influence", "privilege", "routing"})
"""Classes of findings that never enter into use without a person, whatever a policy says (C16)."""

NEVER_ALLOWED: Final = frozenset({"secret", "forbidden_data", "hidden_profile", "derived_from_memory"})
"""Classes of findings of which no policy says ``allow``: secrets and forbidden data (B27), profiles of which nobody
knows (B26), what was itself recalled from memory (M64)."""

RATE_WINDOW_MS: Final = 60_000
"""What limits by the minute count in: windows of log time since 1970."""
ANY: Final = "*"
"""Stands for every name: a purpose rule of this name covers the purposes that have none of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRef:
    """One secret of a principal. ``reference`` is ``env:NAME`` or ``file:NAME`` for HMAC, the base64 public key for
    Ed25519. The secret itself is never in a policy."""

    secret_id: SecretId
    algorithm: Algorithm
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalRule:
    """Who a principal is and what it may do. ``tenants``, ``source_kinds``, ``purposes`` and ``agents`` None mean any.

    For the others it neither reads nor writes; in the name of another agent neither.
    """

    name: PrincipalName
    kind: PrincipalKind
    owner: str
    tenants: frozenset[TenantId] | None
    actions: frozenset[Action]
    source_kinds: frozenset[SourceKind] | None
    max_sensitivity: Sensitivity
    secrets: tuple[SecretRef, ...]
    purposes: frozenset[str] | None = None
    agents: frozenset[AgentId] | None = None

    def serves(self, purpose: str) -> bool:
        """Whether it may read and write for this purpose."""
        return self.purposes is None or purpose in self.purposes

    def speaks_for(self, agent: AgentId) -> bool:
        """Whether it may read and write as this agent."""
        return self.agents is None or agent in self.agents

    def enters(self, tenant: TenantId, incarnation: int) -> bool:
        """Whether it has to do with this incarnation of the tenant.

        The name alone means the first: what was granted for a forgotten tenant says nothing of whoever has its name
        afterwards.
        """
        return self.tenants is None or incarnation_name(tenant, incarnation) in self.tenants

    def concerns(self, tenant: TenantId) -> bool:
        """Whether it has to do with any of those that have had this name; `enters` says with which."""
        return self.tenants is None or any(tenant_of(each) == tenant for each in self.tenants)

    def may(self, action: Action, tenant: TenantId) -> bool:
        """As `concerns`, and whether it may do this there."""
        return action in self.actions and self.concerns(tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PurposeRule:
    """A purpose has a named owner, and says what an agent does without memory.

    Nothing more protected than ``max_sensitivity`` is written or read for it.
    """

    name: str
    owner: str
    fallback: str
    max_sensitivity: Sensitivity = Sensitivity.RESTRICTED


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """Retention of one kind of record: at most ``ttl_max``. ``own_bucket``: each record gets a data key of its own.

    ``answers``: which of the questions of B3 (fields of `Answers`) a record must answer. ``confirmed_only``: what is
    only proposed waits for a person. ``classes``: those it may be kept as. ``derived``: made from other records or
    events, such as a summary: it names them, and whoever says it, it starts as proposed at most (B45).
    """

    name: str
    ttl_max: int
    own_bucket: bool
    answers: frozenset[str] = frozenset()
    confirmed_only: bool = False
    derived: bool = False
    classes: frozenset[MemoryClass] = frozenset(MemoryClass)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRule:
    """What a source kind is worth. An untrusted source is quarantined.

    ``copies``: what becomes of a statement that is a copy where a reference to the system of record would do (B5).
    """

    kind: SourceKind
    trust: Trust
    confirmation: Confirmation
    copies: Verdict = Verdict.ALLOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Sizes, refused above. ``statement_chars`` and ``body_bytes`` bound what is sealed, the rest counts entries."""

    statement_chars: int = 4_000
    body_bytes: int = 32_768
    purposes: int = 16
    surfaces: int = 16
    about: int = 16
    event_ids: int = 64
    derived_from: int = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRules:
    """What each class of findings does, by detector (``"*"``: any) and class (``"*"``: any other).

    ``budget``: microseconds of CPU time that one detector may take for one statement; over it, and whenever a detector
    fails, the record waits for a person.
    """

    verdicts: Mapping[str, Mapping[str, Verdict]] = field(default_factory=lambda: MappingProxyType({}))
    budget: int = 20_000

    def verdict(self, detector: str, rule: str) -> Verdict:
        """What a finding means. What no rule speaks of waits for a person: a new class is not let through."""
        for name in (detector, ANY):
            named = self.verdicts.get(name)
            if named is not None:
                found = named.get(rule) or named.get(ANY)
                if found is not None:
                    return found
        return Verdict.QUARANTINE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRules:
    """Waiting periods (ms) before a person may promote a record, by the reason why it waits; others: ``usual``."""

    waiting: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    usual: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRules:
    """``newer_wins_after`` (ms): how much later a statement must have been observed for its being newer to count as a
    signal; None: never, so that equal sources are always asked about (B40)."""

    newer_wins_after: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureRules:
    """Who may destroy what, and when. Durations in ms of log time.

    ``grace``: how long after a request nobody withdrew it is carried out; None: only a person carries it out.
    ``two_people``: readmission, lifting a hold and destroying a key-encryption key need two people of different owners;
    a proposal to readmit or lift counts for ``proposal``. ``per_hour``: how much one principal may have destroyed, or
    ask for, in a tenant in one hour of log time: people and single records, each one.
    """

    grace: int | None = None
    two_people: bool = True
    proposal: int = 7 * 86_400_000
    per_hour: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRules:
    """How much may be written in one minute of log time, in a tenant: by one principal, and by all together. Commands
    that remember and correct, and keys asked for to do it; above it they are refused. None: as much as they like."""

    per_minute: int | None = None
    tenant_per_minute: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageRules:
    """Whether what was built on a record goes when that is superseded or retracted; if forgotten, always."""

    superseded: bool = True
    retracted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One version of the rules. ``hash`` is the SHA-256 of the file's bytes, in hex, and goes into every event.

    ``idempotency_retention`` is at least the retention of ``memory-events``; ``expiry_tolerance`` is how far a client's
    ``expires_at`` may be from append time plus the TTL it states. ``surfaces``: where answers may be shown; None: any.
    ``import_keys``: the Ed25519 keys of those whose exports are restored as they were, by the signer's name.
    """

    version: int
    title: str
    hash: str
    purposes: Mapping[str, PurposeRule]
    kinds: Mapping[str, KindRule]
    sources: Mapping[SourceKind, SourceRule]
    principals: Mapping[PrincipalName, PrincipalRule]
    limits: Limits
    idempotency_retention: int
    expiry_tolerance: int
    surfaces: frozenset[str] | None = None
    circumstances: Mapping[Circumstance, Verdict] = field(default_factory=lambda: MappingProxyType({}))
    detection: DetectionRules = field(default_factory=DetectionRules)
    review: ReviewRules = field(default_factory=ReviewRules)
    conflicts: ConflictRules = field(default_factory=ConflictRules)
    erasure: ErasureRules = field(default_factory=ErasureRules)
    import_keys: Mapping[SecretId, bytes] = field(default_factory=lambda: MappingProxyType({}))
    rates: RateRules = field(default_factory=RateRules)
    lineage: LineageRules = field(default_factory=LineageRules)

    def circumstance(self, declared: Circumstance) -> Verdict:
        """What a declared circumstance does. One that no rule speaks of is refused: it argues against keeping."""
        return self.circumstances.get(declared, Verdict.REJECT)

    def purpose(self, name: str) -> PurposeRule | None:
        """The rule of a purpose: its own, else the one for any purpose, else None (an unknown purpose)."""
        return self.purposes.get(name) or self.purposes.get(ANY)

    def secret(self, principal: PrincipalName, secret_id: SecretId) -> SecretRef | None:
        """The reference a MAC claims to be made with, or None."""
        rule = self.principals.get(principal)
        if rule is None:
            return None
        return next((each for each in rule.secrets if each.secret_id == secret_id), None)
