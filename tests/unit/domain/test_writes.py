"""Remember and correct: versions, idempotency, trust, scope."""

from collections import Counter

import pytest
from msgspec import structs

from eunoe.schemas.commands import IssueKey
from eunoe.schemas.events import (
    CommandDuplicate,
    CommandRejected,
    MemoryAccepted,
    MemoryQuarantined,
    Reason,
    SubjectForgotten,
    SubjectReadmitted,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import AgentId, Bucket, KeyId, Millis, TenantId
from eunoe.schemas.values import Confirmation, Lifecycle, SourceKind, Trust
from unit.domain.samples import (
    ALICE,
    BOB,
    CAROL,
    DAY,
    IN_A_MONTH,
    MONTH,
    NOW,
    OTHER_AGENT,
    confirm,
    correct,
    draft,
    forget_subject,
    memory,
    once,
    promote,
    readmit,
    remember,
    retract,
)
from unit.domain.scenario import Refused, Scenario


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


@pytest.fixture
def key(scenario: Scenario) -> KeyId:
    return scenario.key(ALICE, MONTH)


def test_a_trusted_source_is_active_at_once(scenario: Scenario, key: KeyId) -> None:
    fact = scenario.ask(remember(draft("m", key)))
    assert isinstance(fact, MemoryAccepted)
    assert (fact.trust, fact.confirmation, fact.incarnation) == (Trust.ASSERTED, Confirmation.CONFIRMED, 1)
    state = scenario.record(memory("m"))
    assert (state.lifecycle, state.version, state.author) == (Lifecycle.ACTIVE, 1, "agent")


def test_an_untrusted_source_is_quarantined_however_sure_it_is(scenario: Scenario, key: KeyId) -> None:
    fact = scenario.ask(remember(draft("m", key, source_kind=SourceKind.THIRD_PARTY, confidence=1.0)))
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.UNTRUSTED_SOURCE,)
    assert scenario.record(memory("m")).lifecycle is Lifecycle.QUARANTINED


def test_what_does_not_exist_is_at_version_zero(scenario: Scenario, key: KeyId) -> None:
    scenario.when(remember(draft("m", key), expected_version=1)).then(
        Refused(reason=Reason.VERSION_CONFLICT, memory_id=memory("m"), current_version=0)
    )
    scenario.given(remember(draft("m", key)))
    scenario.when(remember(draft("m", key))).then(
        Refused(reason=Reason.VERSION_CONFLICT, memory_id=memory("m"), current_version=1)
    )


def test_of_two_writers_from_one_version_the_second_reads_again_and_then_wins(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)), correct(draft("first", key), "old", 1))
    scenario.when(correct(draft("second", key), "old", 1)).then(
        Refused(reason=Reason.VERSION_CONFLICT, memory_id=memory("old"), current_version=2)
    )
    scenario.given(correct(draft("second", key), "first", 1))


def test_of_fifty_corrections_at_one_version_one_is_accepted(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    facts = [scenario.ask(correct(draft(f"new-{n}", key), "old", 1)) for n in range(50)]
    outcomes = Counter(fact.reason if isinstance(fact, CommandRejected) else type(fact) for fact in facts)
    assert outcomes == {MemoryAccepted: 1, Reason.VERSION_CONFLICT: 49}
    assert scenario.record(memory("old")).version == 2


def test_a_repeated_command_id_has_no_second_outcome(scenario: Scenario, key: KeyId) -> None:
    command = remember(draft("m", key))
    scenario.given(command)
    same = scenario.events[-1].header.command_id
    count = len(scenario.events)
    assert scenario.ask_again(command, command_id=same) is None
    assert len(scenario.events) == count


def test_a_known_idempotency_key_with_the_same_payload_gets_the_first_outcome(scenario: Scenario, key: KeyId) -> None:
    used = once()
    scenario.given(remember(draft("m", key), idempotency=used))
    first = scenario.events[-1].header.command_id
    scenario.when(remember(draft("m", key), idempotency=used)).then(
        CommandDuplicate(first_command_id=first, memory_id=memory("m"), version=1)
    )
    # Also where the retry proposes another id and another data key: neither is what was asked for.
    scenario.when(remember(draft("n", key), idempotency=used)).then(
        CommandDuplicate(first_command_id=first, memory_id=memory("m"), version=1)
    )


def test_a_known_idempotency_key_with_another_payload_is_refused(scenario: Scenario, key: KeyId) -> None:
    used = once()
    scenario.given(remember(draft("m", key), idempotency=used))
    scenario.when(remember(draft("m", key), idempotency=used), text="something else").then(
        Refused(reason=Reason.IDEMPOTENCY_MISMATCH, field="idempotency")
    )
    scenario.when(remember(draft("m", key, confidence=0.1), idempotency=used)).then(
        Refused(reason=Reason.IDEMPOTENCY_MISMATCH)
    )


def test_a_refusal_does_not_use_up_the_idempotency_key(scenario: Scenario, key: KeyId) -> None:
    used = once()
    scenario.when(remember(draft("m", key), idempotency=used, expected_version=5)).then(
        Refused(reason=Reason.VERSION_CONFLICT)
    )
    scenario.given(remember(draft("m", key), idempotency=used))


def test_an_idempotency_key_lapses_by_log_time(scenario: Scenario, key: KeyId) -> None:
    used = once()
    scenario.given(remember(draft("m", key, expires_at=Millis(NOW + 29 * DAY)), idempotency=used))
    retention = scenario.policy.idempotency_retention
    scenario.now = Millis(NOW + retention)
    late = Millis(scenario.now + 20 * DAY)
    bucket = Bucket("2027-03")
    again = draft("n", scenario.key(ALICE, bucket), expires_at=late)
    scenario.when(remember(again, idempotency=used)).then(Refused(reason=Reason.IDEMPOTENCY_MISMATCH))
    scenario.now = Millis(scenario.now + 1)
    scenario.given(remember(again, idempotency=used))
    # It counts from the newer one on.
    scenario.when(remember(again, idempotency=used)).then(
        CommandDuplicate(first_command_id=scenario.events[-2].header.command_id, memory_id=memory("n"), version=1)
    )


def test_a_retry_computes_another_expiry_from_the_same_ttl_and_is_the_same_request(
    scenario: Scenario, key: KeyId
) -> None:
    used, ttl = once(), 30 * DAY
    scenario.given(remember(draft("m", key, ttl=ttl), idempotency=used))
    scenario.now = Millis(NOW + 3 * DAY)
    retry = draft("m", key, ttl=ttl, expires_at=Millis(scenario.now + ttl))
    assert isinstance(scenario.ask(remember(retry, idempotency=used)), CommandDuplicate)
    # Where the author named the instant itself, another instant is another request.
    scenario.given(remember(draft("n", key), idempotency=(named := once())))
    moved = draft("n", key, expires_at=Millis(IN_A_MONTH + 1))
    scenario.unchecked = len(scenario.events)
    scenario.when(remember(moved, idempotency=named)).then(Refused(reason=Reason.IDEMPOTENCY_MISMATCH))


@pytest.mark.parametrize("idempotency", [b"short", b"x" * 17])
def test_an_idempotency_key_is_a_hash_of_sixteen_bytes(scenario: Scenario, key: KeyId, idempotency: bytes) -> None:
    scenario.when(remember(draft("m", key), idempotency=idempotency)).then(
        Refused(reason=Reason.INVALID_FIELD, field="idempotency")
    )


def test_an_accepted_correction_supersedes_in_the_same_fact(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    fact = scenario.ask(correct(draft("new", key), "old", 1))
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes == SupersededRef(memory_id=memory("old"), version=2)
    assert scenario.record(memory("old")).lifecycle is Lifecycle.SUPERSEDED


def test_a_quarantined_correction_replaces_only_when_promoted(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    scenario.given(correct(draft("new", key, source_kind=SourceKind.THIRD_PARTY), "old", 1))
    assert scenario.record(memory("old")).lifecycle is Lifecycle.ACTIVE
    assert scenario.record(memory("new")).supersedes == memory("old")
    scenario.given(promote("new"))
    assert scenario.record(memory("old")).lifecycle is Lifecycle.SUPERSEDED
    assert scenario.record(memory("new")).supersedes is None


def test_of_two_pending_corrections_only_the_first_promoted_replaces(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    for name in ("one", "two"):
        scenario.given(correct(draft(name, key, source_kind=SourceKind.THIRD_PARTY), "old", 1))
    scenario.given(promote("one"))
    scenario.when(promote("two")).then(
        Refused(reason=Reason.WRONG_STATE, field="supersedes", memory_id=memory("old"), current_version=2)
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"agent": AgentId("sales-bot")}, "agent"),
        ({"purposes": ("sales",)}, "purposes"),
        ({"purposes": ("support", "sales")}, "purposes"),
    ],
)
def test_a_correction_stays_in_scope(scenario: Scenario, key: KeyId, changes: dict[str, object], field: str) -> None:
    scenario.given(remember(draft("old", key)))
    scenario.when(correct(draft("new", key, **changes), "old", 1)).then(
        Refused(reason=Reason.OTHER_SCOPE, field=field, memory_id=memory("old"))
    )
    scenario.given(correct(draft("new", key), "old", 1), by=OTHER_AGENT)


def test_a_correction_stays_with_its_subject(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    other = draft("new", scenario.key(BOB, MONTH), subject=BOB)
    scenario.when(correct(other, "old", 1)).then(Refused(reason=Reason.OTHER_SCOPE, field="subject"))


def test_purposes_are_a_set(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key, purposes=("support", "sales"))))
    scenario.given(correct(draft("new", key, purposes=("sales", "support")), "old", 1))


def test_a_correction_in_another_tenant_finds_nothing(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)))
    elsewhere = TenantId("acme-2")
    scenario.given(IssueKey(tenant=elsewhere))
    command = structs.replace(correct(draft("new", key), "old", 1), tenant=elsewhere)
    scenario.when(command).then(Refused(reason=Reason.UNKNOWN_KEY))
    scenario.key(ALICE, MONTH, elsewhere)
    own = scenario.key(ALICE, MONTH, elsewhere)
    command = structs.replace(correct(draft("new", own), "old", 1), tenant=elsewhere)
    scenario.when(command).then(Refused(reason=Reason.NOT_FOUND, field="supersedes"))


def test_what_is_not_active_cannot_be_corrected(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("retracted", key)), retract("retracted"))
    scenario.given(remember(draft("waiting", key, source_kind=SourceKind.THIRD_PARTY)))
    scenario.when(correct(draft("new", key), "retracted", 2)).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(correct(draft("new", key), "waiting", 1)).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(correct(draft("new", key), "unknown", 1)).then(Refused(reason=Reason.NOT_FOUND))


def test_what_has_expired_cannot_be_corrected_even_before_the_sweeper_says_so(scenario: Scenario, key: KeyId) -> None:
    this_month = scenario.key(ALICE, Bucket("2027-01"))
    scenario.given(remember(draft("old", this_month, expires_at=Millis(NOW + DAY))))
    scenario.now = Millis(NOW + DAY)
    scenario.when(correct(draft("new", key), "old", 1)).then(Refused(reason=Reason.EXPIRY_PASSED))


def test_the_id_of_a_correction_must_be_new(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)), remember(draft("taken", key)))
    scenario.when(correct(draft("taken", key), "old", 1)).then(
        Refused(reason=Reason.VERSION_CONFLICT, memory_id=memory("taken"))
    )
    scenario.when(correct(draft("old", key), "old", 1)).then(Refused(reason=Reason.VERSION_CONFLICT))


def test_a_confirmed_record_is_corrected_at_its_new_version(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key, source_kind=SourceKind.INFERRED)), confirm("old"))
    scenario.when(correct(draft("new", key), "old", 1)).then(Refused(reason=Reason.VERSION_CONFLICT, current_version=2))
    scenario.given(correct(draft("new", key), "old", 2))


def test_a_closed_subject_is_told_from_an_unknown_key(scenario: Scenario, key: KeyId) -> None:
    scenario.when(remember(draft("m", KeyId("no-such-key")))).then(Refused(reason=Reason.UNKNOWN_KEY, field="key_id"))
    used = once()
    scenario.given(remember(draft("m", key), idempotency=used), forget_subject())
    scenario.when(remember(draft("n", key))).then(Refused(reason=Reason.SUBJECT_CLOSED, field="subject"))
    scenario.when(remember(draft("n", KeyId("no-such-key")))).then(Refused(reason=Reason.SUBJECT_CLOSED))
    # A retry of what was forgotten is not told that it holds.
    scenario.when(remember(draft("m", key), idempotency=used)).then(Refused(reason=Reason.SUBJECT_CLOSED))


def test_after_readmission_only_the_new_generation_is_open(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("old", key)), forget_subject(), readmit())
    scenario.when(remember(draft("m", key))).then(Refused(reason=Reason.SUBJECT_CLOSED))
    scenario.when(remember(draft("m", key, generation=2))).then(Refused(reason=Reason.WRONG_KEY))
    fresh = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("m", fresh, generation=2)))
    scenario.when(correct(draft("n", fresh, generation=2), "old", 1)).then(
        Refused(reason=Reason.ERASED, memory_id=memory("old"))
    )
    scenario.when(remember(draft("old", fresh, generation=2))).then(
        Refused(reason=Reason.ERASED, field="memory_id", memory_id=memory("old"))
    )


def test_a_yes_that_no_longer_holds_is_decided_anew(scenario: Scenario, key: KeyId) -> None:
    """To forget again, after a readmission: a duplicate would be a yes while the person can be read about."""
    first, second = once(), once()
    scenario.given(remember(draft("m", key)), forget_subject(idempotency=first))
    assert type(scenario.ask(forget_subject(idempotency=first))) is CommandDuplicate
    assert type(scenario.ask(readmit(idempotency=second))) is SubjectReadmitted
    assert type(scenario.ask(readmit(idempotency=second))) is CommandDuplicate
    assert type(scenario.ask(forget_subject(idempotency=first))) is SubjectForgotten
    assert type(scenario.ask(readmit(idempotency=second))) is SubjectReadmitted


def test_a_tenant_is_opened_first() -> None:
    Scenario().when(remember(draft("m", KeyId("k")))).then(Refused(reason=Reason.TENANT_NOT_OPEN))


def test_a_body_that_could_not_be_opened_is_refused_with_the_shells_reason(scenario: Scenario, key: KeyId) -> None:
    scenario.when(remember(draft("m", key)), failure=Reason.UNREADABLE_BODY).then(
        Refused(reason=Reason.UNREADABLE_BODY, field="body")
    )


def test_people_a_record_is_about_are_named_with_their_generation(scenario: Scenario) -> None:
    scenario.key(BOB, MONTH)
    scenario.given(forget_subject(BOB), readmit(BOB))
    own = scenario.key(ALICE, Bucket(memory("m")))
    fact = scenario.ask(remember(draft("m", own, about=(BOB, CAROL))))
    assert isinstance(fact, MemoryAccepted)
    assert fact.about == (SubjectRef(subject=BOB, generation=2), SubjectRef(subject=CAROL, generation=1))
    assert [scenario.subject(each).records for each in (ALICE, BOB, CAROL)] == [1, 1, 1]
