"""What became of each candidate that somebody wanted remembered, as traces and exports say it (C18, C27, C28).

Read from the log, which is kept for ever: a decision cannot be missing, and cannot say something else than what was
decided. It holds codes and ids, and none of a text.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from eunoe.schemas.commands import CorrectMemory, Draft, RememberMemory, RestoreMemory
from eunoe.schemas.events import (
    CandidateObserved,
    CommandRejected,
    Event,
    KeyIssued,
    MemoryAccepted,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemorySuspended,
    SubjectForgotten,
    TenantForgotten,
)
from eunoe.schemas.ids import CommandId, MemoryId, Millis, Offset, PrincipalName, Pseudonym, TenantId
from eunoe.schemas.values import MemoryClass, SourceKind

_WRITES = frozenset({RememberMemory.__name__, CorrectMemory.__name__, RestoreMemory.__name__})


class WriteDecision(StrEnum):
    """The three answers of C18. One that a reviewer lets in or keeps out later is decided a second time."""

    ALLOWED = "allowed"
    REJECTED = "rejected"
    QUARANTINED = "kept_in_quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """``persisted``: there is a record since then. ``memory_class``, ``agent`` and ``source_kind`` (who and what it
    came from): None where the refusal kept nothing of the candidate. ``revision``: of the record after it. ``session``:
    the conversation of the command, keyed (`TenantKeys.session_reference`)."""

    position: Offset
    at: Millis
    principal: PrincipalName
    command_id: CommandId
    decision: WriteDecision
    persisted: bool
    memory_id: MemoryId | None = None
    revision: int | None = None
    memory_class: MemoryClass | None = None
    agent: str | None = None
    source_kind: SourceKind | None = None
    reasons: tuple[str, ...] = ()
    session: bytes | None = None
    policy_version: int


@dataclass(slots=True, kw_only=True)
class Decisions:
    """The fold over one tenant's partition. ``mine``, ``session``, ``memory_id`` None: anybody's, any."""

    tenant: TenantId
    mine: PrincipalName | None = None
    since: Millis | None = None
    memory_id: MemoryId | None = None
    session: bytes | None = None
    found: list[Decided] = field(default_factory=list)
    drafts: dict[MemoryId, tuple[Draft, PrincipalName]] = field(default_factory=dict)
    whom: dict[MemoryId, set[tuple[Pseudonym, int]]] = field(default_factory=dict)
    closed: set[tuple[Pseudonym, int]] = field(default_factory=set)
    forgotten: set[MemoryId] = field(default_factory=set)
    has_keys: bool = False
    """Whether the log says that the tenant was given any."""

    def take(self, offset: Offset, event: Event) -> None:
        """In the order of the log: a later decision about a record says of it what its birth said."""
        header = event.header
        if header.tenant != self.tenant:
            return
        if isinstance(event.fact, TenantForgotten):
            self.found.clear()  # of another tenant, which had the name before
        self._learn(event)
        decided = self._decided(offset, event)
        if decided is None or (self.since is not None and decided.at < self.since):
            return
        if self.session is not None and header.session != self.session:
            return
        author = self.drafts.get(decided.memory_id or MemoryId(""), (None, header.principal))[1]
        if (self.mine is None or self.mine in (header.principal, author)) and self.memory_id in (
            None,
            decided.memory_id,
        ):
            self.found.append(decided)

    def shown(self) -> tuple[Decided, ...]:
        """For who sees only their own, nothing about whom or what was forgotten since."""
        if self.mine is None:
            return tuple(self.found)
        return tuple(each for each in self.found if each.memory_id is None or not self._erased(each.memory_id))

    def _erased(self, memory_id: MemoryId) -> bool:
        return memory_id in self.forgotten or bool(self.whom.get(memory_id, set()) & self.closed)

    def _learn(self, event: Event) -> None:
        match event.fact:
            case MemoryAccepted(draft=draft, about=about) | MemoryQuarantined(draft=draft, about=about):
                self.drafts[draft.memory_id] = (draft, event.header.principal)
                others = {(each.subject, each.generation) for each in about}
                self.whom[draft.memory_id] = {(draft.subject, draft.generation), *others}
            case MemoryForgotten(memory_id=memory_id):
                self.forgotten.add(memory_id)
            case SubjectForgotten(subject=subject, generation=generation):
                self.closed.add((subject, generation))
            case KeyIssued():
                self.has_keys = True
            case _:
                pass

    def _decided(self, offset: Offset, event: Event) -> Decided | None:
        match event.fact:
            case MemoryAccepted(draft=draft):
                return self._of(offset, event, WriteDecision.ALLOWED, draft.memory_id, 1)
            case MemoryQuarantined(draft=draft, reasons=reasons):
                codes = tuple(each.value for each in reasons)
                return self._of(offset, event, WriteDecision.QUARANTINED, draft.memory_id, 1, codes)
            case MemoryPromoted(memory_id=memory_id, version=version):
                return self._of(offset, event, WriteDecision.ALLOWED, memory_id, version)
            case MemorySuspended(memory_id=memory_id, version=version, reasons=given):
                return self._of(offset, event, WriteDecision.QUARANTINED, memory_id, version, given)
            case MemoryRejected(memory_id=memory_id, version=version, reason=reason):
                return self._of(offset, event, WriteDecision.REJECTED, memory_id, version, (reason,))
            case CommandRejected(command=command, reason=why, memory_id=named) if command in _WRITES:
                return self._of(offset, event, WriteDecision.REJECTED, named, None, (why.value,))
            case CandidateObserved(memory_id=memory_id, reasons=reasons):
                codes = ("observe_only", *(each.value for each in reasons))
                return self._of(offset, event, WriteDecision.REJECTED, memory_id, None, codes)
            case _:
                return None

    def _of(
        self,
        offset: Offset,
        event: Event,
        decision: WriteDecision,
        memory_id: MemoryId | None,
        revision: int | None,
        reasons: tuple[str, ...] = (),
    ) -> Decided:
        draft = None if memory_id is None or revision is None else self.drafts.get(memory_id, (None, None))[0]
        return Decided(
            position=offset,
            at=event.header.decided_at,
            principal=event.header.principal,
            command_id=event.header.command_id,
            decision=decision,
            persisted=decision is WriteDecision.ALLOWED,
            memory_id=memory_id,
            revision=revision,
            memory_class=None if draft is None else draft.memory_class,
            agent=None if draft is None else draft.agent,
            source_kind=None if draft is None else draft.source_kind,
            reasons=reasons,
            session=event.header.session,
            policy_version=event.header.policy_version,
        )
