"""A small policy with one principal per role, and commands with sensible fields, each changeable by name."""

from itertools import count
from types import MappingProxyType
from typing import Any, Final

from msgspec import structs

from eunoe.domain.known import BodyFacts
from eunoe.domain.retention import month_of
from eunoe.schemas.commands import (
    Command,
    CompleteForgetting,
    CompleteTenantForgetting,
    ConfirmMemory,
    CorrectMemory,
    Draft,
    ExpireMemory,
    ForgetMemory,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    PromoteMemory,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RejectMemory,
    RememberMemory,
    ResolveConflict,
    RestoreMemory,
    RetractMemory,
    SeenRef,
    SuspendMemory,
    WithdrawForgetting,
)
from eunoe.schemas.ids import (
    AgentId,
    KeyId,
    MemoryId,
    Millis,
    PrincipalName,
    Pseudonym,
    TenantId,
    derived_id,
)
from eunoe.schemas.policy import ErasureRules, KindRule, Limits, Policy, PrincipalRule, PurposeRule, SourceRule
from eunoe.schemas.values import (
    Action,
    Confirmation,
    MemoryClass,
    PrincipalKind,
    Sensitivity,
    SourceKind,
    Trust,
    Visibility,
)

MINUTE: Final = 60_000
DAY: Final = 86_400_000
NOW: Final = Millis(1_800_000_000_000)
"""2027-01-15T08:00:00Z."""
IN_A_MONTH: Final = Millis(NOW + 30 * DAY)
MONTH: Final = month_of(IN_A_MONTH)

ACME: Final = TenantId("acme")
ALICE: Final = Pseudonym("a" * 32)
BOB: Final = Pseudonym("b" * 32)
CAROL: Final = Pseudonym("c" * 32)

AGENT: Final = PrincipalName("agent")
OTHER_AGENT: Final = PrincipalName("other-agent")
REVIEWER: Final = PrincipalName("reviewer")
SECOND_REVIEWER: Final = PrincipalName("second-reviewer")
ROBOT_REVIEWER: Final = PrincipalName("robot-reviewer")
OFFICER: Final = PrincipalName("officer")
SECOND_OFFICER: Final = PrincipalName("second-officer")
COLLEAGUE: Final = PrincipalName("colleague")
ROBOT_OFFICER: Final = PrincipalName("robot-officer")
IMPORTER: Final = PrincipalName("importer")
EXPORTER: Final = PrincipalName("exporter")
ROBOT_EXPORTER: Final = PrincipalName("robot-exporter")
PORTAL: Final = PrincipalName("portal")
"""Acts for whoever is about themselves."""
ASKER: Final = PrincipalName("asker")
OTHER_ASKER: Final = PrincipalName("other-asker")
SWEEPER: Final = PrincipalName("sweeper")
STRANGER: Final = PrincipalName("stranger")
FOREIGNER: Final = PrincipalName("foreigner")

BODY: Final = BodyFacts(statement_chars=40, body_bytes=200, event_ids=1, has_provenance=True, blank=False)

SIGNERS: Final[dict[type[Command], tuple[PrincipalName, bool]]] = {
    IssueKey: (AGENT, False),
    RememberMemory: (AGENT, False),
    CorrectMemory: (AGENT, False),
    PromoteMemory: (REVIEWER, True),
    RejectMemory: (REVIEWER, True),
    ConfirmMemory: (REVIEWER, True),
    ResolveConflict: (AGENT, False),
    RetractMemory: (AGENT, False),
    SuspendMemory: (REVIEWER, True),
    ExpireMemory: (SWEEPER, False),
    ForgetMemory: (OFFICER, True),
    ForgetSubject: (OFFICER, True),
    ReadmitSubject: (OFFICER, True),
    WithdrawForgetting: (OFFICER, True),
    CompleteForgetting: (SWEEPER, False),
    HoldSubject: (OFFICER, True),
    LiftHold: (OFFICER, True),
    RecordExport: (EXPORTER, True),
    RestoreMemory: (IMPORTER, True),
    ForgetTenant: (OFFICER, True),
    CompleteTenantForgetting: (SWEEPER, False),
    ReadmitTenant: (OFFICER, True),
}
"""Who sends a command when a test does not say, and whether by Ed25519."""


def _principal(
    name: PrincipalName,
    kind: PrincipalKind,
    *actions: Action,
    tenants: frozenset[TenantId] | None = None,
    owner: str | None = None,
    cleared: Sensitivity = Sensitivity.PERSONAL,
) -> PrincipalRule:
    return PrincipalRule(
        name=name,
        kind=kind,
        owner=f"owner of {name}" if owner is None else owner,
        tenants=tenants,
        actions=frozenset(actions),
        source_kinds=None,
        max_sensitivity=cleared,
        secrets=(),
    )


_HUMAN: Final = PrincipalKind.HUMAN
_SERVICE: Final = PrincipalKind.SERVICE
_PRINCIPALS: Final = (
    _principal(AGENT, _SERVICE, Action.WRITE),
    _principal(OTHER_AGENT, _SERVICE, Action.WRITE),
    _principal(REVIEWER, _HUMAN, Action.REVIEW, Action.WRITE),
    _principal(SECOND_REVIEWER, _HUMAN, Action.REVIEW),
    _principal(ROBOT_REVIEWER, _SERVICE, Action.REVIEW, Action.WRITE),
    _principal(OFFICER, _HUMAN, Action.ERASE, Action.READMIT, Action.HOLD),
    _principal(SECOND_OFFICER, _HUMAN, Action.ERASE, Action.READMIT, Action.HOLD),
    _principal(COLLEAGUE, _HUMAN, Action.ERASE, Action.READMIT, Action.HOLD, owner=f"owner of {OFFICER}"),
    _principal(ROBOT_OFFICER, _SERVICE, Action.ERASE, Action.READMIT, Action.HOLD),
    _principal(IMPORTER, _HUMAN, Action.IMPORT, cleared=Sensitivity.RESTRICTED),
    _principal(EXPORTER, _HUMAN, Action.EXPORT, cleared=Sensitivity.RESTRICTED),
    _principal(ROBOT_EXPORTER, _SERVICE, Action.EXPORT, cleared=Sensitivity.RESTRICTED),
    _principal(PORTAL, _SERVICE, Action.SELF_SERVICE, cleared=Sensitivity.RESTRICTED),
    _principal(ASKER, _SERVICE, Action.WRITE, Action.REQUEST_ERASURE),
    _principal(OTHER_ASKER, _SERVICE, Action.WRITE, Action.REQUEST_ERASURE),
    _principal(SWEEPER, _SERVICE, Action.EXPIRE),
    _principal(FOREIGNER, _HUMAN, *Action, tenants=frozenset({TenantId("acme-2")})),
)


def kind(name: str, ttl_max: int, own_bucket: bool = False) -> KindRule:
    return KindRule(name=name, ttl_max=ttl_max, own_bucket=own_bucket)


POLICY: Final = Policy(
    version=3,
    title="for tests",
    hash="0" * 64,
    purposes=MappingProxyType(
        {name: PurposeRule(name=name, owner="someone", fallback="asks") for name in ("support", "sales")}
    ),
    kinds=MappingProxyType(
        {
            each.name: each
            for each in (kind("fact", 365 * DAY), kind("note", 7 * DAY), kind("diagnosis", 365 * DAY, own_bucket=True))
        }
    ),
    sources=MappingProxyType(
        {
            each: SourceRule(kind=each, trust=trust, confirmation=confirmation)
            for each, trust, confirmation in (
                (SourceKind.USER_EXPLICIT, Trust.ASSERTED, Confirmation.CONFIRMED),
                (SourceKind.INFERRED, Trust.ASSERTED, Confirmation.PROPOSED),
                (SourceKind.THIRD_PARTY, Trust.UNTRUSTED, Confirmation.PROPOSED),
            )
        }
    ),
    principals=MappingProxyType({each.name: each for each in _PRINCIPALS}),
    limits=Limits(statement_chars=100, body_bytes=1_000, purposes=2, surfaces=2, about=2, event_ids=3),
    idempotency_retention=40 * DAY,
    expiry_tolerance=5 * MINUTE,
    erasure=ErasureRules(two_people=False, per_hour=1_000),
)

_numbers: Final = count(1)


def once() -> bytes:
    """An idempotency key nobody used before."""
    return next(_numbers).to_bytes(16, "big")


def memory(name: str) -> MemoryId:
    return MemoryId(derived_id("memory", name))


def draft(name: str, key_id: KeyId, **changes: Any) -> Draft:
    """A fact on Alice for support that lives for 30 days; ``changes`` by field name."""
    return structs.replace(
        Draft(
            memory_id=memory(name),
            agent=AgentId("support-bot"),
            subject=ALICE,
            generation=1,
            purposes=("support",),
            visibility=Visibility.AGENT,
            kind="fact",
            memory_class=MemoryClass.LONG_TERM,
            source_kind=SourceKind.USER_EXPLICIT,
            confidence=0.9,
            sensitivity=Sensitivity.PERSONAL,
            expires_at=IN_A_MONTH,
            key_id=key_id,
            body_version=1,
            body=b"sealed",
        ),
        **changes,
    )


def remember(draft: Draft, *, idempotency: bytes | None = None, expected_version: int = 0) -> RememberMemory:
    return RememberMemory(
        tenant=ACME, draft=draft, expected_version=expected_version, idempotency=idempotency or once()
    )


def correct(draft: Draft, old: str, expected_version: int, *, idempotency: bytes | None = None) -> CorrectMemory:
    return CorrectMemory(
        tenant=ACME,
        draft=draft,
        supersedes=memory(old),
        expected_version=expected_version,
        idempotency=idempotency or once(),
    )


def promote(name: str, version: int = 1, replaces: tuple[str, int] | None = None) -> PromoteMemory:
    seen = None if replaces is None else SeenRef(memory_id=memory(replaces[0]), version=replaces[1])
    return PromoteMemory(
        tenant=ACME, memory_id=memory(name), expected_version=version, replaces=seen, idempotency=once()
    )


def reject(name: str, version: int = 1, reason: str = "spam") -> RejectMemory:
    return RejectMemory(
        tenant=ACME, memory_id=memory(name), expected_version=version, reason=reason, idempotency=once()
    )


def confirm(name: str, version: int = 1) -> ConfirmMemory:
    return ConfirmMemory(tenant=ACME, memory_id=memory(name), expected_version=version, idempotency=once())


def resolve(name: str, version: int, *over: tuple[str, int]) -> ResolveConflict:
    """``over``: names of what gives way, each at the version that was seen."""
    seen = tuple(SeenRef(memory_id=memory(each), version=at) for each, at in over)
    return ResolveConflict(tenant=ACME, memory_id=memory(name), expected_version=version, over=seen, idempotency=once())


def retract(name: str, version: int = 1) -> RetractMemory:
    return RetractMemory(tenant=ACME, memory_id=memory(name), expected_version=version, idempotency=once())


def suspend(name: str, version: int = 1, *reasons: str) -> SuspendMemory:
    return SuspendMemory(
        tenant=ACME,
        memory_id=memory(name),
        expected_version=version,
        reasons=reasons or ("sent_back",),
        idempotency=once(),
    )


def expire(name: str, version: int = 1, expires_at: Millis = IN_A_MONTH) -> ExpireMemory:
    return ExpireMemory(tenant=ACME, memory_id=memory(name), expected_version=version, expires_at=expires_at)


def forget(name: str, subject: Pseudonym | None = None) -> ForgetMemory:
    return ForgetMemory(tenant=ACME, memory_id=memory(name), subject=subject, idempotency=once())


def forget_subject(subject: Pseudonym = ALICE, idempotency: bytes | None = None) -> ForgetSubject:
    return ForgetSubject(tenant=ACME, subject=subject, idempotency=idempotency or once())


def readmit(subject: Pseudonym = ALICE, idempotency: bytes | None = None) -> ReadmitSubject:
    return ReadmitSubject(tenant=ACME, subject=subject, idempotency=idempotency or once())


def withdraw(subject: Pseudonym = ALICE) -> WithdrawForgetting:
    return WithdrawForgetting(tenant=ACME, subject=subject, idempotency=once())


def complete(due_at: Millis, subject: Pseudonym = ALICE, generation: int = 1) -> CompleteForgetting:
    return CompleteForgetting(tenant=ACME, subject=subject, generation=generation, due_at=due_at)


def hold(review_at: Millis = IN_A_MONTH, subject: Pseudonym = ALICE) -> HoldSubject:
    return HoldSubject(tenant=ACME, subject=subject, review_at=review_at, idempotency=once())


def lift(subject: Pseudonym = ALICE) -> LiftHold:
    return LiftHold(tenant=ACME, subject=subject, idempotency=once())


def forget_tenant(incarnation: int = 1) -> ForgetTenant:
    return ForgetTenant(tenant=ACME, incarnation=incarnation)


def complete_tenant(incarnation: int = 1) -> CompleteTenantForgetting:
    return CompleteTenantForgetting(tenant=ACME, incarnation=incarnation)


def readmit_tenant(incarnation: int = 1) -> ReadmitTenant:
    return ReadmitTenant(tenant=ACME, incarnation=incarnation)


def export(subject: Pseudonym | None = ALICE, said: str = "passport, seen by M. Huber") -> RecordExport:
    return RecordExport(tenant=ACME, subject=subject, identity_check=said, idempotency=once())
