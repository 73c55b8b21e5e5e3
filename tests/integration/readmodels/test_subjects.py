"""What is held on a person."""

from eunoe.readmodels.subjects import SubjectsModel, SubjectsReader
from eunoe.schemas.events import (
    Event,
    Fact,
    KeyIssued,
    MemoryForgotten,
    SubjectForgotten,
    SubjectReadmitted,
    SubjectRef,
)
from eunoe.schemas.ids import Bucket, CommandId, KeyId, MemoryId, Pseudonym
from eunoe.testing.samples import (
    SAMPLE_SUBJECT,
    SAMPLE_TENANT,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_quarantined,
)
from readmodel_log import Log

FRIEND = Pseudonym("f" * 32)


def memory(number: int) -> MemoryId:
    return MemoryId(sample_id(f"memory {number}"))


def event(number: int, fact: Fact) -> Event:
    return sample_event(fact, command_id=CommandId(sample_id(f"command {number}")))


def accepted(number: int, generation: int = 1, about: tuple[SubjectRef, ...] = ()) -> Event:
    return event(number, sample_accepted(sample_draft(memory_id=memory(number), generation=generation), about=about))


def forgotten(number: int, which: int) -> Event:
    return event(number, MemoryForgotten(memory_id=memory(which), version=2))


async def held(reader: SubjectsReader, subject: Pseudonym = SAMPLE_SUBJECT, generation: int = 1) -> set[MemoryId]:
    return {each async for each in reader.held(SAMPLE_TENANT, subject, generation)}


async def test_records_are_held_on_everyone_they_are_about_until_they_are_forgotten(log: Log) -> None:
    model, reader = SubjectsModel(log.redis), SubjectsReader(log.redis, log.installation)
    friend = SubjectRef(subject=FRIEND, generation=1)
    quarantined = event(3, sample_quarantined(sample_draft(memory_id=memory(3))))
    await log.write(accepted(1), accepted(2, about=(friend,)), quarantined)
    await log.fold(model)
    assert await held(reader) == {memory(1), memory(2), memory(3)}
    assert await held(reader, FRIEND) == {memory(2)}
    state = await reader.state(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state is not None
    assert (state.generation, state.closed, state.records) == (1, False, 3)
    # Folded in another batch, and in the same batch, as what it forgets.
    await log.write(forgotten(4, 2), accepted(5), forgotten(6, 5))
    await log.fold(model)
    assert await held(reader) == {memory(1), memory(3)}
    assert await held(reader, FRIEND) == set()
    assert not [key for key in await log.contents("subjects") if str(memory(2)) in key or str(memory(5)) in key]


async def test_a_closed_generation_keeps_its_list_for_the_erasure_and_a_new_one_starts_empty(log: Log) -> None:
    model, reader = SubjectsModel(log.redis), SubjectsReader(log.redis, log.installation)
    issued = KeyIssued(
        incarnation=1, subject=SAMPLE_SUBJECT, generation=1, bucket=Bucket("2027-05"),
        key_id=KeyId(sample_id("data")), root_key_id=KeyId(sample_id("root")), created=True,
    )  # fmt: skip
    await log.write(event(0, issued), accepted(1), accepted(2))
    await log.write(event(3, SubjectForgotten(subject=SAMPLE_SUBJECT, generation=1, records=2)))
    await log.fold(model)
    state = await reader.state(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state is not None
    assert (state.closed, state.closed_generation, state.records, state.root_key_id) == (True, 1, 0, None)
    assert await held(reader) == {memory(1), memory(2)}
    await log.write(event(4, SubjectReadmitted(subject=SAMPLE_SUBJECT, generation=2)), accepted(5, generation=2))
    await log.fold(model)
    state = await reader.state(SAMPLE_TENANT, SAMPLE_SUBJECT)
    assert state is not None
    assert (state.closed, state.generation, state.closed_generation, state.records) == (False, 2, 1, 1)


async def test_a_subject_that_never_was_is_unknown_not_closed(log: Log) -> None:
    await log.fold(SubjectsModel(log.redis))
    assert await SubjectsReader(log.redis, log.installation).state(SAMPLE_TENANT, FRIEND) is None


async def test_replaying_from_the_start_gives_the_same_whatever_the_batches(log: Log) -> None:
    friend = SubjectRef(subject=FRIEND, generation=1)
    model = SubjectsModel(log.redis)
    for number in range(0, 30, 3):
        await log.write(accepted(number), accepted(number + 1, about=(friend,)), forgotten(number + 2, number))
        await log.fold(model)
    await log.fold(model, generation=2)
    first, second = await log.contents("subjects", 1), await log.contents("subjects", 2)
    assert first == second
    assert len(first) > 10
