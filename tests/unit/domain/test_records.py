"""Promote, reject, confirm, retract, expire and forget one record."""

import pytest
from msgspec import structs

from eunoe.schemas.commands import Command
from eunoe.schemas.events import (
    CommandDuplicate,
    MemoryConfirmed,
    MemoryExpired,
    MemoryForgotten,
    MemoryPromoted,
    MemoryRejected,
    MemoryRetracted,
    Reason,
)
from eunoe.schemas.ids import Bucket, KeyId, Millis
from eunoe.schemas.values import Confirmation, SourceKind, Trust
from unit.domain.samples import (
    ALICE,
    BOB,
    CAROL,
    IN_A_MONTH,
    MONTH,
    OTHER_AGENT,
    REVIEWER,
    ROBOT_REVIEWER,
    SECOND_REVIEWER,
    confirm,
    correct,
    draft,
    expire,
    forget,
    forget_subject,
    memory,
    promote,
    reject,
    remember,
    resolve,
    retract,
    suspend,
)
from unit.domain.scenario import Refused, Scenario


@pytest.fixture
def scenario() -> Scenario:
    """``waiting`` is quarantined, ``used`` active and only proposed."""
    scenario = Scenario()
    key = scenario.key(ALICE, MONTH)
    return scenario.given(
        remember(draft("waiting", key, source_kind=SourceKind.THIRD_PARTY)),
        remember(draft("used", key, source_kind=SourceKind.INFERRED)),
    )


@pytest.fixture
def key(scenario: Scenario) -> KeyId:
    return scenario.key(ALICE, MONTH)


def test_promotion_makes_a_record_verified_and_raises_its_version(scenario: Scenario) -> None:
    scenario.when(promote("waiting")).then(MemoryPromoted(memory_id=memory("waiting"), version=2, trust=Trust.VERIFIED))


def test_only_what_is_quarantined_is_promoted_or_rejected(scenario: Scenario) -> None:
    scenario.when(promote("used"), reject("used")).then(
        Refused(reason=Reason.WRONG_STATE, field="lifecycle", current_version=1),
        Refused(reason=Reason.WRONG_STATE, field="lifecycle", current_version=1),
    )


def test_a_stale_version_is_a_conflict_that_names_the_current_one(scenario: Scenario) -> None:
    scenario.given(confirm("waiting"))
    for command in (promote("waiting"), reject("waiting"), retract("waiting"), expire("waiting"), confirm("waiting")):
        scenario.when(command).then(Refused(reason=Reason.VERSION_CONFLICT, current_version=2))


def test_a_service_never_reviews_even_with_the_right_and_a_signature(scenario: Scenario) -> None:
    for command in (promote("waiting"), reject("waiting"), confirm("waiting")):
        scenario.when(command, by=ROBOT_REVIEWER).then(Refused(reason=Reason.NOT_ALLOWED, field="review"))
    scenario.given(promote("waiting"), by=REVIEWER)


def test_nobody_promotes_or_confirms_what_they_wrote(scenario: Scenario, key: KeyId) -> None:
    scenario.given(remember(draft("own", key, source_kind=SourceKind.THIRD_PARTY)), by=REVIEWER)
    scenario.when(promote("own"), confirm("own"), by=REVIEWER).then(
        Refused(reason=Reason.OWN_MEMORY), Refused(reason=Reason.OWN_MEMORY)
    )
    scenario.given(promote("own"), by=SECOND_REVIEWER)


def test_a_review_needs_a_signature_that_the_verifier_could_not_have_made(scenario: Scenario) -> None:
    for command in (promote("waiting"), reject("waiting"), confirm("waiting"), forget("waiting"), forget_subject()):
        scenario.when(command, signed=False).then(Refused(reason=Reason.SIGNATURE_REQUIRED))


def test_rejection_gives_a_code(scenario: Scenario) -> None:
    scenario.when(reject("waiting", reason="because Alice said so")).then(
        Refused(reason=Reason.INVALID_FIELD, field="reason")
    )
    scenario.when(reject("waiting")).then(MemoryRejected(memory_id=memory("waiting"), version=2, reason="spam"))


def test_what_is_confirmed_is_not_confirmed_again(scenario: Scenario) -> None:
    scenario.when(confirm("used"), confirm("used", 2)).then(
        MemoryConfirmed(memory_id=memory("used"), version=2), Refused(reason=Reason.WRONG_STATE)
    )
    assert scenario.record(memory("used")).confirmation is Confirmation.CONFIRMED


def test_a_retried_promotion_gets_the_first_outcome(scenario: Scenario) -> None:
    command = promote("waiting")
    scenario.given(command)
    first = scenario.events[-1].header.command_id
    scenario.when(command).then(CommandDuplicate(first_command_id=first, memory_id=memory("waiting"), version=2))


@pytest.mark.parametrize("command", [promote("waiting"), confirm("waiting"), confirm("used")])
def test_what_has_expired_is_not_brought_into_use(scenario: Scenario, command: Command) -> None:
    scenario.now = IN_A_MONTH
    scenario.when(command).then(Refused(reason=Reason.EXPIRY_PASSED))


def test_the_author_retracts_and_a_reviewer_may(scenario: Scenario) -> None:
    scenario.when(retract("used"), by=OTHER_AGENT).then(Refused(reason=Reason.NOT_ALLOWED, field="review"))
    scenario.when(retract("used"), by=ROBOT_REVIEWER, signed=True).then(Refused(reason=Reason.NOT_ALLOWED))
    scenario.when(retract("used"), by=REVIEWER).then(Refused(reason=Reason.SIGNATURE_REQUIRED))
    told = structs.replace(retract("used"), reason="because Alice said so")
    scenario.when(told).then(Refused(reason=Reason.INVALID_FIELD, field="reason"))
    scenario.when(retract("used")).then(MemoryRetracted(memory_id=memory("used"), version=2))
    scenario.when(retract("waiting"), by=SECOND_REVIEWER, signed=True).then(
        MemoryRetracted(memory_id=memory("waiting"), version=2)
    )
    scenario.when(retract("used", 2)).then(Refused(reason=Reason.WRONG_STATE))


def test_expiry_is_judged_by_log_time_and_not_due_is_asked_again(scenario: Scenario) -> None:
    scenario.now = Millis(IN_A_MONTH - 1)
    command = expire("used")
    scenario.when(command).then(Refused(reason=Reason.NOT_DUE))
    same = scenario.events[-1].header.command_id
    scenario.now = IN_A_MONTH
    assert scenario.ask_again(command, command_id=same) == MemoryExpired(memory_id=memory("used"), version=2)
    assert scenario.ask_again(command, command_id=same) is None


def test_what_is_over_does_not_expire(scenario: Scenario) -> None:
    scenario.given(retract("used"))
    scenario.now = IN_A_MONTH
    scenario.when(expire("used", 2)).then(Refused(reason=Reason.WRONG_STATE))
    scenario.when(expire("waiting", expires_at=Millis(IN_A_MONTH + 1))).then(
        Refused(reason=Reason.INVALID_FIELD, field="expires_at")
    )
    scenario.given(expire("waiting"))


def test_a_record_is_forgotten_from_any_state_once(scenario: Scenario) -> None:
    scenario.given(retract("used"))
    scenario.when(forget("used"), forget("used"), forget("nobody")).then(
        MemoryForgotten(memory_id=memory("used"), version=3),
        Refused(reason=Reason.ERASED, current_version=3),
        Refused(reason=Reason.NOT_FOUND),
    )


@pytest.mark.parametrize(
    "command",
    [
        promote("waiting"), reject("waiting"), confirm("used"), resolve("used", 1), retract("used"), suspend("used"),
        expire("used"), forget("used"),
    ],
)  # fmt: skip
def test_a_record_of_a_closed_generation_is_gone_for_every_command(scenario: Scenario, command: Command) -> None:
    version = scenario.record(memory("used")).version
    scenario.given(forget_subject())
    scenario.when(command).then(Refused(reason=Reason.ERASED, current_version=version))


def test_forgetting_anyone_a_record_is_about_closes_it(scenario: Scenario) -> None:
    own = scenario.key(ALICE, Bucket(memory("shared")))
    scenario.given(remember(draft("shared", own, about=(BOB, CAROL), source_kind=SourceKind.THIRD_PARTY)))
    scenario.given(forget_subject(CAROL))
    scenario.when(promote("shared"), forget("shared")).then(
        Refused(reason=Reason.ERASED), Refused(reason=Reason.ERASED)
    )
    scenario.given(promote("waiting"))


def test_a_correction_of_what_is_gone_is_not_promoted(scenario: Scenario, key: KeyId) -> None:
    own = scenario.key(ALICE, Bucket(memory("shared")))
    scenario.given(remember(draft("shared", own, about=(BOB,))))
    for name, old in (("first", "shared"), ("second", "used")):
        scenario.given(correct(draft(name, key, source_kind=SourceKind.THIRD_PARTY), old, 1))
    scenario.given(forget_subject(BOB), forget("used"))
    scenario.when(promote("first"), promote("second")).then(
        Refused(reason=Reason.ERASED, field="supersedes", memory_id=memory("shared")),
        Refused(reason=Reason.ERASED, field="supersedes", memory_id=memory("used")),
    )
    assert scenario.record(memory("first")).version == 1
