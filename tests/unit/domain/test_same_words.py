"""What is known already is not kept twice, with or without a claim key, and no echo of memory is new evidence."""

from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pytest

from eunoe.domain.entries import ClaimState, words_key
from eunoe.domain.ledger_state import MOST_WAITING
from eunoe.schemas.events import Fact, MemoryAccepted, MemoryPromoted, MemoryQuarantined, Reason, SupersededRef
from eunoe.schemas.ids import AgentId, KeyId, Millis
from eunoe.schemas.policy import SourceRule
from eunoe.schemas.values import Confirmation, ConflictPolicy, Lifecycle, Sensitivity, SourceKind, Trust, Visibility
from unit.domain.samples import (
    ACME,
    ALICE,
    BOB,
    DAY,
    MONTH,
    NOW,
    POLICY,
    correct,
    draft,
    forget_subject,
    memory,
    promote,
    readmit,
    reject,
    remember,
    retract,
    suspend,
)
from unit.domain.scenario import How, Refused, Scenario, replayed
from unit.domain.test_taking_over import CLERK, COLLEAGUE, GOVERNED, JUNIOR

_SOURCES: Final = {
    kind: SourceRule(kind=kind, trust=trust, confirmation=Confirmation.PROPOSED)
    for kind, trust in ((SourceKind.TOOL, Trust.ASSERTED), (SourceKind.MODEL_OUTPUT, Trust.UNTRUSTED))
}
TEA: Final = "prefers tea"


class Told(Scenario):
    def open(self) -> "Told":
        self.keys = {each: self.key(each, MONTH) for each in (ALICE, BOB)}
        return self

    def say(self, name: str, text: str = TEA, how: How | None = None, **changes: Any) -> Fact:
        key: KeyId = self.keys[changes.get("subject", ALICE)]
        said: How = {"text": text}
        merged: How = said if how is None else {**said, **how}
        return self.ask(remember(draft(name, key, **changes)), **merged)


@pytest.fixture
def told() -> Told:
    sources = MappingProxyType({**POLICY.sources, **_SOURCES})
    return Told(policy=replace(GOVERNED, sources=sources)).open()


DUPLICATE: Final = Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("first"), current_version=1)


@pytest.mark.parametrize("claims", [(None, None), ("drink", None), (None, "drink"), ("drink", "drink")])
def test_the_same_words_are_one_memory_with_or_without_a_claim(
    told: Told, claims: tuple[str | None, str | None]
) -> None:
    hows: list[How] = [{} if claim is None else {"claim": claim} for claim in claims]
    told.say("first", how=hows[0])
    assert DUPLICATE.matches(told.say("again", how=hows[1]))
    assert DUPLICATE.matches(told.say("letter", how=hows[1], source_kind=SourceKind.THIRD_PARTY))


@pytest.mark.parametrize(
    "apart",
    [
        {"subject": BOB},
        {"agent": AgentId("sales-bot")},
        {"purposes": ("sales",)},
        {"purposes": ("support", "sales")},
        {"visibility": Visibility.SHARED},
        {"valid_from": Millis(NOW + DAY)},
    ],
    ids=["subject", "agent", "purpose", "more purposes", "visibility", "time"],
)
def test_elsewhere_or_at_another_time_they_are_another_memory(told: Told, apart: dict[str, Any]) -> None:
    told.say("first", valid_until=Millis(NOW + DAY))
    assert isinstance(told.say("other", **apart), MemoryAccepted)


def test_on_another_claim_they_say_something_else(told: Told) -> None:
    told.say("first", "evening", {"claim": "delivery.window"})
    assert isinstance(told.say("other", "evening", {"claim": "call.window"}), MemoryAccepted)


@pytest.mark.parametrize("end", ["retracted", "expired", "replaced", "subject forgotten"])
def test_what_has_ended_is_repeated_by_nobody(told: Told, end: str) -> None:
    told.say("first", expires_at=Millis(NOW + 20 * DAY)) if end == "expired" else told.say("first")
    match end:
        case "retracted":
            told.given(retract("first"))
        case "expired":
            told.now = Millis(NOW + 20 * DAY)
        case "replaced":
            told.given(correct(draft("new", told.keys[ALICE]), "first", 1))
        case _:
            told.given(forget_subject(), readmit())
            fresh = told.key(ALICE, MONTH)
            assert isinstance(told.ask(remember(draft("again", fresh, generation=2)), text=TEA), MemoryAccepted)
            return
    assert isinstance(told.say("again"), MemoryAccepted)


def test_what_waits_is_nobodys_first_until_it_is_let_in(told: Told) -> None:
    assert isinstance(told.say("letter", source_kind=SourceKind.THIRD_PARTY), MemoryQuarantined)
    assert isinstance(told.say("first"), MemoryAccepted)
    told.given(retract("first"))
    told.given(promote("letter"))
    assert Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("letter")).matches(told.say("again"))
    assert replayed(told.events) == told.store


def test_what_is_let_in_beside_the_same_words_takes_their_place_where_more_stands_behind_it(told: Told) -> None:
    told.say("letter", **LETTER)
    told.say("guess", source_kind=SourceKind.INFERRED)
    fact = told.ask(promote("letter"))
    assert isinstance(fact, MemoryPromoted)
    assert fact.supersedes == SupersededRef(memory_id=memory("guess"), version=2)
    assert told.record(memory("guess")).lifecycle is Lifecycle.SUPERSEDED
    assert Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("letter")).matches(told.say("again", **LETTER))
    assert replayed(told.events) == told.store


def test_what_is_let_in_beside_the_same_words_of_the_person_is_known_already(told: Told) -> None:
    told.say("letter", **LETTER)
    told.say("first")
    assert DUPLICATE.matches(told.ask(promote("letter")))
    assert told.record(memory("letter")).lifecycle is Lifecycle.QUARANTINED
    told.given(retract("first"))
    assert isinstance(told.ask(promote("letter")), MemoryPromoted), "the control"


def test_of_two_that_wait_with_the_same_words_one_is_let_in(told: Told) -> None:
    told.say("letter", **LETTER)
    told.say("other", **LETTER, observed_at=Millis(NOW - DAY))
    told.given(promote("letter"))
    again = Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("letter"), current_version=2)
    assert again.matches(told.ask(promote("other")))


def test_what_waited_again_meets_what_was_said_meanwhile(told: Told) -> None:
    told.say("first", source_kind=SourceKind.INFERRED)
    told.given(suspend("first"))
    told.say("meanwhile")
    meanwhile = Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("meanwhile"), current_version=1)
    assert meanwhile.matches(told.ask(promote("first", 2)))


@pytest.mark.parametrize(
    "apart",
    [{"agent": AgentId("sales-bot")}, {"visibility": Visibility.SHARED}, {"subject": BOB}],
    ids=["agent", "visibility", "subject"],
)
def test_the_same_words_for_other_readers_are_let_in_beside(told: Told, apart: dict[str, Any]) -> None:
    told.say("letter", **LETTER)
    told.say("elsewhere", **apart)
    fact = told.ask(promote("letter"))
    assert isinstance(fact, MemoryPromoted)
    assert (fact.supersedes, fact.conflicts_with) == (None, ())


def test_a_correction_is_not_let_in_beside_the_same_words(told: Told) -> None:
    told.say("old", "prefers coffee", source_kind=SourceKind.INFERRED)
    told.ask(correct(draft("letter", told.keys[ALICE], **LETTER), "old", 1), text=TEA)
    told.say("first", source_kind=SourceKind.INFERRED)
    assert DUPLICATE.matches(told.ask(promote("letter")))
    assert told.record(memory("old")).lifecycle is Lifecycle.ACTIVE


def test_whoever_lets_in_is_not_told_of_what_they_may_not_see(told: Told) -> None:
    told.say("letter", **LETTER, sensitivity=Sensitivity.PUBLIC)
    told.say("first", sensitivity=Sensitivity.INTERNAL)
    hidden = Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("letter"), current_version=None)
    assert hidden.matches(told.ask(promote("letter"), by=JUNIOR))


LETTER: Final[dict[str, Any]] = {"source_kind": SourceKind.THIRD_PARTY}
ONE_ITEM: Final = Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("letter"), current_version=1)


def test_what_waits_already_is_not_queued_twice(told: Told) -> None:
    assert isinstance(told.say("letter", **LETTER), MemoryQuarantined)
    assert ONE_ITEM.matches(told.say("again", **LETTER))
    told.given(reject("letter"))
    assert isinstance(told.say("once more", **LETTER), MemoryQuarantined)
    assert replayed(told.events) == told.store


@pytest.mark.parametrize(
    "apart",
    [
        {"how": {"by": COLLEAGUE}},
        {"observed_at": Millis(NOW - DAY)},
        {"valid_from": Millis(NOW)},
        {"expires_at": Millis(NOW + 20 * DAY)},
        {"agent": AgentId("sales-bot")},
        {"sensitivity": Sensitivity.PUBLIC},
    ],
    ids=lambda each: next(iter(each)),
)
def test_the_same_words_of_anybody_else_or_from_elsewhere_wait_on_their_own(told: Told, apart: dict[str, Any]) -> None:
    told.say("letter", **LETTER)
    assert isinstance(told.say("other", **{**LETTER, **apart}), MemoryQuarantined)
    told.given(retract("letter"))
    assert told.record(memory("other")).lifecycle is Lifecycle.QUARANTINED


def test_what_waits_keeps_nobody_from_saying_it_for_good_and_its_end_frees_the_words(told: Told) -> None:
    told.say("letter", **LETTER, expires_at=Millis(NOW + 20 * DAY))
    assert isinstance(told.say("said"), MemoryAccepted)
    told.now = Millis(NOW + 20 * DAY)
    told.given(retract("said"))
    assert isinstance(told.say("later", **LETTER, expires_at=Millis(NOW + 25 * DAY)), MemoryQuarantined)


def test_many_that_wait_with_the_same_words_do_not_fill_the_index(told: Told) -> None:
    for number in range(MOST_WAITING + 3):
        told.say(f"letter {number}", **LETTER, observed_at=Millis(NOW - number))
    said = told.say("said")
    assert isinstance(said, MemoryAccepted)
    index = told.entry(words_key(ACME, said.content_hash))
    assert isinstance(index, ClaimState)
    assert (len(index.members), index.members[-1]) == (MOST_WAITING + 1, memory("said"))
    told.given(*(reject(f"letter {number}") for number in range(MOST_WAITING + 3)))
    assert told.entry(words_key(ACME, said.content_hash)) == ClaimState(members=(memory("said"),))
    assert replayed(told.events) == told.store


def test_a_correction_may_keep_the_words(told: Told) -> None:
    told.say("first", sensitivity=Sensitivity.INTERNAL)
    fact = told.ask(correct(draft("better", told.keys[ALICE]), "first", 1), text=TEA)
    assert isinstance(fact, MemoryAccepted)
    (index,) = [key for key in told.store if key == words_key(ACME, fact.content_hash)]
    assert told.entry(index) == ClaimState(members=(memory("better"),))


def test_who_may_not_see_the_first_is_not_told_which_it_is(told: Told) -> None:
    told.say("first", sensitivity=Sensitivity.INTERNAL)
    fact = told.say("again", how={"by": CLERK}, sensitivity=Sensitivity.PUBLIC)
    assert Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("again"), current_version=None).matches(fact)


@pytest.mark.parametrize("source", [SourceKind.INFERRED, SourceKind.TOOL, SourceKind.MODEL_OUTPUT])
@pytest.mark.parametrize("own", [True, False], ids=["same scope", "own beside shared"])
def test_an_echo_of_memory_is_no_new_evidence(told: Told, source: SourceKind, own: bool) -> None:
    told.say("first", visibility=Visibility.AGENT if own else Visibility.SHARED)
    echo = Refused(reason=Reason.DERIVED_FROM_MEMORY, field="statement", current_version=None)
    assert echo.matches(told.say("echo", source_kind=source))
    assert not isinstance(told.say("news", "takes sugar", source_kind=source), type(echo))
    assert told.record(memory("news")).version == 1


def test_the_same_words_with_more_behind_them_take_the_place_of_a_guess(told: Told) -> None:
    told.say("guess", source_kind=SourceKind.INFERRED)
    fact = told.say("said")
    assert isinstance(fact, MemoryAccepted)
    assert (fact.supersedes, fact.settled_by) == (
        SupersededRef(memory_id=memory("guess"), version=2),
        ("confirmation",),
    )
    assert told.record(memory("guess")).lifecycle is Lifecycle.SUPERSEDED


@pytest.mark.parametrize(
    "bad",
    [{"conflict_policy": ConflictPolicy.REQUIRE_REVIEW}, {"sensitivity": Sensitivity.PUBLIC}],
    ids=["review", "sensitivity"],
)
def test_but_not_where_a_correction_would_wait(told: Told, bad: dict[str, Any]) -> None:
    told.say("first", source_kind=SourceKind.INFERRED)
    assert DUPLICATE.matches(told.say("said", **bad))
