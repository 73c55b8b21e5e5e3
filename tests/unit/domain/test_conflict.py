"""Contradictions: same claim, same reader, other words. Settled only by signals that agree; else asked about."""

from dataclasses import replace
from typing import Any

import pytest

from eunoe.domain.entries import ClaimState, claim_key
from eunoe.schemas.events import (
    CommandRejected,
    ConflictResolved,
    Fact,
    Finding,
    MemoryAccepted,
    MemoryPromoted,
    MemoryQuarantined,
    Reason,
    SupersededRef,
)
from eunoe.schemas.ids import KeyId, LogId, MemoryId, Millis, Offset, Partition, PrincipalName
from eunoe.schemas.outcomes import outcome_of
from eunoe.schemas.policy import ConflictRules
from eunoe.schemas.values import ConflictPolicy, Lifecycle, Sensitivity, SourceKind, Verdict, Visibility
from unit.domain.samples import (
    ACME,
    AGENT,
    ALICE,
    DAY,
    IN_A_MONTH,
    MONTH,
    NOW,
    POLICY,
    REVIEWER,
    confirm,
    correct,
    draft,
    expire,
    forget,
    hold,
    lift,
    memory,
    promote,
    reject,
    remember,
    resolve,
    retract,
    suspend,
)
from unit.domain.scenario import How, Refused, Scenario, replayed

WINDOW = "delivery.window"


class Claims(Scenario):
    """A scenario in which every record says something about one claim."""

    def open(self) -> "Claims":
        self.key_id: KeyId = self.key(ALICE, MONTH)
        return self

    def say(self, name: str, text: str, claim: str = WINDOW, **changes: Any) -> Fact:
        return self.ask(remember(draft(name, self.key_id, **changes)), text=text, claim=claim)


def claims(newer_wins_after: int | None = None) -> Claims:
    policy = replace(POLICY, conflicts=ConflictRules(newer_wins_after=newer_wins_after))
    return Claims(policy=policy).open()


def contested(fact: Fact) -> list[str]:
    assert isinstance(fact, MemoryAccepted | MemoryPromoted)
    return [each.memory_id for each in fact.conflicts_with]


def named(told: Claims) -> tuple[MemoryId, ...]:
    """What the outcome of the last command names."""
    outcome = outcome_of(told.events[-1], LogId("log"), Partition(0), Offset(0))
    assert outcome is not None
    return outcome.conflicts


def test_equal_sources_that_disagree_stay_both_and_are_marked() -> None:
    told = claims()
    told.say("evening", "after six")
    fact = told.say("morning", "before nine")
    assert contested(fact) == [memory("evening")]
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes is None
    assert told.record(memory("evening")).lifecycle is Lifecycle.ACTIVE
    assert told.record(memory("evening")).version == 2  # whoever corrects it has to look again


@pytest.mark.parametrize("source", [SourceKind.USER_EXPLICIT, SourceKind.THIRD_PARTY])
def test_a_rival_that_the_author_may_not_read_is_marked_and_not_named(source: SourceKind) -> None:
    told = claims()
    told.say("evening", "after six")
    rule = replace(told.policy.principals[AGENT], max_sensitivity=Sensitivity.INTERNAL)
    told.policy = replace(told.policy, principals={**told.policy.principals, AGENT: rule})
    fact = told.say("morning", "before nine", source_kind=source, sensitivity=Sensitivity.INTERNAL)
    assert isinstance(fact, MemoryAccepted | MemoryQuarantined)
    assert (len(fact.conflicts_with), fact.unnamed) == (1, (memory("evening"),))
    assert named(told) == ()


def test_a_rival_that_the_author_may_read_is_named() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    assert named(told) == (memory("evening"),)


def test_another_claim_is_no_contradiction_however_similar() -> None:
    told = claims()
    told.say("mine", "likes tea", claim="favourite.drink")
    assert contested(told.say("brothers", "likes coffee", claim="brother.favourite.drink")) == []


def test_a_claim_in_any_script_is_one_claim() -> None:
    told = claims()
    told.say("first", "18時以降", claim="配達.時間帯")
    assert contested(told.say("second", "9時まで", claim="配達.時間帯")) == [memory("first")]


def test_a_confirmed_statement_beats_a_proposed_one_and_says_why() -> None:
    told = claims()
    told.say("guess", "after six", source_kind=SourceKind.INFERRED)
    fact = told.say("said", "before nine")
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes == SupersededRef(memory_id=memory("guess"), version=2)
    assert fact.settled_by == ("confirmation",)
    assert told.record(memory("guess")).lifecycle is Lifecycle.SUPERSEDED


def test_a_guess_against_a_confirmed_statement_waits_for_a_person() -> None:
    told = claims()
    told.say("said", "before nine")
    fact = told.say("guess", "after six", source_kind=SourceKind.INFERRED)
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.CONTRADICTS,)
    assert fact.conflicts_with == (memory("said"),)
    assert told.record(memory("said")).version == 1


@pytest.mark.parametrize(
    ("newer_wins_after", "later", "settled"),
    [(None, 300 * DAY, ()), (2 * DAY, DAY, ()), (2 * DAY, 2 * DAY, ("time",))],
    ids=["never", "too close", "late enough"],
)
def test_time_counts_only_as_far_as_the_policy_says(
    newer_wins_after: int | None, later: int, settled: tuple[str, ...]
) -> None:
    told = claims(newer_wins_after)
    told.say("old", "after six", observed_at=Millis(NOW - later))
    fact = told.say("new", "before nine", observed_at=NOW)
    assert isinstance(fact, MemoryAccepted)
    assert fact.settled_by == settled
    assert contested(fact) == ([] if settled else [memory("old")])


def test_signals_that_point_both_ways_are_a_tie() -> None:
    told = claims(newer_wins_after=DAY)
    told.say("said", "after six", observed_at=Millis(NOW - 30 * DAY))
    fact = told.say("guess", "before nine", source_kind=SourceKind.INFERRED, observed_at=NOW)
    assert contested(fact) == [memory("said")]


def test_an_older_statement_told_late_does_not_win() -> None:
    told = claims(newer_wins_after=DAY)
    told.say("new", "before nine", observed_at=NOW)
    fact = told.say("old", "after six", observed_at=Millis(NOW - 30 * DAY))
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.CONTRADICTS,)


@pytest.mark.parametrize("side", ["old", "new"])
def test_either_side_may_ask_for_review(side: str) -> None:
    told = claims(newer_wins_after=DAY)
    wants = {"conflict_policy": ConflictPolicy.REQUIRE_REVIEW}
    told.say("old", "after six", observed_at=Millis(NOW - 30 * DAY), **(wants if side == "old" else {}))
    fact = told.say("new", "before nine", observed_at=NOW, **(wants if side == "new" else {}))
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.CONFLICT_REVIEW,)


def test_the_same_words_twice_are_one_memory() -> None:
    told = claims()
    told.say("first", "after six")
    told.when(remember(draft("again", told.key_id)), text="after six", claim=WINDOW)
    told.unchecked = len(told.events) - 1
    told.then(Refused(reason=Reason.DUPLICATE_MEMORY, memory_id=memory("first"), current_version=1))


@pytest.mark.parametrize(
    "apart",
    [
        {"purposes": ("sales",)},
        {"agent": "sales-bot"},
        {"valid_from": Millis(NOW + DAY)},
    ],
    ids=["purpose", "agent", "time"],
)
def test_what_no_reader_gets_together_is_no_contradiction(apart: dict[str, Any]) -> None:
    told = claims()
    told.say("one", "after six", valid_until=Millis(NOW + DAY))
    assert contested(told.say("other", "before nine", **apart)) == []


def test_shared_and_own_records_meet_in_one_reader_and_never_replace_each_other() -> None:
    told = claims(newer_wins_after=DAY)
    told.say("shared", "after six", visibility=Visibility.SHARED, agent="other-bot", observed_at=Millis(NOW - 9 * DAY))
    assert contested(told.say("own", "before nine", observed_at=NOW)) == [memory("shared")]


def test_what_has_ended_contradicts_nobody() -> None:
    told = claims()
    told.say("retracted", "a")
    told.given(retract("retracted"))
    told.say("forgotten", "b")
    told.given(forget("forgotten"))
    told.say("short", "c", expires_at=Millis(NOW + 1_000))
    told.now = Millis(NOW + 2_000)
    assert contested(told.say("newcomer", "d")) == []


def test_an_answer_upholds_one_and_retires_the_rest_in_one_fact() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    told.say("noon", "at noon")
    version = told.record(memory("morning")).version
    told.given(resolve("morning", version, ("evening", 3), ("noon", 1)))
    fact = told.events[-1].fact
    assert isinstance(fact, ConflictResolved)
    assert {each.memory_id for each in fact.superseded} == {memory("evening"), memory("noon")}
    assert [told.record(memory(name)).lifecycle for name in ("evening", "morning", "noon")] == [
        Lifecycle.SUPERSEDED,
        Lifecycle.ACTIVE,
        Lifecycle.SUPERSEDED,
    ]
    told.when(resolve("morning", version + 1)).then(Refused(reason=Reason.NO_CONFLICT))


def test_an_answer_from_an_old_look_is_refused() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    told.unchecked = len(told.events)
    told.when(resolve("evening", 1)).then(Refused(reason=Reason.VERSION_CONFLICT, current_version=2))
    told.when(resolve("evening", 2, ("morning", 2))).then(
        Refused(reason=Reason.VERSION_CONFLICT, field="over", memory_id=memory("morning"), current_version=1)
    )


def test_an_answer_retires_what_it_names_as_it_was_seen_and_names_all_of_it() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    told.say("lunch", "at the canteen", "lunch")
    seen = ("evening", told.record(memory("evening")).version)
    told.say("noon", "at noon")  # came while somebody looked at the two
    version = told.record(memory("morning")).version
    changed: dict[str, Any] = {"field": "over", "memory_id": memory("evening"), "current_version": seen[1] + 1}
    came: dict[str, Any] = {"field": "over", "memory_id": memory("noon"), "current_version": 1}
    told.unchecked = len(told.events)
    now = ("evening", seen[1] + 1)
    told.when(
        resolve("morning", version),
        resolve("morning", version, seen, ("noon", 1)),
        resolve("morning", version, now),
        resolve("morning", version, now, ("noon", 1), ("lunch", 1)),
    ).then(
        Refused(reason=Reason.VERSION_CONFLICT, **changed),
        Refused(reason=Reason.VERSION_CONFLICT, **changed),
        Refused(reason=Reason.VERSION_CONFLICT, **came),
        Refused(reason=Reason.NO_CONFLICT, field="over", memory_id=memory("lunch")),
    )
    assert isinstance(told.ask(resolve("morning", version, now, ("noon", 1))), ConflictResolved)


def test_an_answer_retires_nothing_of_which_a_reader_would_be_left_with_nothing() -> None:
    told = claims()
    wide: dict[str, Any] = {"purposes": ("sales", "support")}
    told.say("wide", "after six", **wide)
    told.say("narrow", "before nine", purposes=("support",))
    told.unchecked = len(told.events)
    told.when(resolve("narrow", 1, ("wide", 2))).then(Refused(reason=Reason.OTHER_SCOPE, memory_id=memory("wide")))
    told.when(resolve("wide", 2, ("narrow", 1))).then(
        ConflictResolved(
            memory_id=memory("wide"), version=3, superseded=(SupersededRef(memory_id=memory("narrow"), version=2),)
        )
    )
    told = claims()
    told.say("shared", "after six", visibility=Visibility.SHARED, agent="other-bot")
    told.say("own", "before nine")
    told.unchecked = len(told.events)
    told.when(resolve("own", 1, ("shared", 2))).then(Refused(reason=Reason.OTHER_SCOPE, memory_id=memory("shared")))
    told.given(resolve("shared", 2, ("own", 1)))
    told = claims()
    told.say("anywhere", "after six")
    told.say("web", "before nine", surfaces=("web",))
    told.unchecked = len(told.events)
    told.when(resolve("web", 1, ("anywhere", 2))).then(Refused(reason=Reason.OTHER_SCOPE, memory_id=memory("anywhere")))


def test_what_holds_no_more_contradicts_nobody_and_no_twin_of_it_is_a_duplicate() -> None:
    told = claims()
    told.say("once", "after six", valid_until=Millis(NOW + 1_000))
    told.now = Millis(NOW + 2_000)
    assert contested(told.say("now", "before nine")) == []
    told = claims()
    told.say("once", "after six", valid_until=Millis(NOW + 1_000))
    assert contested(told.say("soon", "before nine", valid_from=Millis(NOW + 500))) == [memory("once")]


def waiting(told: Claims, name: str, text: str, **over: Any) -> None:
    """One that waits for a reason of its own, and would be worth as much as any when let in."""
    found = (Finding(detector="rules", rule="odd", verdict=Verdict.QUARANTINE),)
    command = remember(draft(name, told.key_id, source_kind=SourceKind.USER_EXPLICIT, **over))
    told.ask(command, text=text, claim=WINDOW, findings=found)
    assert told.record(memory(name)).lifecycle is Lifecycle.QUARANTINED


def test_an_approval_retires_only_what_it_names_as_it_was_seen() -> None:
    told = claims()
    told.say("said", "before nine", source_kind=SourceKind.USER_EXPLICIT)
    waiting(told, "letter", "after six")
    told.say("since", "at noon", source_kind=SourceKind.USER_EXPLICIT)
    told.unchecked = len(told.events)
    told.when(
        promote("letter", replaces=("said", 1)),
        promote("letter", replaces=("nothing", 1)),
        promote("letter", replaces=("letter", 1)),
    ).then(
        Refused(reason=Reason.VERSION_CONFLICT, field="replaces", memory_id=memory("said"), current_version=2),
        Refused(reason=Reason.NO_CONFLICT, field="replaces", memory_id=memory("nothing")),
        Refused(reason=Reason.NO_CONFLICT, field="replaces", memory_id=memory("letter")),
    )
    told.given(promote("letter", replaces=("said", 2)))
    fact = told.events[-1].fact
    assert isinstance(fact, MemoryPromoted)
    assert fact.supersedes == SupersededRef(memory_id=memory("said"), version=3)
    assert contested(fact) == [memory("since")]
    told.given(resolve("since", told.record(memory("since")).version, ("letter", 2)), by=REVIEWER, signed=True)


def test_an_approval_that_names_nothing_settles_nothing_however_much_would_speak_for_it() -> None:
    told = claims()
    told.say("said", "before nine", source_kind=SourceKind.INFERRED)
    waiting(told, "letter", "after six")
    told.given(promote("letter"))
    fact = told.events[-1].fact
    assert isinstance(fact, MemoryPromoted)
    assert (fact.supersedes, contested(fact)) == (None, [memory("said")])
    # Nor does one that comes back into the conflict it was taken out of.
    told.given(suspend("letter", 2))
    told.given(promote("letter", 3))
    fact = told.events[-1].fact
    assert isinstance(fact, MemoryPromoted)
    assert (fact.supersedes, contested(fact)) == (None, [memory("said")])


def test_an_approval_leaves_no_reader_of_what_it_names_with_nothing() -> None:
    told = claims()
    told.say("wide", "before nine", purposes=("sales", "support"))
    waiting(told, "narrow", "after six", purposes=("support",))
    told.unchecked = len(told.events)
    told.when(promote("narrow", replaces=("wide", 1))).then(
        Refused(reason=Reason.OTHER_SCOPE, memory_id=memory("wide"), current_version=1)
    )
    told.given(promote("narrow"))


def test_a_correction_that_waits_replaces_what_its_author_saw_or_what_the_reviewer_says_they_saw() -> None:
    told = claims()
    told.say("said", "before nine", source_kind=SourceKind.INFERRED)
    told.ask(
        correct(draft("newer", told.key_id, source_kind=SourceKind.THIRD_PARTY), "said", 1),
        text="after six",
        claim=WINDOW,
    )
    told.given(confirm("said"))
    told.when(
        promote("newer"),
        promote("newer", replaces=("said", 1)),
        promote("newer", replaces=("other", 2)),
    ).then(
        Refused(reason=Reason.VERSION_CONFLICT, field="supersedes", memory_id=memory("said"), current_version=2),
        Refused(reason=Reason.VERSION_CONFLICT, field="supersedes", memory_id=memory("said"), current_version=2),
        Refused(reason=Reason.INVALID_FIELD, field="replaces"),
    )
    told.given(promote("newer", replaces=("said", 2)))
    assert told.record(memory("said")).lifecycle is Lifecycle.SUPERSEDED


def test_another_owner_s_side_of_an_open_conflict_is_not_corrected_past_a_reviewer() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    version = told.record(memory("evening")).version
    other = replace(told.policy.principals[AGENT], name=PrincipalName("elsewhere"), owner="another team")
    told.policy = replace(told.policy, principals={**told.policy.principals, PrincipalName("elsewhere"): other})
    command = correct(draft("mine", told.key_id), "evening", version)
    fact = told.ask(command, text="at noon", claim=WINDOW, by=PrincipalName("elsewhere"))
    assert isinstance(fact, MemoryQuarantined), fact
    assert Reason.CONFLICT_REVIEW in fact.reasons
    own = told.ask(correct(draft("own", told.key_id), "evening", version), text="at one", claim=WINDOW)
    assert isinstance(own, MemoryAccepted), "its owner may go on correcting it"


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"visibility": Visibility.SHARED}, "visibility"), ({"surfaces": ("web",)}, "surfaces")],
)
def test_a_correction_has_the_readers_of_what_it_replaces(changed: dict[str, Any], field: str) -> None:
    told = claims()
    told.say("said", "before nine")
    told.unchecked = len(told.events)
    told.when(correct(draft("newer", told.key_id, **changed), "said", 1), text="after six", claim=WINDOW).then(
        Refused(reason=Reason.OTHER_SCOPE, field=field, memory_id=memory("said"))
    )


def test_a_reviewer_who_lets_one_in_is_not_taken_to_have_settled_the_contradiction() -> None:
    told = claims()
    told.say("said", "before nine")
    told.say("letter", "after six", source_kind=SourceKind.THIRD_PARTY)
    told.given(promote("letter"))
    fact = told.events[-1].fact
    assert isinstance(fact, MemoryPromoted)
    assert contested(fact) == [memory("said")]


def test_a_correction_retires_what_it_names_and_nothing_else() -> None:
    told = claims(newer_wins_after=DAY)
    told.say("one", "after six", observed_at=Millis(NOW - 9 * DAY))
    told.say("two", "before nine", observed_at=Millis(NOW - 9 * DAY))
    version = told.record(memory("one")).version
    fact = told.ask(correct(draft("three", told.key_id, observed_at=NOW), "one", version), text="at noon", claim=WINDOW)
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes is not None
    assert fact.supersedes.memory_id == memory("one")
    assert contested(fact) == [memory("two")]


def test_the_claim_is_followed_from_the_log_alone() -> None:
    told = claims()
    told.say("evening", "after six")
    told.say("morning", "before nine")
    told.say("noon", "at noon", expires_at=IN_A_MONTH)
    told.given(resolve("morning", 2, ("evening", 3), ("noon", 1)))
    told.now = IN_A_MONTH
    told.given(expire("morning", told.record(memory("morning")).version))
    assert replayed(told.events) == told.store
    fact = next(each.fact for each in told.events if isinstance(each.fact, MemoryAccepted))
    assert fact.claim_ref is not None
    assert told.entry(claim_key(ACME, fact.claim_ref)) == ClaimState(members=())


def test_a_correction_in_the_words_of_another_record_takes_nobody_s_place_but_what_it_names() -> None:
    for claim in (None, WINDOW):
        told = claims()

        def said(text: str, claim: str | None = claim) -> How:
            return How(text=text) if claim is None else How(text=text, claim=claim)

        told.ask(remember(draft("one", told.key_id)), **said("after six"))
        told.ask(remember(draft("two", told.key_id, source_kind=SourceKind.INFERRED)), **said("before nine"))
        if told.record(memory("two")).lifecycle is Lifecycle.QUARANTINED:
            told.given(promote("two"))
        version = told.record(memory("one")).version
        fact = told.ask(correct(draft("three", told.key_id), "one", version), **said("before nine"))
        assert isinstance(fact, CommandRejected), fact
        assert (fact.reason, fact.memory_id) == (Reason.DUPLICATE_MEMORY, memory("two"))


def test_the_same_words_on_no_claim_take_no_record_out_of_its_conflict() -> None:
    told = claims()
    told.say("one", "after six", source_kind=SourceKind.INFERRED)
    told.say("two", "before nine", source_kind=SourceKind.INFERRED)
    fact = told.ask(remember(draft("free", told.key_id, source_kind=SourceKind.USER_EXPLICIT)), text="after six")
    assert isinstance(fact, CommandRejected), fact
    assert (fact.reason, fact.memory_id) == (Reason.DUPLICATE_MEMORY, memory("one"))
    assert told.record(memory("one")).lifecycle is Lifecycle.ACTIVE


def test_no_version_is_not_any_version() -> None:
    told = claims()
    told.say("said", "before nine", source_kind=SourceKind.INFERRED)
    command = correct(draft("newer", told.key_id, source_kind=SourceKind.THIRD_PARTY), "said", 1)
    told.ask(command, text="after six", claim=WINDOW)
    told.given(confirm("said"))
    told.when(promote("newer", replaces=("said", 0))).then(
        Refused(reason=Reason.VERSION_CONFLICT, memory_id=memory("said"), current_version=2)
    )


def test_what_somebody_stands_behind_gives_way_to_a_guess_only_where_a_reviewer_says_so() -> None:
    told = claims()
    told.say("one", "after six", source_kind=SourceKind.INFERRED)
    told.say("two", "before nine", source_kind=SourceKind.INFERRED)
    told.given(confirm("two"))
    answer = told.record(memory("one")).version, ("two", told.record(memory("two")).version)
    told.when(resolve("one", *answer)).then(Refused(reason=Reason.NOT_ALLOWED, field="review"))
    told.given(resolve("one", *answer), by=REVIEWER, signed=True)


def test_nobody_answers_for_what_nobody_may_look_at() -> None:
    told = claims()
    told.say("one", "after six", source_kind=SourceKind.INFERRED)
    told.say("two", "before nine", source_kind=SourceKind.INFERRED)
    waiting(told, "three", "at noon")
    told.given(hold())
    answer = told.record(memory("one")).version, ("two", told.record(memory("two")).version)
    told.when(resolve("one", *answer), promote("three"), confirm("two")).then(
        *(Refused(reason=Reason.SUBJECT_RESTRICTED) for _ in range(3))
    )
    told.given(lift(), reject("three"))
    told.given(resolve("one", *answer))


def test_what_holds_for_a_while_retires_nothing_that_holds_longer() -> None:
    soon = Millis(NOW + 1_000)
    periods: tuple[dict[str, Any], ...] = ({"valid_from": soon}, {"valid_until": soon})
    for when in periods:
        told = claims()
        told.say("guess", "after six", source_kind=SourceKind.INFERRED)
        assert contested(told.say("said", "before nine", **when)) == [memory("guess")]
        told.unchecked = len(told.events)
        told.when(resolve("said", 1, ("guess", 2))).then(Refused(reason=Reason.OTHER_SCOPE, memory_id=memory("guess")))
        told.given(resolve("guess", 2, ("said", 1)), by=REVIEWER, signed=True)
    told = claims()
    told.say("guess", "after six", source_kind=SourceKind.INFERRED, valid_until=soon)
    fact = told.say("said", "before nine", valid_from=Millis(NOW - 5))
    assert isinstance(fact, MemoryAccepted)
    assert fact.supersedes is not None, "it holds as long, and from now on"


def test_a_conflict_of_which_one_side_is_over_is_closed_by_an_answer_that_retires_nothing() -> None:
    told = claims()
    told.say("once", "after six", valid_until=Millis(NOW + 1_000))
    told.say("now", "before nine")
    told.now = Millis(NOW + 2_000)
    version = told.record(memory("now")).version
    told.unchecked = len(told.events)
    told.when(resolve("now", version, ("lunch", 1))).then(
        Refused(reason=Reason.NO_CONFLICT, field="over", memory_id=memory("lunch"))
    )
    told.when(resolve("now", version, ("once", 2))).then(  # as it was looked at, while both held
        ConflictResolved(memory_id=memory("now"), version=version + 1, superseded=())
    )
    told.when(resolve("now", version + 1)).then(
        ConflictResolved(memory_id=memory("now"), version=version + 2, superseded=())
    )


def test_where_what_a_correction_names_is_over_the_reviewer_may_name_what_stands_there_now() -> None:
    told = claims()
    told.say("said", "before nine", source_kind=SourceKind.INFERRED)
    late = correct(draft("late", told.key_id, source_kind=SourceKind.THIRD_PARTY), "said", 1)
    told.ask(late, text="at noon", claim=WINDOW)
    told.given(correct(draft("newer", told.key_id), "said", 1), text="after six", claim=WINDOW)
    told.when(promote("late"), promote("late", replaces=("nothing", 1))).then(
        Refused(reason=Reason.WRONG_STATE, field="supersedes"),
        Refused(reason=Reason.NO_CONFLICT, field="replaces"),
    )
    told.given(promote("late", replaces=("newer", 1)))
    assert told.record(memory("newer")).lifecycle is Lifecycle.SUPERSEDED


def test_an_approval_s_outcome_names_no_rival_above_the_reviewer() -> None:
    told = claims()
    told.say("secret", "after six", source_kind=SourceKind.USER_EXPLICIT)
    waiting(told, "letter", "before nine", sensitivity=Sensitivity.INTERNAL)
    rule = replace(told.policy.principals[REVIEWER], max_sensitivity=Sensitivity.INTERNAL)
    told.policy = replace(told.policy, principals={**told.policy.principals, REVIEWER: rule})
    told.given(promote("letter"))
    fact = told.events[-1].fact
    assert isinstance(fact, MemoryPromoted)
    assert (contested(fact), fact.unnamed, named(told)) == ([memory("secret")], (memory("secret"),), ())
