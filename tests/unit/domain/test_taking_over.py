"""What stands in memory is replaced, let in or answered for only by who may see it, and not by a weaker word."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pytest

from eunoe.domain.admission import AHEAD_MS
from eunoe.schemas.events import ConflictResolved, Fact, MemoryAccepted, MemoryQuarantined, Reason
from eunoe.schemas.ids import KeyId, Millis, PrincipalName
from eunoe.schemas.policy import ConflictRules
from eunoe.schemas.values import ConflictPolicy, Lifecycle, Sensitivity, SourceKind, Trust, Writing
from unit.domain.samples import (
    AGENT,
    ALICE,
    DAY,
    MONTH,
    NOW,
    OTHER_AGENT,
    POLICY,
    REVIEWER,
    SECOND_REVIEWER,
    confirm,
    correct,
    draft,
    memory,
    promote,
    remember,
    resolve,
    retract,
)
from unit.domain.scenario import How, Refused, Scenario

CLERK: Final = PrincipalName("clerk")
"""A writer who may see what is public."""
JUNIOR: Final = PrincipalName("junior")
"""A reviewer who may see what is public."""
COLLEAGUE: Final = PrincipalName("colleague")
"""A writer of the owner of `AGENT`."""
WINDOW: Final = "delivery.window"

_RULES = POLICY.principals
GOVERNED: Final = replace(
    POLICY,
    conflicts=ConflictRules(newer_wins_after=DAY),
    principals=MappingProxyType(
        {
            **_RULES,
            CLERK: replace(_RULES[OTHER_AGENT], name=CLERK, max_sensitivity=Sensitivity.PUBLIC),
            JUNIOR: replace(_RULES[SECOND_REVIEWER], name=JUNIOR, max_sensitivity=Sensitivity.PUBLIC),
            COLLEAGUE: replace(_RULES[OTHER_AGENT], name=COLLEAGUE, owner=_RULES[AGENT].owner),
        }
    ),
)


def _merged(usual: How, how: How | None) -> How:
    return usual if how is None else {**usual, **how}


class Memory(Scenario):
    def open(self) -> "Memory":
        self.key_id: KeyId = self.key(ALICE, MONTH)
        return self

    def say(self, name: str, text: str, how: How | None = None, **changes: Any) -> Fact:
        said: How = {"claim": WINDOW, "text": text}
        return self.ask(remember(draft(name, self.key_id, **changes)), **_merged(said, how))

    def correct(self, how: How | None = None, old: str = "old", **changes: Any) -> Fact:
        """``new`` in place of ``old``, at its version."""
        command = correct(draft("new", self.key_id, **changes), old, self.record(memory(old)).version)
        usual: How = {"claim": WINDOW, "text": "before nine"}
        fact = self.ask(command, **_merged(usual, how))
        self.unchecked = len(self.events)
        return fact

    def holds(self, name: str = "old") -> bool:
        return self.record(memory(name)).lifecycle is Lifecycle.ACTIVE


@pytest.fixture
def told() -> Memory:
    return Memory(policy=GOVERNED).open()


def waits(fact: Fact, *reasons: Reason) -> bool:
    return isinstance(fact, MemoryQuarantined) and fact.reasons == reasons and fact.supersedes == memory("old")


def test_an_author_corrects_what_is_worth_no_more(told: Memory) -> None:
    told.say("old", "after six")
    fact = told.correct()
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes is not None
    assert not fact.claim_changed
    assert not told.holds()


def test_a_guess_does_not_replace_what_the_user_said(told: Memory) -> None:
    told.say("old", "after six")
    assert waits(told.correct(source_kind=SourceKind.INFERRED), Reason.CONTRADICTS)
    assert told.holds()
    told.given(promote("new"))
    assert not told.holds()


def test_nothing_replaces_what_a_reviewer_let_in_but_another_review(told: Memory) -> None:
    told.say("old", "after six", source_kind=SourceKind.THIRD_PARTY)
    told.given(promote("old"))
    assert waits(told.correct(), Reason.CONTRADICTS)


def test_what_a_person_confirmed_is_not_replaced_by_its_own_author(told: Memory) -> None:
    told.say("old", "after six", source_kind=SourceKind.INFERRED)
    told.given(confirm("old"))
    assert waits(told.correct(source_kind=SourceKind.INFERRED), Reason.CONTRADICTS)


def test_what_was_observed_before_does_not_replace_what_was_observed_after(told: Memory) -> None:
    told.say("old", "after six", observed_at=NOW)
    assert waits(told.correct(observed_at=Millis(NOW - 2 * DAY)), Reason.CONTRADICTS)


@pytest.mark.parametrize("side", ["old", "new"])
def test_either_side_may_ask_for_a_person(told: Memory, side: str) -> None:
    asks: dict[str, Any] = {"conflict_policy": ConflictPolicy.REQUIRE_REVIEW}
    told.say("old", "after six", **(asks if side == "old" else {}))
    assert waits(told.correct(**(asks if side == "new" else {})), Reason.CONFLICT_REVIEW)


def test_who_may_not_see_a_record_does_not_replace_it_and_learns_no_version(told: Memory) -> None:
    told.say("old", "after six", sensitivity=Sensitivity.INTERNAL)
    fact = told.correct({"by": CLERK}, sensitivity=Sensitivity.PUBLIC)
    assert Refused(reason=Reason.NOT_ALLOWED, field="max_sensitivity", current_version=None).matches(fact)
    assert told.holds()
    told.say("open", "at noon", {"claim": "lunch"}, sensitivity=Sensitivity.PUBLIC)
    fact = told.correct({"by": CLERK, "claim": "lunch"}, "open", sensitivity=Sensitivity.PUBLIC)
    assert isinstance(fact, MemoryAccepted)


@pytest.mark.parametrize("by", [AGENT, OTHER_AGENT])
def test_a_lower_sensitivity_waits_whoever_asks_for_it(told: Memory, by: PrincipalName) -> None:
    told.say("old", "after six")
    assert waits(told.correct({"by": by}, sensitivity=Sensitivity.PUBLIC), Reason.SENSITIVITY_LOWERED)


def test_a_higher_sensitivity_is_let_in(told: Memory) -> None:
    told.say("old", "after six", sensitivity=Sensitivity.PUBLIC)
    assert isinstance(told.correct(), MemoryAccepted)


def test_another_claim_for_what_somebody_else_wrote_waits(told: Memory) -> None:
    told.say("old", "after six")
    assert waits(told.correct({"by": OTHER_AGENT, "claim": "elsewhere"}), Reason.CLAIM_CHANGED)


def test_another_claim_for_what_one_wrote_oneself_is_recorded(told: Memory) -> None:
    told.say("old", "after six")
    fact = told.correct({"claim": "elsewhere"})
    assert isinstance(fact, MemoryAccepted)
    assert fact.claim_changed


@pytest.mark.parametrize("by", [AGENT, OTHER_AGENT])
def test_a_correction_without_a_claim_makes_that_of_what_it_replaces(told: Memory, by: PrincipalName) -> None:
    told.say("old", "after six")
    fact = told.ask(correct(draft("new", told.key_id), "old", 1), by=by, text="before nine")
    assert isinstance(fact, MemoryAccepted)
    assert fact.claim_ref is not None
    assert not fact.claim_changed
    later = told.say("later", "at noon")
    assert isinstance(later, MemoryAccepted)
    assert [each.memory_id for each in later.conflicts_with] == [memory("new")]


def test_a_correction_without_a_claim_is_held_against_what_stands_beside(told: Memory) -> None:
    told.say("old", "after six")
    told.say("beside", "at noon")
    fact = told.ask(correct(draft("new", told.key_id), "old", 2), text="before nine")
    assert isinstance(fact, MemoryAccepted)
    assert [each.memory_id for each in fact.conflicts_with] == [memory("beside")]


@pytest.mark.parametrize("seen", [Sensitivity.INTERNAL, Sensitivity.PUBLIC])
def test_a_contradiction_does_not_retire_what_its_author_may_not_see_or_what_is_better_kept(
    told: Memory, seen: Sensitivity
) -> None:
    told.say("old", "after six", source_kind=SourceKind.INFERRED, sensitivity=seen)
    fact = told.say("new", "before nine", {"by": CLERK}, sensitivity=Sensitivity.PUBLIC)
    if seen is Sensitivity.PUBLIC:
        assert isinstance(fact, MemoryAccepted)
    else:
        assert isinstance(fact, MemoryQuarantined)
        assert fact.reasons == (Reason.CONFLICT_REVIEW,)
    assert told.holds() is (seen is not Sensitivity.PUBLIC)


def test_nothing_is_observed_that_is_still_to_come(told: Memory) -> None:
    ahead = Millis(NOW + AHEAD_MS)
    told.when(remember(draft("late", told.key_id, observed_at=Millis(ahead + 1)))).then(
        Refused(reason=Reason.OBSERVED_IN_FUTURE, field="observed_at")
    )
    told.given(remember(draft("on-time", told.key_id, observed_at=ahead)), text="x")
    told.when(correct(draft("new", told.key_id, observed_at=Millis(ahead + 1)), "on-time", 1)).then(
        Refused(reason=Reason.OBSERVED_IN_FUTURE, field="observed_at")
    )


def _contested(told: Memory, first: How | None = None, second: How | None = None, **changes: Any) -> int:
    """Two records in conflict; the version of the second, ``new``."""
    told.say("old", "after six", first, **changes)
    told.say("new", "before nine", second, **changes)
    told.unchecked = len(told.events)
    return told.record(memory("new")).version


def test_a_writer_answers_for_what_is_its_owners(told: Memory) -> None:
    version = _contested(told, {"by": COLLEAGUE})
    assert isinstance(told.ask(resolve("new", version, ("old", told.record(memory("old")).version))), ConflictResolved)


def test_who_may_not_see_them_does_not_answer(told: Memory) -> None:
    version = _contested(told)
    told.when(resolve("new", version, ("old", told.record(memory("old")).version)), by=CLERK).then(
        Refused(reason=Reason.NOT_ALLOWED, field="max_sensitivity")
    )
    told.when(resolve("new", version, ("old", told.record(memory("old")).version)), by=JUNIOR, signed=True).then(
        Refused(reason=Reason.NOT_ALLOWED, field="max_sensitivity")
    )


@pytest.mark.parametrize("whose", ["another owner's", "one that asks for a person", "a verified one"])
def test_a_reviewer_answers_where_a_writer_may_not(told: Memory, whose: str) -> None:
    if whose == "a verified one":
        told.say("old", "after six", source_kind=SourceKind.THIRD_PARTY)
        told.given(promote("old"), confirm("old", 2))
        told.say("new", "before nine", observed_at=NOW)
        told.given(promote("new"))
        assert told.record(memory("old")).trust is Trust.VERIFIED
        told.unchecked = len(told.events)
        version = told.record(memory("new")).version
    elif whose == "another owner's":
        version = _contested(told, {"by": OTHER_AGENT})
    else:
        told.say("old", "after six")
        told.say("new", "before nine", conflict_policy=ConflictPolicy.REQUIRE_REVIEW)
        told.given(promote("new"))
        version = told.record(memory("new")).version
    told.when(resolve("new", version, ("old", told.record(memory("old")).version))).then(
        Refused(reason=Reason.NOT_ALLOWED, field="review")
    )
    told.when(resolve("new", version, ("old", told.record(memory("old")).version)), by=REVIEWER).then(
        Refused(reason=Reason.SIGNATURE_REQUIRED)
    )
    assert told.holds()
    assert isinstance(
        told.ask(resolve("new", version, ("old", told.record(memory("old")).version)), by=REVIEWER, signed=True),
        ConflictResolved,
    )
    assert not told.holds()


def test_no_reviewer_answers_for_their_own(told: Memory) -> None:
    version = _contested(told, None, {"by": REVIEWER})
    told.when(resolve("new", version, ("old", told.record(memory("old")).version)), by=REVIEWER, signed=True).then(
        Refused(reason=Reason.OWN_MEMORY)
    )
    assert isinstance(told.ask(resolve("old", 2, ("new", version)), by=REVIEWER, signed=True), ConflictResolved)


def test_no_reviewer_lets_in_or_confirms_what_they_may_not_see(told: Memory) -> None:
    told.say("letter", "after six", source_kind=SourceKind.THIRD_PARTY)
    told.say("guess", "at noon", {"claim": "lunch"}, source_kind=SourceKind.INFERRED)
    told.unchecked = len(told.events)
    unseen = Refused(reason=Reason.NOT_ALLOWED, field="max_sensitivity")
    told.when(promote("letter"), confirm("guess"), by=JUNIOR).then(unseen, unseen)
    told.given(promote("letter"), confirm("guess"))


def test_no_reviewer_replaces_what_they_may_not_see(told: Memory) -> None:
    told.say("old", "after six")
    assert waits(told.correct(sensitivity=Sensitivity.PUBLIC), Reason.SENSITIVITY_LOWERED)
    told.when(promote("new"), by=JUNIOR).then(Refused(reason=Reason.NOT_ALLOWED, field="max_sensitivity"))
    told.given(promote("new"))
    assert not told.holds()


def test_while_nothing_is_shown_nobody_judges_it(told: Memory) -> None:
    told.say("letter", "after six", source_kind=SourceKind.THIRD_PARTY)
    told.say("guess", "at noon", {"claim": "lunch"}, source_kind=SourceKind.INFERRED)
    told.say("one", "a", {"claim": "bus"})
    told.say("two", "b", {"claim": "bus"})
    told.unchecked = len(told.events)
    off = Refused(reason=Reason.READS_OFF)
    told.when(promote("letter"), confirm("guess"), resolve("two", 1), reading=False).then(off, off, off)
    told.when(promote("letter"), reading=False, writing=Writing.OFF).then(Refused(reason=Reason.WRITES_OFF))
    told.given(retract("one", 2), reading=False)
    told.given(promote("letter"), confirm("guess"))
