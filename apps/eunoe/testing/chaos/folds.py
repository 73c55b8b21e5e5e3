"""Whether every read model holds what the log says: live, rebuilt beside it, and folded once without disturbance."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

from redis.asyncio import Redis

from eunoe.operations.doctor import FOLDS, visiting
from eunoe.operations.lag import GROUPS, measuring_lag
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.readmodels.rebuild.content import content_of
from eunoe.readmodels.rebuild.errors import NotInTime, NotTheSame
from eunoe.runtime.errors import WorldFault
from eunoe.runtime.installation import Installation
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import LogId, Partition
from eunoe.testing.chaos.checker import Violation
from eunoe.testing.projections import MODELS, contents, differences
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role

REBUILT: Final = "live digest = rebuilt digest"
REFERENCE: Final = "live digest = reference fold"
_FOLDED_S: Final = 60.0
_LOOK_S: Final = 0.3
_PATIENCE_S: Final = 90.0
_AGAIN_S: Final = 2.0


async def behind(settings: Settings) -> list[str]:
    """Groups that have not worked on all there is: the decider, and whatever folds a topic. Or why that cannot be
    told yet: after the last fault Kafka may need a while."""
    try:
        async with measuring_lag(settings) as meter:
            found = await meter.measure((*GROUPS[:1], *FOLDS))
    except WorldFault as away:
        return [f"not known: {away}"]
    return [f"{each.name}: {each.total}" for each in found if each.total != 0]


async def not_as_rebuilt(settings: Settings) -> AsyncIterator[Violation]:
    """Fills a generation of each model beside the live one and compares them at one offset; switches nothing."""
    for model in MODELS:
        async with rebuilding(settings, model, lambda progress: None) as work:
            try:
                await work.rebuild(Wishes(switch=False, latency=None))
            except (NotTheSame, NotInTime) as difference:
                yield Violation(check=REBUILT, where=model, what=str(difference))


async def not_as_folded_once(settings: Settings, installation: Installation, reference: str) -> list[Violation]:
    """``reference``: the URL of an empty Redis, into which one undisturbed projector folds the whole log.

    The log moves on meanwhile, for what is due is swept; so both are looked at until they hold the same at one offset.
    """
    alone = replace(settings, redis=reference, group="reference")
    places = [
        Prefix(installation.log_id, Partition(number), model)
        for model in MODELS
        for number in range(installation.partitions)
    ]
    async with Redis.from_url(reference) as there, Redis.from_url(settings.redis) as here:
        async with running_services(alone, frozenset({Role.PROJECT})):
            deadline = time.monotonic() + _FOLDED_S
            left = places
            while left and time.monotonic() < deadline:
                left = [each for each in left if await content_of(here, each) != await content_of(there, each)]
                await asyncio.sleep(_LOOK_S)
        return [
            Violation(check=REFERENCE, where=f"{place.model}[{place.partition}]", what=await _said(here, there, place))
            for place in left
        ]


async def _said(here: Any, there: Any, place: Prefix) -> str:
    mine, other = await content_of(here, place), await content_of(there, place)
    keys = await _differing(here, there, place.log_id, place)
    at = f"{mine.items} items at {mine.position}, and {other.items} at {other.position} in the reference"
    return f"{at}; differing: {', '.join(keys) or 'no key at a second look'}"


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
