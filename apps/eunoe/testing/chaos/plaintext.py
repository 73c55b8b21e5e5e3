"""Whether anything that was written lies anywhere in the clear: the erasure drill's search, over all that ran."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from redis.asyncio import Redis

from eunoe.operations.byte_patterns import Wanted
from eunoe.operations.byte_search import RECORDS, SEGMENTS, search_bytes
from eunoe.operations.drill_places import places_of
from eunoe.runtime.installation import Installation
from eunoe.runtime.settings import Settings
from eunoe.schemas.events import MemoryAccepted
from eunoe.schemas.topics import Topic
from eunoe.testing.chaos.bad_records import CARELESS
from eunoe.testing.chaos.checker import Violation
from eunoe.testing.chaos.logged import Logged

_CHECK: Final = "no plaintext anywhere"
_BODIES: Final = 50
"""Sealed bodies that the search must see, to prove that it looks where memories lie."""


async def in_the_clear(
    settings: Settings, installation: Installation, log: Logged, texts: Sequence[str], folders: tuple[Path, ...]
) -> AsyncIterator[Violation]:
    """``texts``: every statement that was written. ``folders``: of the logs of all that ran."""
    wanted = [Wanted("statement", each) for each in texts]
    wanted += [Wanted("source", "crm://tickets/4711"), Wanted("careless record", CARELESS)]
    sealed = [each.event.fact.draft.body for each in log.decided if isinstance(each.event.fact, MemoryAccepted)]
    client = Redis.from_url(settings.redis)
    try:
        where, _ = await places_of(settings, installation, client, folders)
        found = await search_bytes(where, wanted, sealed[:_BODIES])
    finally:
        await client.aclose()
    for place in found.places:
        kinds = found.kinds(place)
        if place.group in (RECORDS, SEGMENTS) and place.topic == installation.topic(Topic.EVENTS):
            kinds.pop("careless record", None)  # there somebody else put it
        if kinds:
            what = ", ".join(f"{count} of kind {kind}" for kind, count in kinds.items())
            yield Violation(check=_CHECK, where=place.name, what=f"found: {what}")
    for missed in (*found.missed, *found.unseen):
        yield Violation(
            check=_CHECK, where=missed, what="the search did not find what must be there: it proves nothing"
        )
