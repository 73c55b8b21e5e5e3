"""Generations: what they hold as a digest, which one answers, and what a change of them does to readers and writers."""

from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import TimeoutError as RedisLate

from eunoe.crypto.hierarchy import KeyKind
from eunoe.operations.doctor import FOLDS
from eunoe.processors.ledger.keys import ledger_prefix
from eunoe.readmodels.as_of import AsOf
from eunoe.readmodels.errors import GenerationRetired
from eunoe.readmodels.history import HistoryModel, change
from eunoe.readmodels.history_reader import HistoryReader
from eunoe.readmodels.keys import KeysModel
from eunoe.readmodels.outcomes import OutcomesModel
from eunoe.readmodels.projector import Pace, ReadModel
from eunoe.readmodels.rebuild.content import (
    MIXED,
    NOTHING,
    Content,
    content_of,
    counting,
    differences,
    items_of,
    recounted,
)
from eunoe.readmodels.rebuild.errors import NotTheSame
from eunoe.readmodels.rebuild.pacing import Throttle
from eunoe.readmodels.rebuild.places import Places
from eunoe.readmodels.rebuild.rebuilding import Rebuild
from eunoe.readmodels.review import ReviewModel
from eunoe.readmodels.source import KeyDestroyed, Positioned
from eunoe.readmodels.store import text
from eunoe.readmodels.subjects import SubjectsModel
from eunoe.runtime.redis.functions import FunctionLibrary, LoadedFunctions
from eunoe.runtime.redis.generations import TO_SERVE, GenerationStore, NotChanged
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import Operation, Step, Watermark
from eunoe.schemas.events import (
    Event,
    Fact,
    MemoryForgotten,
    MemoryRetracted,
    SubjectForgotten,
    SubjectRef,
    WithdrawnRef,
)
from eunoe.schemas.ids import CommandId, KeyId, LogId, MemoryId, Millis, Offset, Partition, Pseudonym
from eunoe.testing.samples import (
    SAMPLE_TENANT,
    SAMPLE_TIME,
    sample_accepted,
    sample_draft,
    sample_event,
    sample_id,
    sample_key,
    sample_quarantined,
)
from readmodel_log import FAST, Log

FRIEND = Pseudonym("f" * 32)


def memory(name: str) -> MemoryId:
    return MemoryId(sample_id(name))


def event(number: int, fact: Fact) -> Event:
    return sample_event(
        fact, command_id=CommandId(sample_id(f"command {number}")), decided_at=Millis(SAMPLE_TIME + number)
    )


def story() -> Sequence[Event]:
    """Every kind of write that a fold makes: records that come, change, give way, end, and a person forgotten."""
    other = sample_draft(memory_id=memory("other"), subject=FRIEND)
    facts: list[Fact] = [
        sample_accepted(sample_draft(memory_id=memory("a"))),
        sample_accepted(sample_draft(memory_id=memory("b")), about=(SubjectRef(subject=FRIEND, generation=1),)),
        sample_quarantined(sample_draft(memory_id=memory("c"))),
        sample_accepted(other),
        MemoryRetracted(memory_id=memory("a"), version=2),
        MemoryForgotten(memory_id=memory("b"), version=2),
        SubjectForgotten(subject=FRIEND, generation=1, records=1),
    ]
    return [event(number, fact) for number, fact in enumerate(facts)]


def models(log: Log) -> list[ReadModel[Event]]:
    return [
        HistoryModel(),
        SubjectsModel(log.redis),
        OutcomesModel(log.redis),
        ReviewModel(log.redis, lambda: SAMPLE_TIME),
    ]


def functions_of(model: ReadModel[Event]) -> LoadedFunctions:
    assert model.functions is not None
    return model.functions


async def swept(log: Log, model: ReadModel[Event], prefix: Prefix) -> None:
    if isinstance(model, ReviewModel):
        while await model.tend(prefix):
            pass


async def test_the_digest_is_that_of_what_is_there_whatever_the_batches(log: Log) -> None:
    await log.write(*story())
    for model in models(log):
        found = []
        for generation, batch in ((1, 500), (2, 1), (3, 2)):
            await log.fold(model, generation=generation, pace=Pace(batch=batch, poll_ms=50, settle_s=0.2))
            prefix = log.prefix(model.name, generation)
            await swept(log, model, prefix)
            counted = await content_of(log.redis, prefix)
            items = await items_of(log.redis, prefix, functions_of(model))
            rules = await counting(log.redis, prefix, functions_of(model))
            assert recounted(items, counted.position, rules) == counted, model.name
            found.append(counted)
        assert found[0] == found[1] == found[2], model.name
        assert found[0].items > 0, model.name
        assert found[0].digest != NOTHING, model.name


async def test_a_changed_item_is_named_with_its_field(log: Log) -> None:
    model = HistoryModel()
    await log.write(*story())
    await log.fold(model)
    await log.fold(model, generation=2)
    one, other = log.prefix(model.name), log.prefix(model.name, 2)
    assert await differences(log.redis, one, other, functions_of(model), 10) == []
    key = f"memory:{SAMPLE_TENANT}:{memory('a')}"
    fields = sorted(text(each) for each in await log.redis.hkeys(other.key(key)))
    await log.redis.hset(other.key(key), fields[0], "something else")
    await log.redis.hdel(other.key(key), fields[1])
    await log.redis.hset(other.key("extra"), "field", "value")
    found = await differences(log.redis, one, other, functions_of(model), 10)
    told = [(each.key, each.field, each.how) for each in found]
    assert told == [
        ("extra", "field", "additional"),
        (key, fields[0], "different"),
        (key, fields[1], "missing"),
    ]
    assert len(await differences(log.redis, one, other, functions_of(model), 2)) == 2


async def test_what_was_only_written_meanwhile_is_no_difference(log: Log) -> None:
    """The live one moves on between the two looks; the one that is built follows when it is asked to."""
    model = HistoryModel()
    await log.write(*story())
    await log.fold(model)
    await log.fold(model, generation=2)
    one, other = log.prefix(model.name), log.prefix(model.name, 2)
    await log.redis.hset(other.key("extra"), "field", "value")
    await log.write(event(100, sample_accepted(sample_draft(memory_id=memory("late")))))
    await log.fold(model)
    found = await differences(log.redis, one, other, functions_of(model), 10)
    assert "extra" in {each.key for each in found}
    assert len(found) > 1

    async def meet() -> None:
        await log.fold(model, generation=2)

    found = await differences(log.redis, one, other, functions_of(model), 10, meet)
    assert [(each.key, each.how) for each in found] == [("extra", "additional")]


async def test_keys_filled_after_compaction_have_the_same_digest(log: Log) -> None:
    """What compaction took away (the destroyed key and its tombstone) is nothing that counts."""
    model, log_id = KeysModel(log.redis), log.installation.log_id
    kept = sample_key(log_id, KeyKind.DATA, key_id=KeyId(sample_id("kept")))
    gone = sample_key(log_id, KeyKind.DATA, key_id=KeyId(sample_id("gone")))
    await log.write_keys(gone, kept)
    await log.fold(model)
    before = await content_of(log.redis, log.prefix(model.name))
    await log.write_keys(KeyDestroyed(gone.key_id))
    await log.fold(model)
    after = await content_of(log.redis, log.prefix(model.name))
    assert (before.items, after.items) == (2, 1)
    steps = [Step(0, 1, [("SET", log.prefix(model.name, 2).key(f"key:{kept.key_id}"), await _value(log, kept.key_id))])]
    await Watermark(log.redis, log.prefix(model.name, 2), model.functions).move(steps)
    assert (await content_of(log.redis, log.prefix(model.name, 2))).same_as(after)


async def _value(log: Log, key_id: KeyId) -> bytes:
    found = await log.redis.get(log.prefix("keys").key(f"key:{key_id}"))
    assert isinstance(found, bytes)
    return found


async def test_a_failing_call_leaves_a_digest_that_is_right(log: Log) -> None:
    model = HistoryModel()
    prefix = log.prefix(model.name)
    mark = Watermark(log.redis, prefix, model.functions)
    await mark.move([Step(0, 1, [("HSET", prefix.key("a"), "field", "one")])])
    with pytest.raises(Exception, match="WRONGTYPE"):
        await mark.move([Step(1, 2, [("HSET", prefix.key("a"), "field", "two"), ("SET", prefix.key("b"), "x"),
                                     ("HSET", prefix.key("b"), "f", "v")])])  # fmt: skip
    assert await mark.position() == 1
    counted = await content_of(log.redis, prefix)
    assert recounted(await items_of(log.redis, prefix, functions_of(model)), counted.position, "1") == counted
    assert counted.items == 2


async def second_serves(log: Log, model: ReadModel[Event]) -> tuple[GenerationStore, Prefix]:
    """A log that two generations hold, of which the first was switched away from."""
    await log.write(*story())
    await log.fold(model)
    store, first = GenerationStore(log.redis), log.prefix(model.name)
    await store.begin(first)
    await log.fold(model, generation=2)
    await store.switch(first.of(2), 1)
    return store, first


async def test_readers_follow_the_switch_and_a_pinned_one_does_not(log: Log) -> None:
    model = HistoryModel()
    await log.write(*story())
    await log.fold(model)
    reader, pinned = HistoryReader(log.redis, log.installation), HistoryReader(log.redis, log.installation, 1)
    before = await reader.history(SAMPLE_TENANT, memory("a"))
    store, first = GenerationStore(log.redis), log.prefix(model.name)
    number, fresh = await store.begin(first)
    assert (number, fresh) == (2, True)
    assert await store.begin(first) == (2, False)
    with pytest.raises(NotChanged, match="it is at 0, the serving one at"):
        await store.switch(first.of(2), 1)
    await log.fold(model, generation=2)
    await store.switch(first.of(2), 1)
    assert await reader.history(SAMPLE_TENANT, memory("a")) == before
    assert (await store.of(first)).followed == [2, 1]
    # Only what the new generation holds can be answered now.
    await log.redis.delete(first.key(f"memory:{SAMPLE_TENANT}:{memory('a')}"))
    assert await reader.history(SAMPLE_TENANT, memory("a")) == before
    assert (await pinned.history(SAMPLE_TENANT, memory("a"))).entries == ()


async def test_nobody_fills_a_retired_generation_again(log: Log) -> None:
    model = HistoryModel()
    store, first = await second_serves(log, model)
    with pytest.raises(NotChanged, match="generation 2 serves"):
        await store.retire(first.of(2))
    behind = Watermark(log.redis, first, model.functions)
    position = await behind.position()
    await store.retire(first)
    assert (await store.of(first)).all == [2]
    with pytest.raises(Exception, match="found -1"):
        await behind.move([Step(position, position + 1, [("SET", first.key("late"), "x")])])
    with pytest.raises(GenerationRetired):
        await log.lane(model, pace=FAST).run()
    assert await log.redis.get(first.key("late")) is None
    assert (await store.begin(first))[0] == 3


async def test_there_is_one_generation_to_go_back_to_at_a_time(log: Log) -> None:
    model = HistoryModel()
    await log.fold(model)
    store, first = GenerationStore(log.redis), log.prefix(model.name)
    for number in (2, 3):
        assert (await store.begin(first))[0] == number
        await log.fold(model, generation=number)
        if number == 2:
            await store.switch(first.of(2), 1)
    with pytest.raises(NotChanged, match="generation 1 is still kept"):
        await store.switch(first.of(3), 2)
    await store.retire(first)
    await store.switch(first.of(3), 2)
    assert (await store.of(first)).followed == [3, 2]
    await store.switch(first.of(2), 3)
    assert (await store.of(first)).followed == [2, 3]


async def test_workers_of_two_versions_write_one_generation_in_turn_and_neither_replaces_the_others_functions(
    log: Log,
) -> None:
    """A rolling upgrade, and back: each version brings its own library, under a name of its own."""
    newer = FunctionLibrary("eunoe_digested", "everything()\n-- a later version\n").load()
    older = HistoryModel()
    assert newer.function("apply") != older.functions.function("apply")
    events = story()
    for number, each in enumerate(events):
        await log.write(each)
        model = HistoryModel()
        if number % 2:
            model.functions = newer  # type: ignore[misc]  # what a worker of the other version has
        await log.fold(model)
    await log.fold(older, generation=2)
    assert await log.contents("history") == await log.contents("history", 2)
    loaded = {text(each[1]) for each in await log.redis.function_list("eunoe_digested*")}
    assert len(loaded) >= 2


def rebuild(log: Log, model: ReadModel[Event], patience: float = 1.0) -> Rebuild:
    return Rebuild(
        model=model,
        redis=log.redis,
        installation=log.installation,
        bootstrap=log.bootstrap,
        throttle=Throttle(redis=log.redis),
        progress=lambda _: None,
        patience=patience,
    )


async def test_workers_that_count_by_different_rules_spoil_no_digest_and_a_rebuild_tells_all_the_same(log: Log) -> None:
    """A rolling upgrade that changes what counts, and back: item after item is compared where no digest tells."""
    newer = FunctionLibrary("eunoe_digested", "everything()\nrules = '2'\n").load()
    for number, each in enumerate(story()):
        await log.write(each)
        model = HistoryModel()
        if number % 2:
            model.functions = newer  # type: ignore[misc]  # what a worker of the other version has
        await log.fold(model)
    live, older = log.prefix("history"), HistoryModel()
    held = await content_of(log.redis, live)
    assert held == Content(position=held.position, digest="", items=0, rules=MIXED)
    assert not held.same_as(held)
    at = rebuild(log, older)
    built = next(each for each in await at.places.begin() if each.partition == live.partition)
    await at.fill([built])
    proof = await at.proving.prove(built)
    assert proof.content.rules == await counting(log.redis, built, functions_of(older)) == "1"
    assert proof.checks == {"compared one by one": proof.content.items}
    assert proof.content.items > 0
    key = f"memory:{SAMPLE_TENANT}:{memory('a')}"
    field = text(min(await log.redis.hkeys(built.key(key))))
    await log.redis.hset(built.key(key), field, "something else")
    with pytest.raises(NotTheSame, match=r"serves holds items that workers of several versions counted") as differs:
        await at.proving.prove(built)
    assert [(each.key, each.field, each.how) for each in differs.value.found] == [(key, field, "different")]


class Failing(HistoryModel):
    """Folds once Redis was late ``times``."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    async def fold(self, prefix: Prefix, records: Sequence[Positioned[Event]]) -> Sequence[Sequence[Operation]]:
        if self.left:
            self.left -= 1
            raise RedisLate
        return await super().fold(prefix, records)


async def test_a_rebuild_of_hours_outlives_a_redis_that_is_late_and_not_one_that_stays_away(log: Log) -> None:
    await log.write(*story())
    await log.fold(HistoryModel())
    for model, ends in ((Failing(1), False), (Failing(99), True)):
        at = rebuild(log, model, patience=1.5)
        built = [each for each in await at.places.begin() if each.partition == log.prefix("history").partition]
        if ends:
            await at.places.remove(built)
            built = [each for each in await at.places.begin() if each.partition == log.prefix("history").partition]
            with pytest.raises(RedisLate):
                await at.fill(built)
        else:
            await at.fill(built)
            assert (await at.proving.prove(built[0])).content.items > 0


async def test_as_of_then_a_record_that_came_later_is_not_known_by_its_end(log: Log) -> None:
    """Forgotten since, and forgotten with what was built on it: of both only what was there then is marked."""
    draft = sample_draft(memory_id=memory("later"))
    early = event(0, sample_accepted(sample_draft(memory_id=memory("early"))))
    until = (await log.write(early))[0] + 1
    gone = (WithdrawnRef(memory_id=memory("built on it"), version=1),)
    facts: list[Fact] = [sample_accepted(draft)]
    facts += [MemoryForgotten(memory_id=memory(each), version=2, withdrawn=gone) for each in ("later", "early")]
    await log.write(*(event(number, fact) for number, fact in enumerate(facts, start=1)))
    for model in models(log):
        await log.fold(AsOf(model, Offset(until)), generation=2)
        built = log.prefix(model.name, 2)
        held = [key async for key in log.redis.scan_iter(match=f"{built}*")]
        for each in ("later", "built on it"):
            assert not any(memory(each).encode() in key for key in held), model.name
    entries: Any = await log.redis.hvals(log.prefix("history", 2).key(f"memory:{SAMPLE_TENANT}:{memory('early')}"))
    assert sorted(change(each).kind for each in entries) == ["MemoryAccepted", "MemoryForgotten"]
    outcomes = log.prefix("outcomes", 2)
    assert await log.redis.zcard(outcomes.key("by-time")) == 1, "nobody's later command"
    await log.fold(HistoryModel())
    assert await log.redis.exists(log.prefix("history").key(f"memory:{SAMPLE_TENANT}:{memory('later')}")), "else it is"


async def test_what_a_removal_left_is_named_until_it_is_gone(log: Log) -> None:
    """Erasures are proved by every generation that holds anything, and this one may."""
    model = HistoryModel()
    store, first = await second_serves(log, model)
    await store.retire(first)  # and whoever did so crashed before it removed a key
    assert (await store.filled(first))[first.of(1)] == 0
    places = Places(redis=log.redis, installation=log.installation, model=model.name)
    assert await places.left() == [first.of(1)]
    assert await places.remove(await places.left()) > 0
    assert await places.left() == []
    assert first.of(1) not in await store.filled(first)


async def test_what_was_begun_for_one_purpose_is_not_gone_on_with_for_another(log: Log) -> None:
    store, first = GenerationStore(log.redis), log.prefix(HistoryModel().name)
    assert await store.begin(first, "until 7", least=5) == (5, True)
    with pytest.raises(NotChanged, match="generation 5 was begun for something else"):
        await store.begin(first, TO_SERVE)
    await store.join(first.of(5))
    with pytest.raises(NotChanged, match="workers project it already"):
        await store.freeze(first.of(5), 7)
    assert await store.begin(first, "until 7") == (5, False)
    assert not (await store.of(first)).joined
    await store.freeze(first.of(5), 7)
    assert await store.begin(first) == (6, True)


async def test_after_a_flush_nobody_fills_a_generation_that_nothing_names(log: Log) -> None:
    model = HistoryModel()
    await log.write(*story())
    await log.fold(model)
    store, first = GenerationStore(log.redis), log.prefix(model.name)
    await store.begin(first)
    end = await log.end()
    await log.lane(model, generation=2, pace=FAST, named=True).run(until=end)
    await log.redis.delete(first.generations, first.of(2).watermark)
    with pytest.raises(GenerationRetired):
        await log.lane(model, generation=2, pace=FAST, named=True).run(until=end)
    assert not await log.redis.exists(first.of(2).watermark)


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        (("APPEND", "a", "more"), "APPEND"),
        (("SET", "a", "x", "EX", 5), "SET with EX"),
        (("ZADD", "z", "GT", 2, "member"), "ZADD of this form"),
        (("HINCRBY", "h", "field", 1), "HINCRBY"),
    ],
)
async def test_a_write_that_the_digest_does_not_know_is_refused(log: Log, operation: Operation, problem: str) -> None:
    """One that it let pass would make it wrong in silence."""
    model = HistoryModel()
    prefix = log.prefix(model.name)
    mark = Watermark(log.redis, prefix, model.functions)
    name, key, *more = operation
    with pytest.raises(Exception, match=problem):
        await mark.move([Step(0, 1, [(name, prefix.key(str(key)), *more)])])
    assert await mark.position() == 0
    await mark.move([Step(0, 1, [("SET", prefix.key("a"), "x")])])
    assert (await content_of(log.redis, prefix)).items == 1


async def test_what_one_write_names_twice_counts_once(log: Log) -> None:
    model = HistoryModel()
    prefix = log.prefix(model.name)
    mark = Watermark(log.redis, prefix, model.functions)
    a, h, s, z = (prefix.key(each) for each in "ahsz")
    writes: list[Operation] = [
        ("SET", a, "x"),
        ("HSET", h, "f", "one", "f", "two", "g", 3),
        ("HDEL", h, "g", "g"),
        ("SADD", s, "m", "m", "n"),
        ("SREM", s, "n", "n"),
        ("ZADD", z, 1, "m"),
        ("ZREM", z, "m", "m"),
        ("DEL", a, a),
    ]
    await mark.move([Step(0, 1, writes)])
    counted = await content_of(log.redis, prefix)
    assert counted.items == 2
    assert recounted(await items_of(log.redis, prefix, functions_of(model)), counted.position, "1") == counted


def test_no_two_projections_share_a_mark() -> None:
    """Every fold that moves a watermark, of every worker role, has a name of its own (S24)."""
    names = [each.model for each in FOLDS] + [ledger_prefix(LogId("log"), Partition(0)).model]
    assert len(set(names)) == len(names)
    first = Prefix(LogId("log"), Partition(0), names[0])
    assert len({first.watermark, first.of(2).watermark, Prefix(first.log_id, Partition(1), names[0]).watermark}) == 3
