"""What becomes of a fact that another installation exported: as it was, waiting for a person, or refused."""

from dataclasses import replace as policy_with
from typing import Any, Final

import pytest
from msgspec.structs import replace

from eunoe.domain.entries import LedgerKey
from eunoe.schemas.commands import IssueKey, RestoreMemory, SourceRef
from eunoe.schemas.events import (
    CommandDuplicate,
    ConflictRef,
    Finding,
    KeyIssued,
    MemoryAccepted,
    MemoryConfirmed,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    MemorySuspended,
    Reason,
)
from eunoe.schemas.ids import Bucket, CommandId, EventId, KeyId, LogId, Millis, PrincipalName, SecretId
from eunoe.schemas.policy import LineageRules
from eunoe.schemas.restored import Proof, Restored
from eunoe.schemas.values import Confirmation, Lifecycle, SourceKind, Trust, Verdict, Writing
from unit.domain.samples import (
    ACME,
    AGENT,
    ALICE,
    BOB,
    IMPORTER,
    MONTH,
    NOW,
    POLICY,
    draft,
    forget,
    forget_subject,
    forget_tenant,
    hold,
    memory,
    once,
    promote,
    readmit,
    readmit_tenant,
    remember,
)
from unit.domain.scenario import Refused, Scenario, replayed

THERE: Final = Proof(log_id=LogId("there"), signer=SecretId("signer"), signature=b"s" * 64)


def restored(what: type, version: int = 1, **over: Any) -> Restored:
    fact = Restored(
        what=what.__name__,
        version=version,
        trust=Trust.VERIFIED,
        confirmation=Confirmation.CONFIRMED,
        at=Millis(NOW - 1_000),
        by=PrincipalName("author"),
        event_id=EventId("event"),
        command_id=CommandId("command"),
        policy_version=7,
        policy_hash="1" * 64,
    )
    return replace(fact, **over)


def begins(name: str, key: KeyId, what: type = MemoryAccepted, **over: Any) -> RestoreMemory:
    return RestoreMemory(
        tenant=ACME,
        memory_id=memory(name),
        draft=draft(name, key),
        restored=restored(what, **over),
        proof=THERE,
        idempotency=once(),
    )


def changes(name: str, what: type, version: int, **over: Any) -> RestoreMemory:
    return RestoreMemory(
        tenant=ACME,
        memory_id=memory(name),
        restored=restored(what, version, **over),
        proof=THERE,
        idempotency=once(),
    )


def opened() -> tuple[Scenario, KeyId]:
    scenario = Scenario()
    return scenario, scenario.key(ALICE, MONTH)


def consistent(scenario: Scenario) -> dict[LedgerKey, bytes]:
    """The ledger, once it is seen to be what the log alone makes."""
    assert replayed(scenario.events) == scenario.store
    return scenario.store


def test_what_is_vouched_for_is_restored_with_its_trust_and_what_it_replaced() -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), proven=True)
    milk = begins("milk", key, superseded=(memory("tea"),), settled_by=("time",))
    scenario.given(milk, proven=True)
    tea, now = scenario.record(memory("tea")), scenario.record(memory("milk"))
    assert (tea.lifecycle, tea.version) == (Lifecycle.SUPERSEDED, 2)
    assert (now.lifecycle, now.trust, now.confirmation) == (Lifecycle.ACTIVE, Trust.VERIFIED, Confirmation.CONFIRMED)
    assert scenario.subject(ALICE).records == 2
    consistent(scenario)


def test_a_life_is_restored_step_by_step() -> None:
    scenario, key = opened()
    scenario.given(
        begins("mail", key, MemoryQuarantined, reasons=("untrusted_source",), trust=Trust.UNTRUSTED),
        changes("mail", MemoryConfirmed, 2),
        changes("mail", MemoryPromoted, 3),
        changes("mail", MemoryRetracted, 4),
        begins("spam", key, MemoryQuarantined, reasons=("untrusted_source",)),
        changes("spam", MemoryRejected, 2, reasons=("noise",)),
        proven=True,
    )
    mail, spam = scenario.record(memory("mail")), scenario.record(memory("spam"))
    assert (mail.lifecycle, mail.version, mail.trust) == (Lifecycle.RETRACTED, 4, Trust.VERIFIED)
    assert (spam.lifecycle, spam.version) == (Lifecycle.REJECTED, 2)
    consistent(scenario)


def test_what_would_change_rules_waits_here_whoever_let_it_in_there() -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), proven=True)
    found = (Finding(detector="rules", rule="routing", verdict=Verdict.QUARANTINE),)
    scenario.given(begins("rule", key, superseded=(memory("tea"),), owner="them"), proven=True, findings=found)
    rule = scenario.record(memory("rule"))
    assert (rule.lifecycle, rule.trust, rule.owner) == (Lifecycle.QUARANTINED, Trust.VERIFIED, "them")
    assert rule.supersedes == memory("tea")
    assert scenario.record(memory("tea")).lifecycle is Lifecycle.ACTIVE
    fact = scenario.events[-1].fact
    assert isinstance(fact, MemoryQuarantined)
    assert (fact.policy_influence, fact.reasons, fact.findings) == (True, (Reason.ROUTING,), found)
    # One that a person there let in after it had waited was looked at already.
    waited = begins("seen", key, MemoryQuarantined, reasons=("routing",), policy_influence=True)
    scenario.given(waited, changes("seen", MemoryPromoted, 2), proven=True, findings=found)
    assert scenario.record(memory("seen")).lifecycle is Lifecycle.ACTIVE
    consistent(scenario)


def test_a_waiting_period_is_restored_as_it_was_also_of_what_was_sent_back() -> None:
    scenario, key = opened()
    sent_back = changes("tea", MemorySuspended, 2, reasons=("policy.routing",), reviewable_at=Millis(NOW + 9))
    scenario.given(begins("tea", key), sent_back, proven=True)
    assert scenario.record(memory("tea")).reviewable_at == NOW + 9


def test_a_conflict_is_restored_with_those_that_are_there() -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), proven=True, claim="drink")
    rum = begins("rum", key, contested=(memory("tea"), memory("never brought in")))
    scenario.given(rum, proven=True, claim="drink")
    (fact,) = [event.fact for event in scenario.events[-1:]]
    assert isinstance(fact, MemoryAccepted)
    assert fact.conflicts_with == (ConflictRef(memory_id=memory("tea"), version=2),)
    consistent(scenario)


@pytest.mark.parametrize("waits", [False, True])
def test_a_correction_that_names_no_claim_makes_that_of_what_it_replaces(waits: bool) -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), proven=True, claim="drink")
    if waits:
        milk = begins("milk", key, MemoryQuarantined, reasons=("contradicts",), supersedes=memory("tea"))
    else:
        milk = begins("milk", key, superseded=(memory("tea"),))
    scenario.given(milk, proven=True)
    assert scenario.record(memory("milk")).claim_ref == scenario.record(memory("tea")).claim_ref is not None
    consistent(scenario)


def test_what_is_brought_in_is_held_against_what_was_said_here() -> None:
    scenario, key = opened()
    scenario.given(remember(draft("here", key)), claim="drink", text="tea")
    scenario.given(begins("there", key), proven=True, claim="drink", text="milk")
    fact = scenario.events[-1].fact
    assert isinstance(fact, MemoryAccepted)
    assert fact.conflicts_with == (ConflictRef(memory_id=memory("here"), version=2),)
    # How it stands to others from there is told by the facts from there: they said nothing of a conflict.
    scenario.given(begins("also", key), proven=True, claim="drink", text="water")
    fact = scenario.events[-1].fact
    assert isinstance(fact, MemoryAccepted)
    assert fact.conflicts_with == (ConflictRef(memory_id=memory("here"), version=3),)
    scenario.given(begins("word", key), claim="drink", text="juice")
    fact = scenario.events[-1].fact
    assert isinstance(fact, MemoryQuarantined)
    assert set(fact.conflicts_with) == {memory("here"), memory("there"), memory("also")}
    consistent(scenario)


def test_what_nobody_vouches_for_waits_untrusted_with_the_time_of_now_whatever_it_claims() -> None:
    scenario, key = opened()
    scenario.when(begins("tea", key))
    fact = scenario.events[-1].fact
    assert isinstance(fact, MemoryQuarantined)
    assert (fact.trust, fact.confirmation) == (Trust.UNTRUSTED, Confirmation.PROPOSED)
    assert fact.reasons[0] is Reason.UNPROVEN_IMPORT
    scenario.unchecked = len(scenario.events)
    scenario.when(changes("tea", MemoryPromoted, 2)).then(Refused(reason=Reason.UNPROVEN_IMPORT, field="proof"))


def test_a_signed_change_is_of_the_record_that_was_signed_and_of_no_other_under_its_id() -> None:
    """Else words that nobody vouched for would be put into use by a signature that is about other words."""
    for altered in (begins, lambda name, key: remember(draft(name, key, source_kind=SourceKind.THIRD_PARTY))):
        scenario, key = opened()
        scenario.when(altered("tea", key))
        assert scenario.record(memory("tea")).lifecycle is Lifecycle.QUARANTINED
        scenario.unchecked = len(scenario.events)
        scenario.when(begins("tea", key), proven=True).then(Refused(reason=Reason.VERSION_CONFLICT, current_version=1))
        for change in (changes("tea", MemoryPromoted, 2), changes("tea", MemoryConfirmed, 2)):
            scenario.when(change, proven=True).then(Refused(reason=Reason.UNPROVEN_IMPORT, field="memory_id"))
        consistent(scenario)


def test_nothing_gives_way_to_it_but_what_came_from_there_too() -> None:
    scenario, key = opened()
    scenario.given(remember(draft("tea", key)))
    scenario.given(begins("milk", key, superseded=(memory("tea"),)), proven=True)
    assert scenario.record(memory("tea")).lifecycle is Lifecycle.ACTIVE


def test_an_end_that_no_calendar_has_is_refused() -> None:
    scenario, key = opened()
    tea = begins("tea", key)
    assert tea.draft is not None
    late = replace(tea, draft=replace(tea.draft, expires_at=Millis(253_402_300_800_000)))
    for proven in (True, False):
        scenario.when(late, proven=proven).then(Refused(reason=Reason.EXPIRY_TOO_FAR, field="expires_at"))


@pytest.mark.parametrize("proven", [True, False])
def test_who_or_what_was_forgotten_here_is_erased_whoever_signed(proven: bool) -> None:
    scenario, key = opened()
    scenario.given(remember(draft("tea", key)), text="Prefers tea.").given(forget("tea"))
    scenario.when(begins("tea", key), proven=proven).then(Refused(reason=Reason.ERASED, field="memory_id"))
    scenario.when(begins("again", key), proven=proven, text="Prefers tea.").then(
        Refused(reason=Reason.ERASED, field="statement")
    )
    scenario.given(remember(draft("milk", key)), forget_subject())
    scenario.when(begins("rum", key), proven=proven).then(Refused(reason=Reason.ERASED, field="subject"))
    scenario.when(changes("milk", MemoryRetracted, 2), proven=proven).then(
        Refused(reason=Reason.ERASED, field="memory_id")
    )


def test_what_was_held_on_a_readmitted_person_before_stays_erased() -> None:
    scenario, key = opened()
    scenario.given(remember(draft("tea", key)), forget_subject(), readmit())
    tea = begins("tea", scenario.key(ALICE, MONTH))
    assert tea.draft is not None
    scenario.when(replace(tea, draft=replace(tea.draft, generation=2)), proven=True).then(
        Refused(reason=Reason.ERASED, field="memory_id")
    )


@pytest.mark.parametrize("proven", [True, False])
def test_what_was_exported_here_of_a_forgotten_tenant_is_refused_to_the_next_of_its_name(proven: bool) -> None:
    scenario, _ = opened()
    scenario.given(forget_tenant())
    closed = begins("tea", KeyId("gone"))
    scenario.when(closed, proven=proven, from_here=True).then(Refused(reason=Reason.TENANT_FORGOTTEN, field="tenant"))
    scenario.given(readmit_tenant(), IssueKey(tenant=ACME))
    scenario.given(IssueKey(tenant=ACME, incarnation=2, subject=ALICE, bucket=MONTH))
    issued = scenario.events[-1].fact
    assert isinstance(issued, KeyIssued)
    key = issued.key_id
    old, new = (replace(begins("tea", key, incarnation=each), incarnation=2) for each in (1, 2))
    scenario.when(old, proven=proven, from_here=True).then(Refused(reason=Reason.TENANT_FORGOTTEN, field="restored"))
    # The control: as it is brought in of this tenant, and of the first that had the name in another installation.
    scenario.given(new, proven=True, from_here=True)
    assert scenario.record(memory("tea")).lifecycle is Lifecycle.ACTIVE
    scenario.given(replace(begins("rum", key), incarnation=2), proven=True)
    assert scenario.record(memory("rum")).lifecycle is Lifecycle.ACTIVE


def test_a_record_about_somebody_forgotten_is_erased() -> None:
    scenario, key = opened()
    scenario.key(BOB, MONTH)
    scenario.given(forget_subject(BOB))
    both = begins("both", key)
    assert both.draft is not None
    scenario.when(replace(both, draft=replace(both.draft, about=(BOB,))), proven=True).then(
        Refused(reason=Reason.ERASED, field="about")
    )


def test_a_held_person_takes_nothing_in() -> None:
    scenario, key = opened()
    scenario.given(remember(draft("tea", key)), hold())
    scenario.when(begins("rum", key), proven=True).then(Refused(reason=Reason.SUBJECT_RESTRICTED))


def test_once_more_changes_nothing() -> None:
    scenario, key = opened()
    tea = begins("tea", key)
    scenario.given(tea, proven=True).when(tea, proven=True)
    assert isinstance(scenario.events[-1].fact, CommandDuplicate)
    scenario.unchecked = len(scenario.events)
    scenario.when(replace(tea, idempotency=once()), proven=True).then(
        Refused(reason=Reason.VERSION_CONFLICT, current_version=1)
    )


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (changes("unknown", MemoryRetracted, 2), Reason.NOT_FOUND),
        (changes("tea", MemoryRetracted, 3), Reason.VERSION_CONFLICT),
        (changes("tea", MemoryPromoted, 2), Reason.WRONG_STATE),
        (changes("tea", MemoryAccepted, 2), Reason.WRONG_STATE),
    ],
)
def test_a_change_that_does_not_follow_is_refused(command: RestoreMemory, reason: Reason) -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), proven=True).when(command, proven=True).then(Refused(reason=reason))


def test_a_draft_of_another_record_than_was_named_is_refused() -> None:
    scenario, key = opened()
    scenario.when(replace(begins("tea", key), memory_id=memory("milk")), proven=True).then(
        Refused(reason=Reason.INVALID_FIELD, field="memory_id")
    )


@pytest.mark.parametrize("what", [MemoryRetracted, MemoryQuarantined])
def test_a_beginning_that_is_none_is_refused(what: type) -> None:
    scenario, key = opened()
    scenario.when(begins("tea", key, what), proven=True).then(Refused(reason=Reason.INVALID_FIELD, field="restored"))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"by": AGENT}, Reason.NOT_ALLOWED),
        ({"by": IMPORTER, "signed": False}, Reason.SIGNATURE_REQUIRED),
        ({"writing": Writing.OFF}, Reason.WRITES_OFF),
        ({"writing": Writing.OBSERVE}, Reason.WRITES_OFF),
        ({"failure": Reason.UNREADABLE_BODY}, Reason.UNREADABLE_BODY),
    ],
)
def test_only_who_may_import_does_and_only_where_something_may_be_stored(how: Any, reason: Reason) -> None:
    scenario, key = opened()
    scenario.when(begins("tea", key), proven=True, **how).then(Refused(reason=reason))


def test_what_has_ended_since_is_not_brought_back() -> None:
    scenario, key = opened()
    tea = begins("tea", key)
    assert tea.draft is not None
    scenario.when(replace(tea, draft=replace(tea.draft, expires_at=NOW)), proven=True).then(
        Refused(reason=Reason.EXPIRY_PASSED, field="expires_at")
    )


def built(scenario: Scenario, name: str, on: str, **over: Any) -> RestoreMemory:
    """A record of Alice with a key of its own, built on another."""
    key = scenario.key(ALICE, Bucket(memory(name)))
    sources = (SourceRef(memory_id=memory(on), version=1),)
    return replace(begins(name, key), draft=draft(name, key, derived_from=sources), **over)


def test_lineage_is_brought_in_and_what_was_built_on_a_record_goes_with_it_here_too() -> None:
    scenario, _ = opened()
    tea = draft("tea", scenario.key(BOB, MONTH), subject=BOB)
    scenario.given(replace(begins("tea", tea.key_id), draft=tea), proven=True)
    scenario.given(built(scenario, "note", "tea"), built(scenario, "sum", "note"), proven=True)
    assert scenario.record(memory("tea")).derived == (memory("note"), memory("sum"))
    scenario.given(forget_subject(BOB))
    # Bob's name is in neither draft: the one it was built on concerns him.
    scenario.when(changes("sum", MemoryConfirmed, 2), proven=True).then(Refused(reason=Reason.ERASED))
    consistent(scenario)


@pytest.mark.parametrize("proven", [True, False])
def test_what_was_built_on_something_erased_here_is_refused_for_good_whoever_signed(proven: bool) -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), built(scenario, "note", "tea"), proven=True)
    late, later = built(scenario, "late", "tea"), built(scenario, "later", "note")
    nowhere = built(scenario, "odd", "nowhere")
    scenario.when(nowhere, proven=proven).then(Refused(reason=Reason.NOT_FOUND))
    scenario.given(forget("tea"))
    assert scenario.record(memory("note")).lifecycle is Lifecycle.WITHDRAWN
    for each in (late, later):
        scenario.when(each, proven=proven, text="other words").then(Refused(reason=Reason.ERASED))
    consistent(scenario)


def test_nobody_waits_for_the_key_of_a_record_whose_own_key_was_destroyed() -> None:
    """Asked for so that it can be sealed again; the rest of the file is not held up by it."""
    scenario, key = opened()
    scenario.given(begins("tea", key), built(scenario, "note", "tea"), built(scenario, "sum", "tea"), proven=True)
    ask = IssueKey(tenant=ACME, subject=ALICE, bucket=Bucket(memory("note")))
    there = scenario.ask(ask)
    assert isinstance(there, KeyIssued)
    assert not there.created, "the control: as long as it lives it is the answer"
    scenario.given(forget("note"))
    scenario.when(ask).then(Refused(reason=Reason.ERASED, field="bucket"))
    scenario.given(forget("tea"))
    scenario.when(replace(ask, bucket=Bucket(memory("sum")))).then(Refused(reason=Reason.ERASED, field="bucket"))
    fresh = scenario.ask(replace(ask, bucket=Bucket(memory("another"))))
    assert isinstance(fresh, KeyIssued)
    assert fresh.created


def test_nobody_waits_for_the_key_of_a_record_about_somebody_forgotten() -> None:
    scenario, _ = opened()
    tea = draft("tea", scenario.key(BOB, MONTH), subject=BOB)
    scenario.given(replace(begins("tea", tea.key_id), draft=tea), proven=True)
    scenario.given(built(scenario, "note", "tea"), proven=True)
    scenario.given(forget_subject(BOB))
    ask = IssueKey(tenant=ACME, subject=ALICE, bucket=Bucket(memory("note")))
    scenario.when(ask).then(Refused(reason=Reason.ERASED, field="bucket"))


@pytest.mark.parametrize("proven", [True, False])
def test_a_withdrawn_record_that_is_brought_in_again_is_erased_and_no_duplicate(proven: bool) -> None:
    """Whether it comes under the same command, as the same import once more, or with other words."""
    scenario, key = opened()
    note = built(scenario, "note", "tea")
    scenario.given(begins("tea", key), note, proven=True)
    scenario.given(forget("tea"))
    assert scenario.record(memory("note")).lifecycle is Lifecycle.WITHDRAWN
    for text in ("likes tea", "other words"):
        scenario.when(note, proven=proven, text=text).then(Refused(reason=Reason.ERASED))
    scenario.when(changes("note", MemoryConfirmed, 2), proven=proven).then(Refused(reason=Reason.ERASED))
    consistent(scenario)


@pytest.mark.parametrize(("keep", "reason"), [(True, None), (False, Reason.WRONG_STATE)])
def test_what_was_built_on_something_taken_back_here_is_refused_unless_the_policy_keeps_it(
    keep: bool, reason: Reason | None
) -> None:
    scenario = Scenario(policy=policy_with(POLICY, lineage=LineageRules(retracted=not keep)))
    key = scenario.key(ALICE, MONTH)
    scenario.given(begins("tea", key), changes("tea", MemoryRetracted, 2), proven=True)
    fact = scenario.ask(built(scenario, "note", "tea"), proven=True)
    assert getattr(fact, "reason", None) is reason


def test_of_a_file_that_nobody_vouches_for_a_record_is_let_in_only_after_what_it_was_built_on() -> None:
    scenario, key = opened()
    scenario.given(begins("tea", key), built(scenario, "note", "tea"))
    assert scenario.record(memory("note")).lifecycle is Lifecycle.QUARANTINED
    scenario.when(promote("note", 1)).then(Refused(reason=Reason.WRONG_STATE))
    scenario.given(promote("tea", 1), promote("note", 1))
    assert scenario.record(memory("note")).lifecycle is Lifecycle.ACTIVE
    consistent(scenario)
