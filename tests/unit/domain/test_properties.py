"""What holds of every sequence of commands, sensible or not."""

from collections.abc import Callable
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from eunoe.domain.entries import SubjectState, bucket_key, subject_key
from eunoe.domain.memory import TRANSITIONS, MemoryState, touches
from eunoe.schemas.commands import Command, Draft, IssueKey
from eunoe.schemas.events import CommandDuplicate, CommandRejected, Fact, SubjectForgotten
from eunoe.schemas.ids import Bucket, KeyId, MemoryId, Millis, Pseudonym
from eunoe.schemas.values import Lifecycle, SourceKind
from unit.domain.samples import (
    ACME,
    ALICE,
    BOB,
    DAY,
    IN_A_MONTH,
    confirm,
    correct,
    draft,
    expire,
    forget,
    forget_subject,
    memory,
    promote,
    readmit,
    reject,
    remember,
    retract,
)
from unit.domain.scenario import Scenario, replayed

SUBJECTS: Final = (ALICE, BOB)
NAMES: Final = ("a", "b", "c", "d")
KEYS: Final = {name: (n + 1).to_bytes(16, "big") for n, name in enumerate("xyz")}

Move = Callable[[Scenario], Command]

names = st.sampled_from(NAMES)
versions = st.integers(0, 4)
subjects = st.sampled_from(SUBJECTS)
sources = st.sampled_from([SourceKind.USER_EXPLICIT, SourceKind.INFERRED, SourceKind.THIRD_PARTY])
current = st.sampled_from([True, True, True, False])
pauses = st.sampled_from([0] * 12 + [1, 20])


def _draft(scenario: Scenario, name: str, subject: Pseudonym, shared: bool, source: SourceKind) -> Draft:
    """A draft that fits what the ledger holds, as a well-behaved producer would make it."""
    state = scenario.entry(subject_key(ACME, subject))
    generation = state.generation if isinstance(state, SubjectState) else 1
    bucket = Bucket(memory(name))
    key = scenario.entry(bucket_key(ACME, subject, generation, bucket))
    return draft(
        name,
        getattr(key, "key_id", KeyId("unknown")),
        subject=subject,
        generation=generation,
        about=tuple(each for each in SUBJECTS if shared and each != subject),
        source_kind=source,
    )


def _at(scenario: Scenario, name: str, version: int, is_current: bool) -> int:
    """The version the caller names: often the current one, else any."""
    if not is_current:
        return version
    return next((state.version for state in records(scenario) if state.memory_id == memory(name)), 0)


def records(scenario: Scenario) -> list[MemoryState]:
    states = (scenario.entry(key) for key in list(scenario.store))
    return [state for state in states if isinstance(state, MemoryState)]


def _on_record(make: Callable[[str, int], Command]) -> st.SearchStrategy[Move]:
    def build(name: str, version: int, is_current: bool) -> Move:
        return lambda scenario: make(name, _at(scenario, name, version, is_current))

    return st.builds(build, names, versions, current)


def _remember(name: str, subject: Pseudonym, shared: bool, source: SourceKind, key: str | None) -> Move:
    return lambda scenario: remember(
        _draft(scenario, name, subject, shared, source), idempotency=KEYS[key] if key else None
    )


def _correct(name: str, old: str, subject: Pseudonym, shared: bool, source: SourceKind) -> Move:
    return lambda scenario: correct(_draft(scenario, name, subject, shared, source), old, _at(scenario, old, 0, True))


def _issue(name: str, subject: Pseudonym) -> Move:
    return lambda _: IssueKey(tenant=ACME, subject=subject, bucket=Bucket(memory(name)))


def _always(make: Callable[[str], Command]) -> Callable[[str], Move]:
    return lambda name: lambda _: make(name)


def _on_subject(make: Callable[[Pseudonym], Command]) -> st.SearchStrategy[Move]:
    return st.builds(lambda subject: lambda _: make(subject), subjects)


idempotency = st.sampled_from([None, None, None, *KEYS])
moves: st.SearchStrategy[Move] = st.one_of(
    st.builds(_issue, names, subjects),
    st.builds(_remember, names, subjects, st.booleans(), sources, idempotency),
    st.builds(_remember, names, subjects, st.booleans(), sources, idempotency),
    st.builds(_correct, names, names, subjects, st.booleans(), sources),
    _on_record(promote),
    _on_record(reject),
    _on_record(confirm),
    _on_record(retract),
    _on_record(expire),
    st.builds(_always(forget), names),
    _on_subject(forget_subject),
    _on_subject(readmit),
)


def _opened(*, keys: bool = True, records: bool = False) -> Scenario:
    scenario = Scenario().given(IssueKey(tenant=ACME))
    if keys:
        scenario.given(
            *(IssueKey(tenant=ACME, subject=each, bucket=Bucket(memory(name))) for each in SUBJECTS for name in NAMES)
        )
    if records:
        for name, shared, source in (
            ("a", False, SourceKind.THIRD_PARTY),
            ("b", True, SourceKind.INFERRED),
            ("c", False, SourceKind.USER_EXPLICIT),
        ):
            scenario.given(remember(_draft(scenario, name, ALICE, shared, source)))
    return scenario


STARTS: Final[dict[str, Callable[[], Scenario]]] = {
    "nothing": lambda: _opened(keys=False),
    "keys": _opened,
    "records": lambda: _opened(records=True),
}


def _unreadable_after(scenario: Scenario, fact: SubjectForgotten) -> int:
    """The count as somebody would make it who walks all records."""
    return sum(
        state.lifecycle is not Lifecycle.FORGOTTEN
        and any(
            (ref, generation) == (fact.subject, fact.generation)
            for ref, generation in (
                (state.subject, state.generation),
                *((each.subject, each.generation) for each in state.about),
            )
        )
        for state in records(scenario)
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(moves, pauses), min_size=10, max_size=40), st.sampled_from([*STARTS, "records"]))
def test_no_sequence_of_commands_leaves_the_table(steps: list[tuple[Move, int]], start: str) -> None:
    scenario = STARTS[start]()
    for move, days in steps:
        scenario.now = Millis(scenario.now + days * DAY)
        before = {state.memory_id: state for state in records(scenario)}
        count = len(scenario.events)
        fact = scenario.ask(move(scenario))
        assert len(scenario.events) == count + 1
        _one_step_each(before, scenario, fact)
        if isinstance(fact, SubjectForgotten):
            assert fact.records == _unreadable_after(scenario, fact)
    assert replayed(scenario.events) == scenario.store


def _one_step_each(before: dict[MemoryId, MemoryState], scenario: Scenario, fact: Fact) -> None:
    """What the fact touches took one step of the table and one version; nothing else moved."""
    touched = touches(fact)
    for state in records(scenario):
        old = before.get(state.memory_id)
        if state.memory_id not in touched:
            assert state == old
            continue
        assert state.version == (0 if old is None else old.version) + 1
        assert state.lifecycle in TRANSITIONS[None if old is None else old.lifecycle].values()
    if isinstance(fact, CommandRejected | CommandDuplicate):
        assert touched == ()


def test_the_moves_reach_every_state() -> None:
    """The positive control of the property: a sequence made of the same moves that gets everywhere."""
    scenario = _opened()
    waits, proposed = SourceKind.THIRD_PARTY, SourceKind.INFERRED
    story: list[Move] = [
        _remember("a", ALICE, False, waits, None),
        _correct("b", "a", ALICE, False, proposed),
        lambda _: promote("a"),
        _correct("b", "a", ALICE, False, proposed),
        lambda _: promote("b"),
        _remember("c", BOB, True, waits, "x"),
        lambda _: reject("c"),
        _remember("d", BOB, False, proposed, "x"),
        _remember("d", BOB, False, proposed, None),
        lambda _: retract("d"),
        lambda _: forget("d"),
    ]
    for move in story:
        scenario.ask(move(scenario))
    scenario.now = IN_A_MONTH
    scenario.ask(expire("b", 2))
    assert {state.lifecycle for state in records(scenario)} == {
        Lifecycle.SUPERSEDED,
        Lifecycle.EXPIRED,
        Lifecycle.REJECTED,
        Lifecycle.FORGOTTEN,
    }
    refused = [event.fact.reason for event in scenario.events if isinstance(event.fact, CommandRejected)]
    assert refused == ["wrong_state", "idempotency_mismatch"]
