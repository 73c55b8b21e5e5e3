"""Who and what is forgotten by the end of the log: a simulation opens nothing of it, whatever keys are left."""

from eunoe.schemas.commands import (
    Command,
    CompleteForgetting,
    CompleteTenantForgetting,
    CorrectMemory,
    Draft,
    ForgetSubject,
    ForgetTenant,
    HoldSubject,
    IssueKey,
    LiftHold,
    ReadmitSubject,
    ReadmitTenant,
    RecordExport,
    RememberMemory,
    RestoreMemory,
    WithdrawForgetting,
)
from eunoe.schemas.events import (
    Event,
    MemoryAccepted,
    MemoryForgotten,
    MemoryQuarantined,
    SubjectForgotten,
    SubjectReadmitted,
    SubjectRef,
    TenantForgotten,
    WithdrawnRef,
)
from eunoe.schemas.ids import MemoryId, Pseudonym, TenantId


class Erasures:
    """Is told every fact of a partition, in order, before it is asked anything."""

    def __init__(self) -> None:
        self._latest: dict[tuple[TenantId, Pseudonym], tuple[int, bool]] = {}
        self._concerned: dict[tuple[TenantId, MemoryId], tuple[SubjectRef, ...]] = {}
        self._forgotten: set[tuple[TenantId, MemoryId]] = set()
        self._ended: dict[TenantId, int] = {}

    def see(self, event: Event) -> None:
        tenant, fact = event.header.tenant, event.fact
        refs: tuple[WithdrawnRef, ...] = getattr(fact, "withdrawn", ())
        self._forgotten.update((tenant, each.memory_id) for each in refs)
        match fact:
            case MemoryAccepted(draft=draft) | MemoryQuarantined(draft=draft):
                own = SubjectRef(subject=draft.subject, generation=draft.generation)
                self._concerned[tenant, draft.memory_id] = (own, *fact.about)
            case MemoryForgotten(memory_id=memory_id):
                self._forgotten.add((tenant, memory_id))
            case SubjectForgotten(subject=subject, generation=generation):
                self._latest[tenant, subject] = (generation, True)
            case SubjectReadmitted(subject=subject, generation=generation):
                self._latest[tenant, subject] = (generation, False)
            case TenantForgotten(incarnation=incarnation):
                self._ended[tenant] = incarnation
            case _:
                pass

    def cover(self, command: Command) -> bool:
        """Whether the command is about a record, or about people, of whom nothing may be read any more."""
        tenant = command.tenant
        if command.incarnation <= self._ended.get(tenant, 0):
            return True
        match command:
            case IssueKey() | ForgetSubject() | ReadmitSubject() | WithdrawForgetting() | CompleteForgetting():
                return False
            case HoldSubject() | LiftHold() | RecordExport():
                return False
            case ForgetTenant() | CompleteTenantForgetting() | ReadmitTenant():
                return False
            case RememberMemory(draft=draft) | CorrectMemory(draft=draft):
                if self._of_closed(tenant, draft):
                    return True
                memory_id = draft.memory_id
            case RestoreMemory(draft=draft, memory_id=memory_id):
                if draft is not None and self._of_closed(tenant, draft):
                    return True
            case _:
                memory_id = command.memory_id
        key = (tenant, memory_id)
        return key in self._forgotten or any(self._closed(tenant, each) for each in self._concerned.get(key, ()))

    def _of_closed(self, tenant: TenantId, draft: Draft) -> bool:
        """A draft names no generation of those it is about: closed now is closed."""
        own = SubjectRef(subject=draft.subject, generation=draft.generation)
        return self._closed(tenant, own) or any(self._latest.get((tenant, each), (0, False))[1] for each in draft.about)

    def _closed(self, tenant: TenantId, ref: SubjectRef) -> bool:
        generation, closed = self._latest.get((tenant, ref.subject), (0, False))
        return ref.generation < generation or (closed and ref.generation == generation)
