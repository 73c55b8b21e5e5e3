"""Each fact that answers a command is one outcome; its token says from where on a reader has seen it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from eunoe.schemas import codec, events
from eunoe.schemas.events import Reason
from eunoe.schemas.ids import CommandId, LogId, MemoryId, Offset, Partition, new_id
from eunoe.schemas.outcomes import BadToken, Outcome, OutcomeStatus, Token, outcome_of
from eunoe.schemas.values import Trust, Verdict
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    sample_accepted,
    sample_event,
    sample_genesis,
    sample_id,
    sample_quarantined,
)
from unit.schemas.stored_records import stored_records

LOG = LogId(new_id())
PARTITION, OFFSET = Partition(3), Offset(41)
RECORD_STATUS = {
    "MemoryAccepted": OutcomeStatus.ACCEPTED,
    "MemoryQuarantined": OutcomeStatus.QUARANTINED,
    "CommandDuplicate": OutcomeStatus.DUPLICATE,
    "CommandRejected": OutcomeStatus.REJECTED,
    "CandidateObserved": OutcomeStatus.OBSERVED,
}


def outcome(event: events.Event) -> Outcome:
    found = outcome_of(event, LOG, PARTITION, OFFSET)
    assert found is not None
    return found


def test_every_fact_but_the_genesis_record_is_an_outcome() -> None:
    assert outcome_of(sample_genesis(LOG), LOG, PARTITION, OFFSET) is None
    answered = [each for each in stored_records() if each.codec is codec.EVENTS and each.name != "PartitionOpened"]
    for each in answered:
        found = outcome(each.record)
        assert found.kind == each.name
        assert found.status is RECORD_STATUS.get(each.name, OutcomeStatus.DONE)
        assert found.command_id == each.record.header.command_id
        assert found.refused == (each.name == "CommandRejected")


def test_the_token_is_past_the_event_itself() -> None:
    token = Token.parse(outcome(sample_event(sample_accepted())).token)
    assert token == Token(log_id=LOG, partition=PARTITION, position=Offset(OFFSET + 1))


def test_a_new_record_is_at_version_one_and_says_which_it_is() -> None:
    accepted, quarantined = sample_accepted(), sample_quarantined()
    found = outcome(sample_event(accepted))
    assert (found.memory_id, found.version, found.reason) == (accepted.draft.memory_id, 1, None)
    found = outcome(sample_event(quarantined))
    assert (found.memory_id, found.version) == (quarantined.draft.memory_id, 1)
    assert found.reason == quarantined.reasons[0].value


def test_a_refusal_says_why_and_what_it_met() -> None:
    memory_id = MemoryId(sample_id("memory"))
    fact = events.CommandRejected(
        command="CorrectMemory", reason=Reason.VERSION_CONFLICT, memory_id=memory_id, field="x", current_version=5
    )
    found = outcome(sample_event(fact))
    assert (found.reason, found.field, found.current_version, found.version) == ("version_conflict", "x", 5, None)
    assert found.memory_id == memory_id


def test_a_change_says_the_version_after_it() -> None:
    fact = events.MemoryPromoted(memory_id=MemoryId(sample_id("memory")), version=2, trust=Trust.VERIFIED)
    found = outcome(sample_event(fact))
    assert (found.status, found.version) == (OutcomeStatus.DONE, 2)


def test_a_repeated_erasure_says_how_many_records_it_was_as_the_first_did() -> None:
    forgotten = events.SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=3)
    repeated = events.CommandDuplicate(first_command_id=CommandId(sample_id("first")), records=3)
    assert [outcome(sample_event(each)).records for each in (forgotten, repeated)] == [3, 3]


def test_what_was_cut_out_of_a_text_is_named_by_its_class() -> None:
    def found(*verdicts: Verdict) -> tuple[events.Finding, ...]:
        return tuple(events.Finding(detector="rules", rule="personal_data", verdict=each) for each in verdicts)

    cut = structs.replace(sample_accepted(), findings=found(Verdict.REDACT, Verdict.REDACT))
    assert outcome(sample_event(cut)).redacted == ("personal_data",)
    assert outcome(sample_event(structs.replace(cut, findings=found(Verdict.ALLOW)))).redacted == ()
    waiting = structs.replace(sample_quarantined(), findings=found(Verdict.REDACT))
    assert outcome(sample_event(waiting)).redacted == ("personal_data",)


def test_an_outcome_comes_back_from_its_json() -> None:
    for each in stored_records():
        if each.codec is codec.EVENTS and (found := outcome_of(each.record, LOG, PARTITION, OFFSET)):
            assert msgspec.json.decode(msgspec.json.encode(found), type=Outcome) == found


@given(st.integers(0, 4095), st.integers(0, 10**18 - 1))
def test_a_token_comes_back_from_its_text(partition: int, position: int) -> None:
    token = Token(log_id=LOG, partition=Partition(partition), position=Offset(position))
    assert Token.parse(token.text) == token


@pytest.mark.parametrize("form", ["", "x", "{}:1", "{}:1:-2", "{}:1:2:3", "{}:1:٣", " {}:1:2", "{}:1:2\n", ":1:2"])
def test_what_is_no_token_is_refused(form: str) -> None:
    text = form.format(LOG)
    with pytest.raises(BadToken):
        Token.parse(text)


def test_a_conflict_and_its_answer_are_told_to_whoever_caused_them() -> None:
    old, rival = MemoryId(sample_id("old")), MemoryId(sample_id("rival"))
    refs = (events.ConflictRef(memory_id=rival, version=2),)
    gone = events.SupersededRef(memory_id=old, version=2)
    accepted = structs.replace(sample_accepted(), conflicts_with=refs, supersedes=gone, settled_by=("time",))
    found = outcome(sample_event(accepted))
    assert (found.conflicts, found.superseded, found.settled_by) == ((rival,), (old,), ("time",))
    waiting = structs.replace(sample_quarantined(), conflicts_with=(rival,))
    assert outcome(sample_event(waiting)).conflicts == (rival,)
    answered = events.ConflictResolved(memory_id=rival, version=3, superseded=(gone,))
    found = outcome(sample_event(answered))
    assert (found.memory_id, found.version, found.superseded, found.conflicts) == (rival, 3, (old,), ())


def test_an_observed_candidate_says_what_it_would_have_become() -> None:
    fact = events.CandidateObserved(
        memory_id=MemoryId(sample_id("memory")),
        kind="fact",
        purposes=("support",),
        verdict="quarantined",
        reasons=(Reason.ROUTING, Reason.UNTRUSTED_SOURCE),
    )
    found = outcome(sample_event(fact))
    assert (found.status, found.would_be, found.reason) == (OutcomeStatus.OBSERVED, "quarantined", "routing")
    assert found.reasons == ("routing", "untrusted_source")
    assert not found.refused
