"""A record's timeline, from the log to the reader."""

import pytest
from msgspec import structs

from eunoe.readmodels.errors import BeingFilled
from eunoe.readmodels.history import CONTESTED, NAME, SUPERSEDED, HistoryModel
from eunoe.readmodels.history_reader import HistoryReader
from eunoe.schemas.events import (
    ConflictRef,
    ConflictResolved,
    Event,
    Fact,
    MemoryForgotten,
    MemoryPromoted,
    SubjectForgotten,
    SubjectRef,
    SupersededRef,
)
from eunoe.schemas.ids import CommandId, MemoryId, Millis, PrincipalName, Pseudonym
from eunoe.schemas.values import Trust
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_quarantined,
)
from readmodel_log import Log

OLD, NEW = MemoryId(sample_id("old")), MemoryId(sample_id("new"))
BODY = b"this is where a sealed body would be"
FRIEND = Pseudonym("f" * 32)


def at(hour: int, fact: Fact) -> Event:
    return sample_event(
        fact,
        command_id=CommandId(sample_id(f"hour {hour}")),
        decided_at=Millis(SAMPLE_TIME + hour * 3_600_000),
        principal=PrincipalName(f"principal-{hour}"),
        policy_version=hour,
    )


async def test_quarantine_promotion_superseding_and_forgetting_come_in_log_order(log: Log) -> None:
    offsets = await log.write(
        at(1, sample_accepted(sample_draft(memory_id=OLD, body=BODY))),
        at(2, sample_quarantined(sample_draft(memory_id=NEW, body=BODY), supersedes=OLD)),
        at(
            3,
            MemoryPromoted(
                memory_id=NEW, version=2, trust=Trust.VERIFIED, supersedes=SupersededRef(memory_id=OLD, version=2)
            ),
        ),
        at(4, MemoryForgotten(memory_id=OLD, version=3)),
    )
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    old, new = await reader.history(SAMPLE_TENANT, OLD), await reader.history(SAMPLE_TENANT, NEW)
    assert [(each.position, each.kind, each.version) for each in old.entries] == [
        (offsets[0], "MemoryAccepted", 1),
        (offsets[2], SUPERSEDED, 2),
        (offsets[3], "MemoryForgotten", 3),
    ]
    assert [(each.kind, each.supersedes, each.reasons) for each in new.entries] == [
        ("MemoryQuarantined", OLD, ("untrusted_source",)),
        ("MemoryPromoted", OLD, ()),
    ]
    assert old.entries[1].superseded_by == NEW
    assert (old.entries[2].principal, old.entries[2].policy_version) == ("principal-4", 4)
    assert old.position > offsets[3]
    assert BODY not in str(await log.contents("history")).encode()


async def test_a_history_as_of_a_time_ends_there(log: Log) -> None:
    await log.write(
        at(1, sample_accepted(sample_draft(memory_id=OLD))), at(5, MemoryForgotten(memory_id=OLD, version=2))
    )
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    for hour, kinds in ((0, []), (1, ["MemoryAccepted"]), (4, ["MemoryAccepted"])):
        found = await reader.history(SAMPLE_TENANT, OLD, as_of=Millis(SAMPLE_TIME + hour * 3_600_000))
        assert [each.kind for each in found.entries] == kinds
    assert len((await reader.history(SAMPLE_TENANT, OLD)).entries) == 2


async def test_the_forgetting_of_anyone_it_is_about_is_part_of_it_and_of_no_later_generation(log: Log) -> None:
    about = (SubjectRef(subject=FRIEND, generation=2),)
    later = sample_draft(memory_id=NEW, generation=2)
    (_, _, first, _) = await log.write(
        at(1, sample_accepted(sample_draft(memory_id=OLD), about=about)),
        at(2, sample_accepted(later)),
        at(3, SubjectForgotten(subject=FRIEND, generation=2, records=1)),
        at(4, SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=1)),
    )
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    old, new = await reader.history(SAMPLE_TENANT, OLD), await reader.history(SAMPLE_TENANT, NEW)
    assert [each.kind for each in old.entries] == ["MemoryAccepted", "SubjectForgotten", "SubjectForgotten"]
    assert old.entries[1].position == first
    assert [each.kind for each in new.entries] == ["MemoryAccepted"]


async def test_an_unknown_record_has_no_entries_and_another_tenants_neither(log: Log) -> None:
    await log.write(at(1, sample_accepted(sample_draft(memory_id=OLD))))
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    assert (await reader.history(SAMPLE_TENANT, NEW)).entries == ()
    assert (await reader.history(log.neighbour(), OLD)).entries == ()


async def test_a_conflict_stands_in_the_timelines_of_both_and_so_does_its_answer(log: Log) -> None:
    draft = sample_draft(memory_id=NEW, body=BODY)
    contested = structs.replace(sample_accepted(draft), conflicts_with=(ConflictRef(memory_id=OLD, version=2),))
    await log.write(
        at(1, sample_accepted(sample_draft(memory_id=OLD, body=BODY))),
        at(2, contested),
        at(3, ConflictResolved(memory_id=NEW, version=2, superseded=(SupersededRef(memory_id=OLD, version=3),))),
    )
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    old, new = await reader.history(SAMPLE_TENANT, OLD), await reader.history(SAMPLE_TENANT, NEW)
    assert [(each.kind, each.version, each.conflicts) for each in old.entries] == [
        ("MemoryAccepted", 1, ()),
        (CONTESTED, 2, (NEW,)),
        (SUPERSEDED, 3, ()),
    ]
    assert old.entries[2].superseded_by == NEW
    assert [(each.kind, each.version, each.conflicts) for each in new.entries] == [
        ("MemoryAccepted", 1, (OLD,)),
        ("ConflictResolved", 2, ()),
    ]


async def test_a_model_that_lost_what_it_had_answered_from_answers_nothing(log: Log) -> None:
    await log.write(at(1, sample_accepted(sample_draft(memory_id=OLD, body=BODY))))
    await log.fold(HistoryModel())
    mark = log.prefix(NAME).watermark
    before = await log.redis.dump(mark) or b""
    await log.write(at(2, MemoryForgotten(memory_id=OLD, version=2)))
    await log.fold(HistoryModel())
    reader = HistoryReader(log.redis, log.installation)
    told = await reader.history(SAMPLE_TENANT, OLD)
    assert len(told.entries) == 2
    after = await log.redis.dump(mark) or b""
    await log.redis.restore(mark, 0, before, replace=True)
    with pytest.raises(BeingFilled, match=f"offset .* of {told.position} "):
        await reader.history(SAMPLE_TENANT, OLD)
    assert await HistoryReader(log.redis, log.installation).history(SAMPLE_TENANT, OLD), "who saw nothing cannot know"
    await log.redis.restore(mark, 0, after, replace=True)
    assert await reader.history(SAMPLE_TENANT, OLD) == told
