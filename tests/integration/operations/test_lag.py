"""Consumer lag on a real stack: equal to a backlog that was counted by hand, and 0 where nothing waits."""

import time
from dataclasses import replace
from pathlib import Path

from redis.asyncio import Redis

from eunoe.client.lines import Line, line_of
from eunoe.client.memory import Memory
from eunoe.operations.lag import GROUPS, GroupLag, LagMeter, measuring_lag
from eunoe.operations.lag_rules import LagStatus
from eunoe.schemas.ids import PrincipalName
from eunoe.schemas.topics import TopicNames
from eunoe.testing.platform import install
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role


def by_name(found: tuple[GroupLag, ...]) -> dict[str, GroupLag]:
    return {each.name: each for each in found}


async def caught_up(meter: LagMeter) -> bool:
    return all(each.total == 0 for each in await meter.measure())


async def test_lag_is_what_a_count_by_hand_gives(
    kafka_bootstrap: str, redis_url: str, redis_client: Redis, topic_names: TopicNames, tmp_path: Path
) -> None:
    platform = await install(kafka_bootstrap, redis_url, topic_names, tmp_path)
    settings = replace(platform.settings, principal=PrincipalName("dev-agent"))
    async with measuring_lag(settings) as meter:
        async with running_services(settings), Memory.connect(settings) as memory:
            await memory.perform(lines(1, "first")[0], timeout=20)
            # An idle transactional topic ends in a marker that nobody reads: it is no lag.
            await until(lambda: caught_up(meter))
            owners = [each.owner for each in by_name(await meter.measure())["recall"].partitions]
            assert all(owners)

        # Only the decider works on: what it decides waits for every read model.
        decided = 7
        async with (
            running_services(settings, frozenset({Role.DECIDE})),
            Memory.connect(settings) as memory,
        ):
            sent = [await memory.send(each) for each in lines(decided, "one")]
            for each in sent:
                await each.written()
            await until(lambda: done(meter, "decide"))
        # And what is sent now waits for the decider.
        async with Memory.connect(settings) as memory:
            sent = [await memory.send(each) for each in lines(5, "two")]
            for each in sent:
                await each.written()
        await until(lambda: unowned(meter))
        found = by_name(await meter.measure())
        assert found["decide"].total == 5
        for name in ("recall", "history", "outcomes", "subjects"):
            assert found[name].total == decided, name
            (waiting,) = [each for each in found[name].partitions if each.lag]
            assert waiting.offsets is not None
            assert waiting.offsets > decided  # the markers of the transactions lie between
            assert waiting.age is not None
            assert 0 <= waiting.age < 60
            assert waiting.verdict.status is LagStatus.STOPPED
        assert found["keys"].total == 0

        async with running_services(settings):
            started = time.monotonic()
            await until(lambda: caught_up(meter))
            assert time.monotonic() - started < 60
        assert {each.name for each in GROUPS} == set(found)


def lines(count: int, batch: str) -> list[Line]:
    return [
        line_of(
            {
                "op": "remember",
                "tenant": "acme",
                "agent": "bot",
                "purposes": ["support"],
                "subject": "customer-17",
                "ttl": "P30D",
                "statement": f"Fact {number} of {batch}.",
                "source": {"kind": "user_explicit", "uri": "crm://1"},
                "idempotency_key": f"{batch}-{number}",
            }
        )
        for number in range(count)
    ]


async def done(meter: LagMeter, group: str) -> bool:
    return by_name(await meter.measure())[group].total == 0


async def unowned(meter: LagMeter) -> bool:
    return not any(each.owner for group in await meter.measure() for each in group.partitions)
