"""What Kafka alone tells: throughput, refusals, dead letters."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, get_args

from aiokafka import TopicPartition
from msgspec import Struct

from eunoe.console.board import PartName
from eunoe.console.known_log import KnownLog
from eunoe.console.rates import Rate
from eunoe.console.snapshot import Letter, Letters, Refusals, Refused, Service, Throughput
from eunoe.console.tail import Tail, reader
from eunoe.processors.dead_letters import ORIGIN_HEADER, REASON_HEADER
from eunoe.processors.receiving import Unusable
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.commands import Command
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.events import CommandRejected
from eunoe.schemas.ids import Millis
from eunoe.schemas.topics import Topic, TopicNames

FACTS: Final = 300
"""Offsets of memory-lifecycle that are looked at, a partition."""
LETTERS: Final = 20
"""Dead letters that are shown, a partition; `SHOWN` of all."""
SHOWN: Final = 100
OTHER: Final = "other"
_COMMANDS: Final = frozenset(each.__name__ for each in get_args(Command))
_REASONS: Final = frozenset(each.value for each in Unusable)

Look = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ThroughputSource:
    settings: Settings
    known: KnownLog
    name: PartName = "throughput"
    asks: tuple[Service, ...] = (Service.KAFKA,)
    every: float = 1.0
    deadline: float = 3.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        commands, facts, reads = Rate(), Rate(), Rate()
        counted = ((Topic.EVENTS, commands), (Topic.LIFECYCLE, facts), (Topic.ACCESS, reads))
        places = {
            topic: [TopicPartition(installation.topic(topic), number) for number in range(installation.partitions)]
            for topic, _ in counted
        }
        async with reader(self.settings) as consumer:

            async def look() -> Throughput:
                ends = await consumer.end_offsets([each for found in places.values() for each in found])
                now = time.monotonic()
                found = [rate.take(now, sum(ends[each] for each in places[topic])) for topic, rate in counted]
                await self.known.read()  # now and then anew: topics may be recreated under a running console
                self.known.still(installation)
                return Throughput(
                    log_id=installation.log_id,
                    partitions=installation.partitions,
                    commands=found[0],
                    facts=found[1],
                    reads=found[2],
                    commands_past=commands.past,
                    facts_past=facts.past,
                    reads_past=reads.past,
                )

            yield look


class _Fact(Struct, frozen=True, gc=False):
    """``reason`` None: no refusal; "" for what this version cannot read."""

    at: Millis
    reason: str | None = None
    command: str = ""


def fact_of(record: Any) -> _Fact:
    """What is kept of a record of memory-lifecycle: that it was, and of a refusal the reason."""
    try:
        event = EVENTS.decode(record.value or b"")
    except SchemaError:
        return _Fact(Millis(record.timestamp), "")
    if not isinstance(event.fact, CommandRejected):
        return _Fact(event.header.decided_at)
    command = event.fact.command if event.fact.command in _COMMANDS else OTHER
    return _Fact(event.header.decided_at, event.fact.reason.value, command)


def refusals_of(facts: list[_Fact]) -> Refusals:
    """The most frequent first."""
    counted: dict[tuple[str, str], tuple[int, Millis]] = {}
    for each in facts:
        if each.reason:
            times, last = counted.get((each.reason, each.command), (0, each.at))
            counted[each.reason, each.command] = (times + 1, max(last, each.at))
    refused = [
        Refused(reason=reason, command=command, times=times, last=last)
        for (reason, command), (times, last) in counted.items()
    ]
    return Refusals(
        facts=len(facts),
        since=min((each.at for each in facts if each.at), default=None),
        refused=tuple(sorted(refused, key=lambda each: (-each.times, each.reason, each.command))),
        unreadable=sum(each.reason == "" for each in facts),
    )


@dataclass(frozen=True, slots=True)
class RefusalsSource:
    settings: Settings
    known: KnownLog
    name: PartName = "refusals"
    asks: tuple[Service, ...] = (Service.KAFKA,)
    every: float = 2.0
    deadline: float = 6.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        async with reader(self.settings) as consumer:
            topic = installation.topic(Topic.LIFECYCLE)
            tail = Tail(consumer, topic, installation.partitions, FACTS, fact_of)

            async def look() -> Refusals:
                self.known.still(installation)
                await tail.refresh()
                return refusals_of([each for _, each in tail])

            yield look


def letter_of(record: Any, names: TopicNames) -> Letter | None:
    """What is shown of a dead letter: the headers that the decider writes in the clear, where they are like its own."""
    headers = dict(record.headers)
    reason = headers.get(REASON_HEADER, b"").decode("ascii", "replace")
    origin, _, offset = headers.get(ORIGIN_HEADER, b"").decode("ascii", "replace").rpartition(":")
    topic, _, partition = origin.rpartition(":")
    if not (topic == names.name(Topic.EVENTS) and _is_count(partition) and _is_count(offset)):
        return Letter(at=Millis(record.timestamp), reason=OTHER, topic="", partition=-1, offset=-1)
    known = reason if reason in _REASONS else OTHER
    return Letter(at=Millis(record.timestamp), reason=known, topic=topic, partition=int(partition), offset=int(offset))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


@dataclass(frozen=True, slots=True)
class LettersSource:
    settings: Settings
    known: KnownLog
    name: PartName = "letters"
    asks: tuple[Service, ...] = (Service.KAFKA,)
    every: float = 2.0
    deadline: float = 6.0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Look]:
        installation = await self.known.read()
        topic = installation.topic(Topic.DEAD_LETTERS)
        places = [TopicPartition(topic, number) for number in range(installation.partitions)]
        async with reader(self.settings) as consumer:
            tail = Tail(
                consumer, topic, installation.partitions, LETTERS, lambda each: letter_of(each, installation.names)
            )

            async def look() -> Letters:
                self.known.still(installation)
                await tail.refresh()
                starts = await consumer.beginning_offsets(places)
                ends = await consumer.end_offsets(places)
                newest = sorted((each for _, each in tail), key=lambda each: each.at, reverse=True)[:SHOWN]
                return Letters(letters=tuple(newest), kept=sum(ends[each] - starts[each] for each in places))

            yield look
