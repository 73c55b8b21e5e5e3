"""What the folds and their answers are, where no Redis is needed to see it."""

import pytest

from eunoe.readmodels.errors import (
    ForeignToken,
    LogStartMovedOn,
    NotThisLog,
    NotYet,
    ProjectionAheadOfLog,
    ProjectionHalted,
    ProjectionStopped,
    StoreUnavailable,
)
from eunoe.readmodels.history import HistoryModel, change, closing
from eunoe.readmodels.keys import Gone, open_tenant_key, stored
from eunoe.readmodels.outcomes import stored as stored_outcome
from eunoe.readmodels.source import Positioned
from eunoe.readmodels.subjects import state_of
from eunoe.runtime.lane import LaneStalled
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.errors import Undecodable
from eunoe.schemas.events import CommandDuplicate, CommandRejected, Fact, KeyIssued, Reason, SubjectReadmitted
from eunoe.schemas.ids import CommandId, KeyId, LogId, Millis, Offset, Partition, TenantId
from eunoe.testing.samples import SAMPLE_SUBJECT, sample_accepted, sample_draft, sample_event, sample_genesis, sample_id

LOG = LogId(sample_id("log"))
PREFIX = Prefix(LOG, Partition(3), "history")


@pytest.mark.parametrize(
    "fact",
    [
        KeyIssued(incarnation=1, key_id=KeyId(sample_id("key")), created=True),
        CommandRejected(command="RememberMemory", reason=Reason.NOT_FOUND),
        CommandDuplicate(first_command_id=CommandId(sample_id("first"))),
        SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2),
        sample_genesis(LOG).fact,
    ],
)
async def test_what_changes_no_record_leaves_no_history(fact: Fact) -> None:
    assert await HistoryModel().fold(PREFIX, [Positioned(Offset(0), Millis(0), sample_event(fact))]) == [[]]


async def test_a_fold_is_the_same_however_often_and_in_whatever_batches() -> None:
    events = [
        Positioned(Offset(each), Millis(0), sample_event(sample_accepted(sample_draft(body_version=each))))
        for each in range(5)
    ]
    whole = await HistoryModel().fold(PREFIX, events)
    assert whole == [(await HistoryModel().fold(PREFIX, [each]))[0] for each in events]
    assert len(whole) == 5


def test_a_subject_without_a_generation_is_unknown_and_a_closed_one_has_no_root() -> None:
    assert state_of({}, 0) is None
    closed = state_of({"generation": "2", "closed": "2", "root": "r"}, 7)
    assert closed is not None
    assert (closed.closed, closed.records, closed.root_key_id) == (True, 0, None)
    opened = state_of({"generation": "3", "closed": "2", "root": "r"}, 7)
    assert opened is not None
    assert (opened.closed, opened.closed_generation, opened.records, opened.root_key_id) == (False, 2, 7, "r")


def test_incarnations_are_compared_as_numbers() -> None:
    assert open_tenant_key({"9": "nine", "10": "ten"}) == "ten"
    assert open_tenant_key({"9": "nine", "10": ""}) == ""
    assert open_tenant_key({"9": "nine", "10": "ten"}, 10) is None


def test_a_destroyed_key_keeps_whose_it_was_and_nothing_else() -> None:
    assert stored(None) is None
    assert stored(b"gone:acme") == Gone(TenantId("acme"))
    assert stored(b"gone:") == Gone(None)
    with pytest.raises(Undecodable):
        stored(b"anything else")


def test_bytes_that_another_version_wrote_are_an_error_and_never_quoted() -> None:
    for read in (change, closing, stored_outcome):
        with pytest.raises(Undecodable) as refused:
            read(b"\xc1 a secret")
        assert "secret" not in str(refused.value)


def test_every_halt_says_what_where_and_what_to_do() -> None:
    topic, where = "memory-lifecycle", (Partition(3), Offset(7))
    halts: list[ProjectionHalted] = [
        ProjectionStopped("recall", topic, *where, "not a readable event"),
        LogStartMovedOn("recall", topic, *where, Offset(9)),
        ProjectionAheadOfLog("recall", topic, *where, Offset(5)),
        NotThisLog(topic, Partition(3), LOG, None),
    ]
    for halt in halts:
        assert isinstance(halt, LaneStalled)
        assert not halt.retryable
        assert "memory-lifecycle/3" in str(halt)
    assert "eunoe rebuild recall" in str(halts[2])


def test_blame_is_the_callers_or_the_worlds() -> None:
    assert StoreUnavailable("reading", "ConnectionError").retryable
    assert NotYet("recall", Partition(0), Offset(9), Offset(4), 1.0).retryable
    assert not ForeignToken(LOG, LogId(sample_id("other"))).retryable
