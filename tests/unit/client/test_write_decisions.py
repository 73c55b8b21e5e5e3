"""Write decisions are folded from the log: three answers, whose they are, and nothing of whom was forgotten."""

from eunoe.client.write_decisions import Decisions, WriteDecision
from eunoe.schemas.events import (
    CandidateObserved,
    CommandRejected,
    Event,
    Fact,
    MemoryForgotten,
    MemoryPromoted,
    MemoryRejected,
    Reason,
    SubjectForgotten,
)
from eunoe.schemas.ids import CommandId, MemoryId, Offset, PrincipalName, TenantId
from eunoe.schemas.values import Trust
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_quarantined,
)

BOT, REVIEWER, OTHER = map(PrincipalName, ("dev-agent", "dev-reviewer", "other"))
USED, WAITING, KEPT_OUT, SEEN = (MemoryId(sample_id(name)) for name in ("used", "waiting", "kept out", "seen"))
FACTS: tuple[tuple[Fact, PrincipalName], ...] = (
    (sample_accepted(sample_draft(memory_id=USED)), BOT),
    (sample_quarantined(sample_draft(memory_id=WAITING)), BOT),
    (sample_quarantined(sample_draft(memory_id=KEPT_OUT)), OTHER),
    (MemoryPromoted(memory_id=WAITING, version=2, trust=Trust.VERIFIED), REVIEWER),
    (MemoryRejected(memory_id=KEPT_OUT, version=2, reason="spam"), REVIEWER),
    (CommandRejected(command="RememberMemory", reason=Reason.SECRET), BOT),
    (CommandRejected(command="ForgetMemory", reason=Reason.NOT_FOUND), BOT),
    (CandidateObserved(memory_id=SEEN, kind="fact", purposes=("support",), verdict="accepted"), OTHER),
)


def event(at: int, fact: Fact, by: PrincipalName) -> Event:
    return sample_event(fact, principal=by, command_id=CommandId(sample_id(f"command {at}")))


def folded(found: Decisions, *more: Fact) -> Decisions:
    for at, (fact, by) in enumerate((*FACTS, *((each, REVIEWER) for each in more))):
        found.take(Offset(at), event(at, fact, by))
    return found


def test_each_candidate_has_one_of_three_answers_and_what_it_was_about() -> None:
    found = folded(Decisions(tenant=SAMPLE_TENANT)).shown()
    assert [(each.decision, each.memory_id, each.revision, each.reasons) for each in found] == [
        (WriteDecision.ALLOWED, USED, 1, ()),
        (WriteDecision.QUARANTINED, WAITING, 1, ("untrusted_source",)),
        (WriteDecision.QUARANTINED, KEPT_OUT, 1, ("untrusted_source",)),
        (WriteDecision.ALLOWED, WAITING, 2, ()),
        (WriteDecision.REJECTED, KEPT_OUT, 2, ("spam",)),
        (WriteDecision.REJECTED, None, None, ("secret",)),
        (WriteDecision.REJECTED, SEEN, None, ("observe_only",)),
    ]
    assert [each.persisted for each in found] == [True, False, False, True, False, False, False]
    assert (found[3].memory_class, found[3].source_kind) == (found[1].memory_class, found[1].source_kind)
    assert found[3].memory_class is not None


def test_a_principal_sees_what_it_asked_for_and_what_became_of_it() -> None:
    found = folded(Decisions(tenant=SAMPLE_TENANT, mine=BOT)).shown()
    assert [(each.memory_id, each.revision) for each in found] == [(USED, 1), (WAITING, 1), (WAITING, 2), (None, None)]
    only = folded(Decisions(tenant=SAMPLE_TENANT, memory_id=WAITING)).shown()
    assert [each.revision for each in only] == [1, 2]
    assert folded(Decisions(tenant=TenantId("elsewhere"))).shown() == ()


def test_what_was_forgotten_is_told_to_no_agent() -> None:
    gone = MemoryForgotten(memory_id=USED, version=2)
    assert {each.memory_id for each in folded(Decisions(tenant=SAMPLE_TENANT, mine=BOT), gone).shown()} == {
        WAITING,
        None,
    }
    closed = SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=2)
    assert [each.memory_id for each in folded(Decisions(tenant=SAMPLE_TENANT, mine=BOT), closed).shown()] == [None]
    assert len(folded(Decisions(tenant=SAMPLE_TENANT), closed).shown()) == 7
