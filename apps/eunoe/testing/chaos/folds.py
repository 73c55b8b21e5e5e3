"""Whether every read model holds what the log says: live, rebuilt beside it, and folded once without disturbance."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.operations.doctor import FOLDS, visiting
from eunoe.operations.lag import GROUPS, measuring_lag
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.readmodels.rebuild.content import Content, content_of
from eunoe.readmodels.rebuild.errors import NotInTime, NotTheSame
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import LogId, Partition
from eunoe.testing.chaos.checker import Violation
from eunoe.testing.projections import MODELS, contents, differences
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role

REBUILT: Final = "live digest = rebuilt digest"
REFERENCE: Final = "live digest = reference fold"
_FOLDED_S: Final = 120.0
_PATIENCE_S: Final = 90.0
_AGAIN_S: Final = 2.0
Place = tuple[str, int]
"""A read model and a partition."""


async def behind(settings: Settings) -> list[str]:
    """Groups that have not worked on all there is: the decider, and whatever folds a topic."""
    async with measuring_lag(settings) as meter:
        found = await meter.measure((*GROUPS[:1], *FOLDS))
        return [f"{each.name}: {each.total}" for each in found if each.total != 0]


async def live_contents(settings: Settings, log_id: LogId, partitions: int) -> Mapping[Place, Content]:
    """What each projection says that it holds."""
    client = Redis.from_url(settings.redis)
    try:
        return {
            (model, number): await content_of(client, Prefix(log_id, Partition(number), model))
            for model in MODELS
            for number in range(partitions)
        }
    finally:
        await client.aclose()


async def not_as_rebuilt(settings: Settings) -> AsyncIterator[Violation]:
    """Fills a generation of each model beside the live one and compares them at one offset; switches nothing."""
    for model in MODELS:
        async with rebuilding(settings, model, lambda progress: None) as work:
            try:
                await work.rebuild(Wishes(switch=False, latency=None))
            except (NotTheSame, NotInTime) as difference:
                yield Violation(check=REBUILT, where=model, what=str(difference))


async def not_as_folded_once(
    settings: Settings, log_id: LogId, live: Mapping[Place, Content], reference: str
) -> AsyncIterator[Violation]:
    """``reference``: the URL of an empty Redis, into which one undisturbed projector folds the whole log."""
    alone = replace(settings, redis=reference, group="reference")
    places = [Prefix(log_id, Partition(number), model) for model, number in live]
    async with Redis.from_url(reference) as there, Redis.from_url(settings.redis) as here:
        async with running_services(alone, frozenset({Role.PROJECT})):

            async def caught_up() -> bool:
                found = [await content_of(there, each) for each in places]
                return all(
                    each.position >= live[place.model, place.partition].position
                    for each, place in zip(found, places, strict=True)
                )

            await until(caught_up, _FOLDED_S)
            different = [
                place
                for place in places
                if not (await content_of(there, place)).same_as(live[place.model, place.partition])
            ]
        for place in different:
            keys = await _differing(here, there, log_id, place)
            what = f"{len(keys)} keys differ at the first look: {', '.join(keys)}" if keys else "the digests differ"
            yield Violation(check=REFERENCE, where=f"{place.model}[{place.partition}]", what=what)


async def _differing(here: Any, there: Any, log_id: LogId, place: Prefix) -> list[str]:
    """Names of at most ten keys, in hexadecimal where they are search terms."""
    mine, other = [await contents(each, log_id, (place.model,)) for each in (here, there)]
    tag = f"{{p{place.partition}}}"
    keep = [{key: value for key, value in each.items() if tag in key} for each in (mine, other)]
    return [each.partition(tag)[2] for each in differences(*keep)]


async def not_healthy(settings: Settings) -> list[Violation]:
    """What `eunoe doctor` finds, once it finds nothing more or `_PATIENCE_S` is over: receipts take their time."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        async with visiting(settings) as doctor:
            found = [
                Violation(check=f"doctor: {check.name}", where=finding.where, what=finding.what)
                for check in await doctor.examine()
                for finding in check.findings
            ]
        if not found or time.monotonic() > deadline:
            return found
        await asyncio.sleep(_AGAIN_S)
