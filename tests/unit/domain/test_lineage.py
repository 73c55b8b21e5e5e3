"""What was built on a record goes with it: by itself, with a person, through any chain, for good (M7, M20)."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from eunoe.domain import lineage
from eunoe.schemas.commands import SourceRef
from eunoe.schemas.events import (
    ConflictResolved,
    Fact,
    MemoryAccepted,
    MemoryForgotten,
    MemoryPromoted,
    MemoryQuarantined,
    MemoryRejected,
    MemoryRetracted,
    Reason,
    SubjectForgotten,
    SubjectRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import AgentId, Bucket, Millis, Pseudonym, TenantId
from eunoe.schemas.policy import LineageRules
from eunoe.schemas.values import Lifecycle, Sensitivity, SourceKind, Visibility
from unit.domain.samples import (
    ALICE,
    BOB,
    CAROL,
    DAY,
    IN_A_MONTH,
    MONTH,
    POLICY,
    correct,
    draft,
    expire,
    forget,
    forget_subject,
    hold,
    lift,
    memory,
    promote,
    readmit,
    reject,
    remember,
    resolve,
    retract,
    suspend,
)
from unit.domain.scenario import Refused, Scenario, replayed


def told(**rules: bool) -> Scenario:
    """Tea is known of Alice, rum of Bob."""
    scenario = Scenario(policy=replace(POLICY, lineage=LineageRules(**rules)))
    scenario.given(remember(draft("tea", scenario.key(ALICE, MONTH))), text="tea")
    return scenario.given(remember(draft("rum", scenario.key(BOB, MONTH), subject=BOB)), text="rum")


def build(scenario: Scenario, name: str, *on: str, subject: Pseudonym = ALICE, **how: Any) -> Fact:
    """A record of its own key, built on others as they are."""
    fields = how.pop("fields", {})
    refs = tuple(SourceRef(memory_id=memory(each), version=how.get("version", 1)) for each in on)
    key = scenario.key(subject, Bucket(memory(name)))
    new = draft(name, key, subject=subject, derived_from=refs, **fields)
    how.pop("version", None)
    fact = scenario.ask(remember(new), text=how.pop("text", name), **how)
    scenario.unchecked = len(scenario.events)
    return fact


def gone(name: str, version: int = 2) -> WithdrawnRef:
    return WithdrawnRef(memory_id=memory(name), version=version)


def test_a_record_goes_with_the_forgotten_one_it_was_built_on_however_long_the_chain() -> None:
    scenario = told()
    for name, on in (("day", "tea"), ("week", "day"), ("year", "week")):
        assert isinstance(build(scenario, name, on), MemoryAccepted)
    other = build(scenario, "night", "rum", subject=BOB)
    assert isinstance(other, MemoryAccepted)
    assert scenario.record(memory("year")).sources == (memory("week"), memory("day"), memory("tea"))
    assert scenario.subject(ALICE).records == 4
    scenario.when(forget("tea")).then(
        MemoryForgotten(memory_id=memory("tea"), version=2, withdrawn=(gone("day"), gone("week"), gone("year")))
    )
    assert [scenario.record(memory(each)).lifecycle for each in ("tea", "day", "year", "night", "rum")] == [
        Lifecycle.FORGOTTEN, Lifecycle.WITHDRAWN, Lifecycle.WITHDRAWN, Lifecycle.ACTIVE, Lifecycle.ACTIVE,
    ]  # fmt: skip
    assert scenario.subject(ALICE).records == 0
    assert scenario.subject(BOB).records == 2
    assert replayed(scenario.events) == scenario.store


def test_only_what_stands_on_it_goes() -> None:
    scenario = told()
    build(scenario, "day", "tea")
    build(scenario, "week", "day")
    scenario.when(forget("day")).then(
        MemoryForgotten(memory_id=memory("day"), version=2, own_key=True, withdrawn=(gone("week"),))
    )
    assert scenario.record(memory("tea")).lifecycle is Lifecycle.ACTIVE


def test_the_words_of_what_went_with_a_forgotten_record_are_not_taken_again() -> None:
    scenario = told()
    build(scenario, "day", "tea", text="drinks tea all day")
    scenario.given(forget("tea"))
    key = scenario.key(ALICE, MONTH)
    scenario.when(remember(draft("again", key)), text="drinks tea all day").then(
        Refused(reason=Reason.ERASED, field="statement")
    )
    assert isinstance(scenario.ask(remember(draft("other", key)), text="other"), MemoryAccepted)
    assert scenario.subject(ALICE).forgotten_values == 2


def test_a_record_built_on_another_persons_ends_with_that_person() -> None:
    scenario = told()
    fact = build(scenario, "pair", "tea", "rum")
    assert isinstance(fact, MemoryAccepted)
    assert fact.about == (SubjectRef(subject=BOB, generation=1),)
    # Through a third person's record too: it concerns everybody that what it stands on concerns.
    build(scenario, "all", "pair", subject=CAROL)
    assert scenario.record(memory("all")).about == (
        SubjectRef(subject=ALICE, generation=1), SubjectRef(subject=BOB, generation=1),
    )  # fmt: skip
    scenario.when(forget_subject(BOB)).then(SubjectForgotten(subject=BOB, generation=1, records=3))
    for name in ("pair", "all"):
        scenario.when(retract(name), forget(name)).then(Refused(reason=Reason.ERASED), Refused(reason=Reason.ERASED))
        refused(build(scenario, f"on {name}", name, subject=CAROL), Reason.ERASED)
    scenario.when(retract("tea")).then(MemoryRetracted(memory_id=memory("tea"), version=2))
    scenario.given(readmit(BOB))
    refused(build(scenario, "late", "pair"), Reason.ERASED)
    assert replayed(scenario.events) == scenario.store


def refused(fact: Fact, reason: Reason) -> None:
    assert Refused(reason=reason, field="derived_from").matches(fact), fact


@pytest.mark.parametrize(
    ("end", "step"), [("retract", Lifecycle.RETRACTED), ("supersede", Lifecycle.SUPERSEDED)]
)  # fmt: skip
@pytest.mark.parametrize("goes", [True, False])
def test_what_goes_with_a_retracted_or_superseded_record_is_policy(end: str, step: Lifecycle, goes: bool) -> None:
    scenario = told(retracted=goes, superseded=goes)
    build(scenario, "day", "tea")
    expected = (gone("day"),) if goes else ()
    if end == "retract":
        fact = scenario.ask(retract("tea"))
        assert isinstance(fact, MemoryRetracted)
    else:
        fact = scenario.ask(correct(draft("milk", scenario.key(ALICE, MONTH)), "tea", 1))
        assert isinstance(fact, MemoryAccepted)
    assert fact.withdrawn == expected
    assert scenario.record(memory("tea")).lifecycle is step
    assert scenario.record(memory("day")).lifecycle is (Lifecycle.WITHDRAWN if goes else Lifecycle.ACTIVE)
    # Forgotten later, the source takes along whatever was left.
    fact = scenario.ask(forget("tea"))
    assert isinstance(fact, MemoryForgotten)
    assert fact.withdrawn == (() if goes else (gone("day"),))
    assert replayed(scenario.events) == scenario.store


def test_what_was_built_on_a_record_that_had_to_wait_again_goes_where_that_is_kept_out() -> None:
    """While it waits nothing goes, for a person may let it in again; nothing more is built on it."""
    scenario = told(retracted=False, superseded=False)
    build(scenario, "day", "tea")
    scenario.given(suspend("tea"))
    assert scenario.record(memory("day")).lifecycle is Lifecycle.ACTIVE
    refused(build(scenario, "late", "tea", version=2), Reason.WRONG_STATE)
    fact = scenario.ask(reject("tea", 2))
    assert isinstance(fact, MemoryRejected)
    assert fact.withdrawn == (gone("day"),)
    assert scenario.record(memory("day")).lifecycle is Lifecycle.WITHDRAWN
    assert replayed(scenario.events) == scenario.store


def test_a_forgotten_record_takes_along_what_is_not_in_use_any_more() -> None:
    scenario = told()
    for name in ("day", "week", "year"):
        build(scenario, name, "tea")
    scenario.given(retract("day"))
    scenario.given(correct(draft("new year", scenario.key(ALICE, MONTH)), "year", 1))
    scenario.now = IN_A_MONTH
    scenario.given(expire("week"))
    fact = scenario.ask(forget("tea"))
    assert isinstance(fact, MemoryForgotten)
    assert set(fact.withdrawn) == {gone("day", 3), gone("week", 3), gone("year", 3)}
    # A correction that names no source stands on its own.
    assert scenario.record(memory("new year")).lifecycle is Lifecycle.ACTIVE
    assert replayed(scenario.events) == scenario.store


def test_a_correction_built_on_what_it_replaces_stays_and_goes_when_that_is_forgotten() -> None:
    scenario = told()
    new = draft(
        "milk tea",
        scenario.key(ALICE, Bucket(memory("milk tea"))),
        derived_from=(SourceRef(memory_id=memory("tea"), version=1),),
    )
    fact = scenario.ask(correct(new, "tea", 1))
    assert isinstance(fact, MemoryAccepted)
    assert fact.withdrawn == ()
    fact = scenario.ask(forget("tea"))
    assert isinstance(fact, MemoryForgotten)
    assert fact.withdrawn == (gone("milk tea"),)
    assert replayed(scenario.events) == scenario.store


def test_a_record_that_wins_takes_along_what_stood_on_the_beaten_one() -> None:
    scenario = told()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("old", key, source_kind=SourceKind.INFERRED)), claim="drink")
    build(scenario, "day", "old")
    fact = scenario.ask(remember(draft("new", key)), claim="drink")
    assert isinstance(fact, MemoryAccepted)
    assert (fact.supersedes is not None, fact.withdrawn) == (True, (gone("day"),))
    assert replayed(scenario.events) == scenario.store


def test_what_is_upheld_stays_though_it_was_built_on_what_gives_way() -> None:
    scenario = told()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("old", key)), claim="drink")
    build(scenario, "day", "old", claim="drink")
    build(scenario, "week", "day")
    build(scenario, "else", "old")
    fact = scenario.ask(resolve("day", 1, ("old", 2)))
    assert isinstance(fact, ConflictResolved)
    assert fact.withdrawn == (gone("else"),)
    assert replayed(scenario.events) == scenario.store


def test_a_promotion_takes_along_what_stood_on_the_record_it_replaces() -> None:
    scenario = told()
    build(scenario, "day", "tea")
    key = scenario.key(ALICE, MONTH)
    scenario.given(correct(draft("milk", key, source_kind=SourceKind.THIRD_PARTY), "tea", 1))
    fact = scenario.ask(promote("milk"))
    assert isinstance(fact, MemoryPromoted)
    assert fact.withdrawn == (gone("day"),)


def test_what_waits_for_a_person_goes_too() -> None:
    scenario = told()
    assert isinstance(build(scenario, "day", "tea", fields={"source_kind": SourceKind.THIRD_PARTY}), MemoryQuarantined)
    scenario.given(retract("tea"))
    scenario.when(promote("day", 2)).then(Refused(reason=Reason.LINEAGE, field="lifecycle"))
    scenario.when(forget("day")).then(MemoryForgotten(memory_id=memory("day"), version=3, own_key=True))
    assert scenario.subject(ALICE).records == 1
    assert replayed(scenario.events) == scenario.store


def test_a_source_must_be_known_here_in_use_and_readable_by_the_author() -> None:
    scenario = told()
    refused(build(scenario, "a", "unknown"), Reason.NOT_FOUND)
    refused(build(scenario, "b", "tea", version=2), Reason.NOT_FOUND)
    refused(build(scenario, "c", "tea", fields={"purposes": ("support", "sales")}), Reason.OTHER_SCOPE)
    refused(build(scenario, "d", "tea", fields={"agent": AgentId("other-bot")}), Reason.OTHER_SCOPE)
    scenario.given(remember(draft("shared", scenario.key(ALICE, MONTH), visibility=Visibility.SHARED)), text="shared")
    assert isinstance(build(scenario, "e", "shared", fields={"agent": AgentId("other-bot")}), MemoryAccepted)
    scenario.given(retract("shared"))
    refused(build(scenario, "f", "shared", version=1), Reason.WRONG_STATE)
    scenario.given(forget("shared"))
    refused(build(scenario, "g", "shared"), Reason.ERASED)
    refused(build(scenario, "h", "h"), Reason.INVALID_FIELD)
    refused(build(scenario, "i", *(f"n{each}" for each in range(17))), Reason.TOO_LONG)
    refused(build(scenario, "j", "tea", version=0), Reason.INVALID_FIELD)
    scenario.now = IN_A_MONTH
    later = Millis(IN_A_MONTH + 30 * DAY)
    fact = build(scenario, "k", "tea", fields={"expires_at": later})
    assert Refused(reason=Reason.EXPIRY_PASSED).matches(fact)


def test_another_tenants_record_is_not_there() -> None:
    scenario = told()
    foreign = TenantId("acme-2")
    key = scenario.key(ALICE, Bucket(memory("x")), foreign)
    new = draft("x", key, derived_from=(SourceRef(memory_id=memory("tea"), version=1),))
    refused(scenario.ask(structs.replace(remember(new), tenant=foreign)), Reason.NOT_FOUND)


def test_a_month_key_does_not_serve_what_was_built_on_others() -> None:
    scenario = told()
    new = draft("day", scenario.key(ALICE, MONTH), derived_from=(SourceRef(memory_id=memory("tea"), version=1),))
    scenario.when(remember(new)).then(Refused(reason=Reason.WRONG_KEY, field="key_id"))


def test_what_more_people_would_read_than_its_source_waits_for_a_person() -> None:
    scenario = told()
    fact = build(scenario, "day", "tea", fields={"sensitivity": Sensitivity.INTERNAL})
    assert isinstance(fact, MemoryQuarantined)
    assert fact.reasons == (Reason.SENSITIVITY_LOWERED,)


def test_a_hold_on_somebody_defers_building_on_and_reading_nothing_else() -> None:
    scenario = told().given(hold(subject=BOB))
    refused(build(scenario, "pair", "rum"), Reason.SUBJECT_RESTRICTED)
    scenario.given(lift(BOB))
    assert isinstance(build(scenario, "pair", "rum"), MemoryAccepted)
    scenario.given(hold(subject=BOB))
    scenario.when(forget("pair")).then(Refused(reason=Reason.ON_HOLD))


def test_both_ends_of_lineage_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "MOST", 2)
    scenario = told()
    build(scenario, "one", "tea")
    build(scenario, "two", "one")
    refused(build(scenario, "three", "two"), Reason.TOO_LONG)
    refused(build(scenario, "four", "tea"), Reason.LIMIT_REACHED)
    assert isinstance(build(scenario, "five", "rum"), MemoryAccepted)


def test_the_same_words_in_another_scope_stay() -> None:
    scenario = told()
    key = scenario.key(ALICE, MONTH)
    scenario.given(remember(draft("sold", key, purposes=("sales",))), text="tea")
    build(scenario, "day", "tea")
    build(scenario, "sold day", "sold", fields={"purposes": ("sales",)})
    scenario.given(forget("tea"))
    assert [scenario.record(memory(each)).lifecycle for each in ("day", "sold", "sold day")] == [
        Lifecycle.WITHDRAWN, Lifecycle.ACTIVE, Lifecycle.ACTIVE,
    ]  # fmt: skip
