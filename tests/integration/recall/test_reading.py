"""The rest of a read: queries, scripts, budgets, freshness, tokens, keys, and what lies in Redis."""

import asyncio
import json

import pytest

from eunoe.readmodels.errors import BeingFilled, ForeignToken, NotYet, UnknownPlace
from eunoe.readmodels.recall.analyse import Analyser
from eunoe.readmodels.recall.errors import AnalyserChanged, BadScope, TooStale
from eunoe.readmodels.recall.rank import Bm25, Overlap
from eunoe.readmodels.recall.reader import ReaderSettings
from eunoe.readmodels.recall.result import Empty, Warned
from eunoe.schemas.commands import MemoryBody
from eunoe.schemas.ids import LogId, MemoryId, Millis, Offset, Partition, TenantId, new_id
from eunoe.schemas.outcomes import BadToken, Token
from eunoe.testing.recalling import RecallWorld
from eunoe.testing.samples import SAMPLE_TENANT, SAMPLE_TIME, sample_accepted


@pytest.mark.parametrize(
    ("statement", "query"),
    [
        ("Предпочитает доставку вечером", "когда доставка?"),
        ("配達は夕方を希望しています", "配達"),
        ("他喜欢在晚上收货", "晚上"),
        ("저녁 배달을 선호합니다", "배달"),
        ("ชอบรับของตอนเย็น", "ตอนเย็น"),
        ("Préfère la crème brûlée", "creme brulee"),
        ("Bought a 自転車 in Москва", "自転車"),
        ("Bought a 自転車 in Москва", "москве"),
    ],
)
async def test_every_script_is_found(world: RecallWorld, statement: str, query: str) -> None:
    memory_id = await world.remember(statement)
    await world.remember("Something unrelated")
    result = await world.reader.search(world.scope(), query)
    assert [each.memory_id for each in result.records] == [memory_id]
    assert result.records[0].statement == statement


@pytest.mark.parametrize(
    ("query", "reason"), [("", Empty.NO_WORDS), ("?! …", Empty.NO_WORDS), ("what is the", Empty.ONLY_STOP_WORDS)]
)
async def test_a_query_without_usable_terms_is_empty_with_a_reason(
    world: RecallWorld, query: str, reason: Empty
) -> None:
    await world.remember("What is the matter?")
    result = await world.reader.search(world.scope(), query)
    assert (result.records, result.empty) == ((), reason)
    assert (await world.reader.search(world.scope(), "matter")).empty is None


async def test_an_oversize_query_is_clipped_with_a_warning(world: RecallWorld) -> None:
    memory_id = await world.remember("Delivery in the evening")
    query = "delivery " + " ".join(f"word{at}" for at in range(5_000))
    result = await world.reader.search(world.scope(), query)
    assert [each.memory_id for each in result.records] == [memory_id]
    assert result.warnings == (Warned.QUERY_CLIPPED,)


async def test_a_record_is_found_by_the_day_it_was_observed(world: RecallWorld) -> None:
    observed = Millis(SAMPLE_TIME - 200 * 86_400_000)  # 2026-06-29
    memory_id = await world.remember("Bought a kettle", observed_at=observed)
    await world.remember("Bought a kettle")
    result = await world.reader.search(world.scope(), "what was bought in June 2026?")
    assert result.records[0].memory_id == memory_id


async def test_what_does_not_fit_the_budget_is_skipped_and_the_next_is_tried(world: RecallWorld) -> None:
    long = await world.remember("Delivery delivery delivery " + "and so on " * 50)
    short = [await world.remember(f"Delivery note number {at}") for at in range(3)]
    fits = await world.reader.search(world.scope(), "delivery", ranking=Overlap())
    assert long in {each.memory_id for each in fits.records}
    result = await world.reader.search(world.scope(), "delivery", budget=60)
    assert {each.memory_id for each in result.records} == set(short)
    assert [each.id for each in result.skipped] == [long]
    assert result.skipped[0].tokens > 60 >= result.used_tokens
    assert (await world.reader.search(world.scope(), "delivery", limit=0)).records == ()


async def test_a_budget_looks_past_the_first_page(world: RecallWorld) -> None:
    for at in range(40):
        await world.remember(f"Delivery delivery {at} " + "window " * 40)
    short = await world.remember("A rather plain note that has one delivery in it among other words")
    result = await world.reader.search(world.scope(), "delivery window", limit=1, budget=50, ranking=Bm25())
    assert [each.memory_id for each in result.records] == [short]
    assert len(result.skipped) == 40


async def test_a_token_is_waited_for(world: RecallWorld) -> None:
    await world.remember("Delivery in the morning")
    draft = await world.draft("Delivery in the evening")
    token = Token(log_id=world.installation.log_id, partition=world.prefix().partition, position=Offset(2)).text
    with pytest.raises(NotYet) as late:
        await world.reader.search(world.scope(), "delivery", after=token, timeout=0.02)
    assert (late.value.position, late.value.wanted) == (1, 2)
    waiting = asyncio.create_task(world.reader.search(world.scope(), "delivery", after=token))
    await asyncio.sleep(0)
    await world.happens(sample_accepted(draft))
    result = await waiting
    assert len(result.records) == 2
    assert result.token == token
    assert result.freshness.position == 2


async def test_a_foreign_token_is_refused(world: RecallWorld) -> None:
    own = world.prefix().partition
    log_id = world.installation.log_id
    with pytest.raises(BadToken):
        await world.reader.search(world.scope(), "delivery", after="yesterday")
    foreign = Token(log_id=LogId(new_id()), partition=own, position=Offset(0))
    with pytest.raises(ForeignToken):
        await world.reader.search(world.scope(), "delivery", after=foreign.text)
    other = Token(log_id=log_id, partition=Partition((own + 1) % 4), position=Offset(0))
    with pytest.raises(UnknownPlace):
        await world.reader.search(world.scope(), "delivery", after=other.text)


async def test_a_model_that_lags_too_far_fails_closed(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening")
    reader = world.new_reader(settings=ReaderSettings(max_lag=5_000))
    with pytest.raises(BeingFilled, match="no projector has said how far"):
        await reader.search(world.scope(), "delivery")
    await world.redis.hset(world.prefix().watermark, "log_end", 4)
    with pytest.raises(BeingFilled, match=r"offset 1 of 4 \(25 %\)"):
        await reader.search(world.scope(), "delivery")
    await world.redis.hset(world.prefix().watermark, "caught_up_at", world.now)
    assert len((await reader.search(world.scope(), "delivery")).records) == 1
    world.now = Millis(world.now + 5_001)
    with pytest.raises(TooStale) as stale:
        await reader.search(world.scope(), "delivery")
    assert stale.value.lag == 5_001
    with pytest.raises(TooStale):
        await reader.get(world.scope(), MemoryId(new_id()))


async def test_a_generation_built_by_other_rules_is_not_searched(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening")
    other = world.new_reader(analyser=lambda _: Analyser(language="de"))
    with pytest.raises(AnalyserChanged):
        await other.search(world.scope(), "delivery")
    with pytest.raises(BadScope):
        await world.reader.search(world.scope(), "delivery", ranking=Bm25(k1=2.0))


async def test_a_reader_notices_that_the_index_was_built_anew(world: RecallWorld) -> None:
    await world.remember("Delivery in the evening")
    assert len((await world.reader.search(world.scope(), "delivery")).records) == 1
    async for key in world.redis.scan_iter(match=f"{world.prefix()}*"):
        await world.redis.delete(key)
    world.rewind(SAMPLE_TENANT)
    world.model._indexes.clear()  # another worker fills it
    await world.remember("Delivery in the morning")
    assert len((await world.reader.search(world.scope(), "delivery")).records) == 1


async def test_nothing_readable_lies_in_redis(world: RecallWorld) -> None:
    contents = MemoryBody(statement="Prefers xylophone lessons", source_uri="crm://zebra", claim_key="music.xylophone")
    await world.remember("", contents=contents, whom="quentin-quagmire")
    await world.remember("Waits for xylophone review", quarantined=True, whom="quentin-quagmire")
    control = world.prefix().key("control")
    dumped = await _bytes_under(world)
    for word in (b"xylophone", b"xylophon", b"zebra", b"quentin", b"quagmire"):
        assert word not in dumped
    await world.redis.set(control, json.dumps({"w:xylophon": "quentin"}))
    dumped = await _bytes_under(world)
    assert b"xylophon" in dumped
    assert b"quentin" in dumped


async def _bytes_under(world: RecallWorld) -> bytes:
    found = []
    async for key in world.redis.scan_iter(match=f"{world.prefix()}*", count=500):
        found.append(key)
        match await world.redis.type(key):
            case b"hash":
                found += [part for pair in (await world.redis.hgetall(key)).items() for part in pair]
            case b"set":
                found += list(await world.redis.smembers(key))
            case b"zset":
                found += await world.redis.zrange(key, 0, -1)
            case _:
                found.append(await world.redis.get(key))
    return b"\n".join(found).lower()


async def test_one_tenants_search_does_not_touch_another_tenants_records(world: RecallWorld) -> None:
    same_partition = TenantId("t-0")
    serial = 0
    while world.installation.partition_of(same_partition) != world.prefix().partition:
        serial += 1
        same_partition = TenantId(f"t-{serial}")
    mine = await world.remember("Delivery in the evening")
    for at in range(20):
        await world.remember(f"Delivery in the evening {at}", tenant=same_partition)
    result = await world.reader.search(world.scope(), "delivery evening")
    assert [each.memory_id for each in result.records] == [mine]
    assert result.examined == 1
