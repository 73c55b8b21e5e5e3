"""A whole demo: services, clients, the steps, and at the end the log and the bytes."""

import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from eunoe.client.memory import Memory
from eunoe.demo.log_facts import LogFacts, read_log
from eunoe.demo.play import Played, Player
from eunoe.demo.scenario import Scenario
from eunoe.demo.stand import Stand, prepared
from eunoe.demo.texts import Texts, texts_of
from eunoe.operations.byte_search import Searched, search_bytes
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.lane import heed_cancellation
from eunoe.schemas.ids import PrincipalName
from eunoe.stack.provider import Endpoints
from eunoe.worker.embedded import running_services

SERVICES: Final = "a worker's services (decide, project), hosted by this process"
"""Not a process of their own: nothing can be left running then, however the demo ends."""

Tell = Callable[[Played], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was found after everything had happened."""

    facts: LogFacts
    texts: Texts
    searched: Searched


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """``prefix``: of the topics' names."""

    steps: tuple[Played, ...]
    looked: Looked
    seconds: float
    prefix: str

    @property
    def passed(self) -> bool:
        return all(step.ok for step in self.steps) and self.looked.searched.clean


@asynccontextmanager
async def clients(stand: Stand, principals: Iterable[str]) -> AsyncIterator[dict[str, Memory]]:
    """The worker's services, ready, and a client for each principal."""
    async with AsyncExitStack() as closing:
        services = await closing.enter_async_context(running_services(stand.settings))
        await services.ready()
        yield {
            name: await closing.enter_async_context(
                Memory.connect(replace(stand.settings, principal=PrincipalName(name)))
            )
            for name in principals
        }


async def run_scenario(endpoints: Endpoints, scenario: Scenario, tell: Tell, *, own: bool) -> ScenarioRun:
    """Play everything, telling each step as it is done. Raises `ScenarioError`, and what services and clients raise."""
    started = time.monotonic()
    async with prepared(endpoints, own=own, policy=scenario.policy) as stand:
        async with clients(stand, scenario.principals) as known:
            player = Player(scenario=scenario, clients=known, clock=SystemClock())
            steps = []
            async for played in player.play():
                tell(played)
                steps.append(played)
            looked = await look(stand, player.sent.values(), (scenario.policy,), scenario.rare_words)
        return ScenarioRun(
            steps=tuple(steps),
            looked=looked,
            seconds=time.monotonic() - started,
            prefix=stand.settings.prefix,
        )


async def look(stand: Stand, lines: Iterable[Any], clear: Iterable[str], words: Iterable[str] = ()) -> Looked:
    """The log's facts, and the search for the plaintexts of ``lines`` in everything that was stored."""
    facts = await read_log(stand.settings.brokers, stand.installation)
    heed_cancellation()
    texts = texts_of(lines, clear, words)
    searched = await search_bytes(stand.where, texts.wanted, facts.sealed)
    heed_cancellation()
    return Looked(facts=facts, texts=texts, searched=searched)
