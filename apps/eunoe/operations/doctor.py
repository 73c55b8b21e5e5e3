"""`eunoe doctor`: orphans and gaps, found by comparing everything with the log (M5). It changes nothing unless told to.

It reads the log from the beginning and Redis whole, so it is for the quiet hour; it waits for nobody and may run beside
workers.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, TopicPartition
from redis.asyncio import Redis

from eunoe.operations.doctor_content import check_digests, check_histories, recount
from eunoe.operations.doctor_finding import Checked, Finding
from eunoe.operations.doctor_keys import PATIENCE_MS, Times, check_closed, check_receipts, check_stored, check_unknown
from eunoe.operations.doctor_log import read_facts, read_key_topic, read_stages
from eunoe.operations.doctor_recall import check_recall, repair_recall, take_inventory
from eunoe.operations.lag import GROUPS, Group, PartitionLag, measuring_lag
from eunoe.processors.attesting import pending
from eunoe.processors.shredding import names as shred
from eunoe.processors.shredding.cleaning import cleaning_of, problems_of
from eunoe.readmodels import history, keys, outcomes, review, subjects
from eunoe.readmodels.recall.functions import RECALL
from eunoe.readmodels.recall.keys import MODEL
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.clock import Clock, SystemClock
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.installation import Installation, read_installation
from eunoe.runtime.kafka import TopicAdmin, TopicMismatch, TopicRefused, check_topics, topic_admin
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.redis.functions import FunctionLibrary
from eunoe.runtime.redis.generations import GenerationStore
from eunoe.runtime.redis.prefix import Prefix
from eunoe.runtime.redis.watermark import DIGESTED
from eunoe.runtime.settings import Settings
from eunoe.schemas.ids import KeyId, Partition
from eunoe.schemas.topics import Topic

FOLDS: Final = (
    *(each for each in GROUPS if each.mark == "position"),
    Group(name="shred", topic=Topic.LIFECYCLE, model=shred.MODEL),
    Group(name="shred", topic=Topic.KEYS, model=shred.LETTERS),
    Group(name="attest", topic=Topic.LIFECYCLE, model=pending.MODEL),
)
"""Everything that folds a topic into Redis, each with the group that runs it."""
_GONE: Final = b"gone:"
_DIGESTED: Final[Mapping[str, FunctionLibrary]] = {
    keys.NAME: keys.LIBRARY,
    review.NAME: review.LIBRARY,
    MODEL: RECALL,
    **dict.fromkeys((subjects.NAME, outcomes.NAME, history.NAME), DIGESTED),
}
"""Whose Functions know what counts in each read model."""


@dataclass(slots=True, kw_only=True)
class Doctor:
    """Made by `visiting`."""

    settings: Settings
    installation: Installation
    redis: Redis
    clock: Clock

    async def examine(self) -> tuple[Checked, ...]:
        """Every check, in a fixed order. Raises what Kafka and Redis raise, and what a record does that is none."""
        settings, installation = self.settings, self.installation
        async with topic_admin(settings.brokers) as admin:
            topics, cleaning = await self._topics(admin)
        positions = await self._positions(keys.NAME)
        key_topic = await read_key_topic(settings, installation)
        stored = await self._stored_keys()
        inventories = await take_inventory(self.redis, installation)
        facts = await read_facts(settings, installation)
        stages = await read_stages(settings, installation)
        times = Times(now=self.clock.now(), cleaning=cleaning, caches=settings.key_cache_age)
        return (
            topics,
            *await self._places(),
            *check_recall(inventories, facts, key_topic),
            await check_histories(self.redis, installation),
            await check_digests(self.redis, installation, _DIGESTED),
            check_unknown(facts, key_topic),
            check_closed(facts, key_topic, times),
            check_stored(key_topic, stored, positions),
            check_receipts(facts, stages, times),
        )

    async def repair(self) -> int:
        """Remove what `recall` holds without ground, count anew. Returns how much was done; again until nothing is."""
        inventories = await take_inventory(self.redis, self.installation)
        repaired = await repair_recall(self.redis, inventories, await read_facts(self.settings, self.installation))
        if not repaired:
            await recount(self.redis, self.installation, MODEL, RECALL)
        return repaired

    async def _topics(self, admin: TopicAdmin) -> tuple[Checked, int]:
        """The check, and how long the settings in force let a destroyed key stay (ms)."""
        settings, installation = self.settings, self.installation
        todo = "set it as `eunoe topics check` wants it, or say in the settings that it is meant"
        found: list[Finding] = []
        try:
            absent = await check_topics(admin, settings.topics, installation.partitions, settings.topic_specs)
            found += [Finding(where=each, what="is missing", todo="run `eunoe topics apply`") for each in absent]
        except TopicMismatch as mismatch:
            found += [
                Finding(where=each.topic, what=f"{each.setting} is {each.found}, wanted {each.wanted}", todo=todo)
                for each in mismatch.differences
            ]
        name = installation.topic(Topic.KEYS)
        in_force = (await admin.configs([name]))[name]
        try:
            brokers: Mapping[str, Mapping[str, str]] = await admin.broker_configs()
        except TopicRefused:  # a managed cluster shows nobody its brokers
            brokers = {}
        keeps = "a destroyed key would stay: until it is changed, the role shred does not run"
        found += [Finding(where=name, what=each, todo=keeps) for each in problems_of(in_force, brokers)]
        check = Checked(name="topics are set as they must be", examined=len(Topic), things="topics")
        return _with(check, found), cleaning_of(in_force).settle

    async def _places(self) -> tuple[Checked, Checked]:
        """Where every fold is: none ahead of the log, none behind it for long."""
        ahead = [each async for each in self._ahead()]
        async with measuring_lag(self.settings) as meter:
            lags = await meter.measure(FOLDS)
        parts = [(fold, each) for fold, lag in zip(FOLDS, lags, strict=True) for each in lag.partitions]
        behind = [_behind(fold, each) for fold, each in parts if _late(each)]
        return (
            _with(Checked(name="no fold is ahead of its log", examined=len(parts), things="positions"), ahead),
            _with(Checked(name="no fold is behind for over a minute", examined=len(parts), things="positions"), behind),
        )

    async def _ahead(self) -> AsyncIterator[Finding]:
        todo = "this Redis has seen a later log: restore that log, or flush Redis to fold the one there is"
        async with _ends(self.settings.brokers) as consumer:
            for fold in FOLDS:
                positions = await self._positions(fold.model)
                topic = self.installation.topic(fold.topic)
                # Asked after the positions: the log only grows.
                ends = await consumer.end_offsets([TopicPartition(topic, each) for each in positions])
                for partition, position in positions.items():
                    end = ends[TopicPartition(topic, partition)]
                    if position > end:
                        what = f"is at {position}, and {topic}[{partition}] ends at {end}"
                        yield Finding(where=f"{fold.model}[{partition}]", what=what, todo=todo)

    async def _positions(self, model: str) -> dict[Partition, int]:
        """The furthest generation of each partition."""
        found = {}
        for number in range(self.installation.partitions):
            prefix = Prefix(self.installation.log_id, Partition(number), model)
            found[Partition(number)] = max((await GenerationStore(self.redis).filled(prefix)).values())
        return found

    async def _stored_keys(self) -> dict[KeyId, Partition]:
        """Ids under which the read model `keys` holds a key and no mark that it is gone."""
        found: dict[KeyId, Partition] = {}
        client: Any = self.redis
        for number in range(self.installation.partitions):
            model = Prefix(self.installation.log_id, Partition(number), keys.NAME)
            for prefix in await GenerationStore(self.redis).filled(model):
                stem = prefix.key("key:").encode()
                async for name in client.scan_iter(match=stem + b"*", count=1_000):
                    if not (await client.get(name) or _GONE).startswith(_GONE):
                        found[KeyId(name[len(stem) :].decode())] = Partition(number)
        return found


def _with(check: Checked, findings: Iterable[Finding]) -> Checked:
    return Checked(name=check.name, examined=check.examined, things=check.things, findings=tuple(findings))


def _late(lag: PartitionLag) -> bool:
    """Records wait, and the first has waited for a minute; or so many that nobody counted them."""
    if lag.stored is None and lag.end == 0:  # nothing has ever been there to fold
        return False
    return lag.lag != 0 and (lag.age is None or lag.age * 1_000 > PATIENCE_MS)


def _behind(fold: Group, lag: PartitionLag) -> Finding:
    waits = "nothing folded yet" if lag.stored is None else f"at {lag.stored} of {lag.end}"
    age = "" if lag.age is None else f", the next record waits for {lag.age:.0f} s"
    todo = f"`eunoe lag --group {fold.name}`, and the log of the worker that has the role"
    return Finding(where=f"{fold.model}[{lag.partition}]", what=f"{waits}{age}", todo=todo)


@asynccontextmanager
async def _ends(bootstrap: Bootstrap) -> AsyncIterator[AIOKafkaConsumer]:
    """Who is asked where topics end, markers of transactions included: a fold may stand behind the last one."""
    consumer = AIOKafkaConsumer(**connecting(bootstrap), isolation_level="read_uncommitted", enable_auto_commit=False)
    try:
        await consumer.start()
        yield consumer
    finally:
        await close_in_time(consumer.stop())


@asynccontextmanager
async def visiting(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Doctor]:
    """Raises what `read_installation` and `connect` raise. ``clock``: the wall clock."""
    installation = await read_installation(settings.brokers, settings.topics)
    redis = await connect(settings.redis)
    try:
        yield Doctor(settings=settings, installation=installation, redis=redis, clock=clock or SystemClock())
    finally:
        await redis.aclose()
