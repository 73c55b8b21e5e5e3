"""A log of many tenants is rebuilt in a process whose memory does not grow with it, to the digest of the live one."""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from redis.asyncio import Redis

from eunoe.bench.ground import Ground, prepared
from eunoe.bench.rebuild import RebuildBench
from eunoe.bench.rebuild_contest import contending
from eunoe.bench.rebuild_process import HISTORY, LIVE, REBUILD, RECALL
from eunoe.bench.rebuild_report import Sizes
from eunoe.readmodels.rebuild.content import Content, content_of
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.schemas.ids import Partition
from eunoe.stack.provider import Endpoints

PARTITIONS: Final = 4
GROWTH: Final = 1.15
"""With everything folded against with half of it: caches are full by then, and nothing else may be kept."""


async def contents(redis: Redis, ground: Ground, model: str) -> list[Content]:
    """Of the generation that serves, in each partition."""
    installation, found = ground.installation, []
    for partition in range(PARTITIONS):
        prefix = await GenerationStore(redis).serving(Prefix(installation.log_id, Partition(partition), model))
        found.append(await content_of(redis, prefix))
    return found


async def heard(bench: RebuildBench, what: str, model: str, *until: str) -> list[Mapping[str, Any]]:
    task = {**bench.keys.task, "what": what, "model": model}
    async with contending(bench.ground.environ, task) as contest:
        said = [await contest.until(at) for at in until]
        await contest.end()
    return said


async def rebuilt(stack: Endpoints, events: int, model: str) -> None:
    sizes = Sizes(events=(events,), repetitions=1, searches=0, partitions=PARTITIONS, seed=1)
    async with prepared(stack, partitions=PARTITIONS) as ground:
        bench = RebuildBench(ground=ground, sizes=sizes, progress=lambda _: None)
        assert await bench.log.write(bench.events.up_to(events)) == events
        made = bench.events
        assert made.superseded / events == pytest.approx(0.05, rel=0.2)
        assert made.expired / events == pytest.approx(0.02, rel=0.3)
        assert made.forgotten > 0
        await heard(bench, LIVE, model, "filled")
        live = await contents(ground.redis, ground, model)
        filled, proved, _ = await heard(bench, REBUILD, model, "filled", "proved", "switched")
        built = await contents(ground.redis, ground, model)
        assert [each.digest for each in built] == [each.digest for each in live] == list(proved["digests"])
        assert sum(each.items for each in built) == proved["items"] > 0.8 * events
        generations = Prefix(ground.installation.log_id, Partition(0), model)
        assert (await GenerationStore(ground.redis).of(generations)).serving == 2
        resident = filled["resident"]
        assert resident["end"] <= GROWTH * resident["middle"], resident


@pytest.mark.parametrize("model", [HISTORY, RECALL])
async def test_a_small_one_first(stack: Endpoints, model: str) -> None:
    """Forgotten people were there when the live model was projected, and are erased when it is rebuilt."""
    await rebuilt(stack, 2_000, model)


@pytest.mark.timeout(300)  # 85 s on two cores with a load of twelve
async def test_twenty_thousand_facts(stack: Endpoints) -> None:
    await rebuilt(stack, 20_000, RECALL)


@pytest.mark.timeout(600)
async def test_a_hundred_thousand_facts(stack: Endpoints) -> None:
    """A tenth of what `make test-long` takes. Of `history`: most of the time of `recall` is Redis writing postings."""
    await rebuilt(stack, 100_000, HISTORY)


@pytest.mark.long
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("model", [HISTORY, RECALL])
async def test_a_million_facts(stack: Endpoints, model: str) -> None:
    await rebuilt(stack, 1_000_000, model)
