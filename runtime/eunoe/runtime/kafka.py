"""Administration of eunoe's topics: create what is missing, check what is there.

Everything that touches aiokafka's admin client, which is untyped and answers in protocol tuples, is in `TopicAdmin`.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from eunoe.runtime.brokers import Bootstrap, check_login, connecting
from eunoe.runtime.errors import CallerFault, LogFault, WorldFault
from eunoe.schemas.topics import SPECS, TopicNames, TopicSpec

_VISIBLE_SECONDS: Final = 15.0
_POLL_SECONDS: Final = 0.05
_REQUEST_TIMEOUT_MS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting of one existing topic that is not as wanted. ``setting`` is ``partitions`` or a config name."""

    topic: str
    setting: str
    wanted: str
    found: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.setting} is {self.found}, wanted {self.wanted}"


@dataclass(eq=False)
class TopicMismatch(LogFault):
    """Existing topics are not as they must be. Nothing was changed; a person has to decide."""

    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        return "\n".join(["topics differ from what eunoe needs:", *(f"  {each}" for each in self.differences)])


@dataclass(eq=False)
class TopicRefused(CallerFault):
    """Kafka will not do this as it was asked: a replication factor it has no brokers for, a permission it denies."""

    topic: str
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}: {self.reason}"


@dataclass(eq=False)
class TopicsUnavailable(WorldFault):
    """Kafka did not answer, or not yet."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsApplied:
    """Names on the cluster, sorted by name."""

    created: tuple[str, ...]
    existing: tuple[str, ...]


class TopicAdmin:
    """What eunoe asks of Kafka about topics, typed. Made by `topic_admin`.

    Every method raises `TopicsUnavailable` or `TopicRefused`.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def partition_counts(self) -> Mapping[str, int]:
        """Every topic of the cluster whose partitions all have a leader.

        Asks for all, for asking by name would create the topic on a broker with auto.create.topics.enable.
        """
        topics = await self._ask(self._client.describe_topics())
        return {
            topic["topic"]: len(topic["partitions"])
            for topic in topics
            if topic["error_code"] == 0 and all(part["leader"] >= 0 for part in topic["partitions"])
        }

    async def configs(self, names: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
        """The settings in force, inherited ones too, by topic."""
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        found: dict[str, Mapping[str, str]] = {}
        for response in await self._ask(self._client.describe_configs(resources)) if resources else ():
            for code, message, _kind, name, entries, *_ in response.resources:
                _raise_for(code, message, name)
                found[name] = {entry[0]: entry[1] for entry in entries}
        return found

    async def broker_configs(self) -> Mapping[str, Mapping[str, str]]:
        """The settings in force of every broker, by its id."""
        cluster = await self._ask(self._client.describe_cluster())
        ids = [str(each["node_id"]) for each in cluster["brokers"]]
        resources = [ConfigResource(ConfigResourceType.BROKER, each) for each in ids]
        found: dict[str, Mapping[str, str]] = {}
        for response in await self._ask(self._client.describe_configs(resources)) if resources else ():
            for code, message, _kind, name, entries, *_ in response.resources:
                _raise_for(code, message, name)
                found[name] = {entry[0]: entry[1] for entry in entries}
        return found

    async def create(self, name: str, partitions: int, replication: int, config: Mapping[str, str]) -> bool:
        """False when somebody else created it in the meantime."""
        topic = NewTopic(name, partitions, replication, topic_configs=dict(config))
        response = await self._ask(self._client.create_topics([topic]))
        for _name, code, *rest in response.topic_errors:
            if code == TopicAlreadyExistsError.errno:
                return False
            _raise_for(code, rest[0] if rest else "", name)
        return True

    async def delete(self, names: Iterable[str]) -> None:
        """For tests: what is gone already is no error."""
        await self._ask(self._client.delete_topics(list(names)))

    async def _ask(self, request: Any) -> Any:
        try:
            return await request
        except KafkaError as error:
            raise TopicsUnavailable(f"Kafka: {error}") from error


@asynccontextmanager
async def topic_admin(bootstrap: Bootstrap, **client_settings: Any) -> AsyncIterator[TopicAdmin]:
    """``client_settings`` go to aiokafka. Raises `TopicsUnavailable` or `LoginRefused`."""
    client = AIOKafkaAdminClient(**connecting(bootstrap), request_timeout_ms=_REQUEST_TIMEOUT_MS, **client_settings)
    try:
        await client.start()
    except KafkaError as error:
        await client.close()
        await check_login(bootstrap)
        raise TopicsUnavailable(f"Kafka at {bootstrap}: {error}") from error
    try:
        yield TopicAdmin(client)
    finally:
        await client.close()


async def apply_topics(
    admin: TopicAdmin,
    names: TopicNames,
    partitions: int,
    replication: int,
    specs: Iterable[TopicSpec] = tuple(SPECS.values()),
) -> TopicsApplied:
    """Create the topics that are missing and check those that exist; returns when all can be written to.

    ``partitions`` is the count of the partitioned ones, ``replication`` that of new topics (-1: the broker's default).
    All existing topics are checked before anything is created; raises `TopicMismatch` (nothing changed),
    `TopicRefused` or `TopicsUnavailable`. Repeat-safe, and safe to run from several processes at once.
    """
    wanted = {names.name(spec.topic): spec for spec in specs}
    existing = await _check(admin, wanted, partitions)
    created = []
    for name, spec in sorted(wanted.items()):
        if name in existing:
            continue
        if await admin.create(name, _count(spec, partitions), replication, spec.config):
            created.append(name)
    raced = wanted.keys() - existing - set(created)
    await _visible(admin, wanted.keys())
    await _check(admin, {name: wanted[name] for name in raced}, partitions)
    return TopicsApplied(created=tuple(created), existing=tuple(sorted(existing | raced)))


async def check_topics(
    admin: TopicAdmin, names: TopicNames, partitions: int, specs: Iterable[TopicSpec] = tuple(SPECS.values())
) -> tuple[str, ...]:
    """The topics that are missing, sorted. Creates nothing. Raises `TopicMismatch` or `TopicsUnavailable`."""
    wanted = {names.name(spec.topic): spec for spec in specs}
    return tuple(sorted(wanted.keys() - await _check(admin, wanted, partitions)))


async def _check(admin: TopicAdmin, wanted: Mapping[str, TopicSpec], partitions: int) -> set[str]:
    """The names that exist; raises when one of them differs."""
    counts = await admin.partition_counts()
    existing = wanted.keys() & counts.keys()
    configs = await admin.configs(sorted(existing))
    differences = [
        difference
        for name in sorted(existing)
        for difference in _differences(
            name, wanted[name], _count(wanted[name], partitions), counts[name], configs[name]
        )
    ]
    if differences:
        raise TopicMismatch(tuple(differences))
    return existing


def _differences(
    name: str, spec: TopicSpec, partitions: int, found_partitions: int, found: Mapping[str, str]
) -> Iterable[Difference]:
    if found_partitions != partitions:
        yield Difference(name, "partitions", str(partitions), str(found_partitions))
    for setting, value in sorted(spec.config.items()):
        if found.get(setting) != value:
            yield Difference(name, setting, value, found.get(setting, "not set"))


def _count(spec: TopicSpec, partitions: int) -> int:
    return partitions if spec.partitioned else 1


async def _visible(admin: TopicAdmin, names: Iterable[str]) -> None:
    """Creation is acknowledged before every broker knows the topic and its leaders."""
    missing = set(names)
    deadline = asyncio.get_running_loop().time() + _VISIBLE_SECONDS
    while missing := missing - (await admin.partition_counts()).keys():
        if asyncio.get_running_loop().time() > deadline:
            listed = ", ".join(sorted(missing))
            raise TopicsUnavailable(f"no leader after {_VISIBLE_SECONDS:.0f} s for {listed}")
        await asyncio.sleep(_POLL_SECONDS)


def _raise_for(code: int, message: str | None, topic: str) -> None:
    if code:
        error = for_code(code)
        reason = message or error.__name__
        raise TopicsUnavailable(f"{topic}: {reason}") if error.retriable else TopicRefused(topic, reason)
