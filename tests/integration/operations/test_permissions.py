"""The table of permissions on a broker with an authorizer: what a role may not do is refused, what it may is done.

Kafka is spoken to over TLS, and each role logs in with SCRAM; so is Redis, where a whole installation runs.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError

from encrypted_fixtures import Certificates, certificates, encrypted, scram_users
from eunoe.client.memory import Memory
from eunoe.client.receipts import receipts_until
from eunoe.crypto.signatures import HmacSecret
from eunoe.operations.lag import measuring_lag
from eunoe.operations.permissions import WRITES, Act, Agent, Kind, grants, principal_of
from eunoe.operations.rebuilding import Wishes, rebuilding
from eunoe.operations.store_permissions import rules
from eunoe.readmodels.recall.errors import ReadRefused
from eunoe.runtime.brokers import SaslMechanism, SecurityProtocol, connecting
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.errors import LoginRefused
from eunoe.runtime.installation import Installation, open_installation, read_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.publish import CommandPublisher, NotSent
from eunoe.runtime.redis.connect import connect
from eunoe.runtime.settings import Settings
from eunoe.runtime.signing import EnvelopeMaker, Signers
from eunoe.schemas.commands import IssueKey
from eunoe.schemas.ids import CommandId, PrincipalName, SecretId, TenantId, new_id
from eunoe.schemas.receipts import Stage
from eunoe.schemas.topics import Topic
from eunoe.stack.broker import Broker
from eunoe.stack.development import AGENT, apply_development, cleaned_quickly
from eunoe.stack.places import cache_directory
from eunoe.stack.ports import free_ports
from eunoe.testing.waiting import until
from eunoe.worker.embedded import running_services
from eunoe.worker.roles import Role

_KINDS: Final = {Kind.TOPIC: 2, Kind.GROUP: 3, Kind.TRANSACTIONS: 5}
_ACTS: Final = {Act.READ: 3, Act.WRITE: 4, Act.DESCRIBE: 8, Act.DESCRIBE_CONFIGS: 10}
REFUSED: Final = (
    ClusterAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)
_LITERAL, _PREFIXED, _DENY, _ALLOW = 3, 4, 2, 3
ASK: Final = IssueKey(tenant=TenantId("acme"))
ALL = [(agent, topic) for agent in Agent for topic in Topic]


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("signed"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, signed: Certificates) -> Iterator[tuple[Settings, str]]:
    """A broker whose second listener is encrypted and asks for a password (SCRAM); the first is its administrator's."""
    directory = tmp_path_factory.mktemp("guarded")
    client, controller, sasl = free_ports(3)
    (directory / "ports.json").write_text(json.dumps({"client": client, "controller": controller}))
    settings = cleaned_quickly(Settings(kafka=f"127.0.0.1:{client}", prefix="guarded-", partitions=1))
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    broker = Broker(
        directory,
        cache=cache_directory(),
        heap="384m",
        extra={
            "listeners": f"PLAINTEXT://127.0.0.1:{client},SASL://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{client},SASL://127.0.0.1:{sasl}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": module,
            "listener.name.sasl.ssl.keystore.type": "PEM",
            "listener.name.sasl.ssl.keystore.location": str(signed.server),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        },
    )
    try:
        broker.start()
        asyncio.run(
            scram_users(settings.kafka, {(name := principal_of(settings, each)): f"{name}-secret" for each in Agent})
        )
        yield replace(settings, kafka_ca=signed.authority), f"127.0.0.1:{sasl}"
    finally:
        broker.kill()


@pytest.fixture
async def applied(guarded: tuple[Settings, str]) -> tuple[Settings, str]:
    await apply(*guarded)
    return guarded


async def apply(settings: Settings, address: str) -> None:
    """Topics, genesis and every grant of the table. Repeat-safe. Returns once the broker goes by the last of them: the
    controller's answer is before that, and who was refused a topic asks again only when its metadata is renewed."""
    async with topic_admin(settings.kafka) as admin:
        await apply_topics(admin, settings.topics, 1, 1, settings.topic_specs)
    await open_installation(settings.kafka, settings.topics)
    client = AIOKafkaAdminClient(bootstrap_servers=settings.kafka)
    await client.start()
    try:
        for each in grants(settings):
            principal = f"User:{principal_of(settings, each.agent)}"
            pattern = _PREFIXED if each.prefixed else _LITERAL
            request = CreateAclsRequest(_KINDS[each.kind], each.name, pattern, principal, "*", _ACTS[each.act], _ALLOW)
            await client._send_to_controller(request)
    finally:
        await client.close()
    last = [*grants(settings)][-1]
    assert (last.agent, last.act, last.kind) == (Agent.OPERATOR, Act.DESCRIBE_CONFIGS, Kind.TOPIC)
    await until(lambda: may_describe(settings, address, last.name))


async def may_describe(settings: Settings, address: str, topic: str) -> bool:
    """Whether the operator is told the configuration of the topic."""
    client = AIOKafkaAdminClient(**login(settings, address, Agent.OPERATOR))
    await client.start()
    try:
        (answer,) = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    finally:
        await client.close()
    return bool(answer.resources[0][0] == 0)


@asynccontextmanager
async def within(seconds: float, doing: str) -> AsyncIterator[None]:
    """What does not come is named, before the limit of the whole test says nothing."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as late:
        raise AssertionError(f"{doing}: not within {seconds:g} s: {late}") from late


@dataclass
class RedisUsers:
    """Users in the Redis of the tests, gone afterwards. ``group``: what their names start with."""

    admin: Redis
    made: list[str] = field(default_factory=list)

    async def apply(self, settings: Settings) -> None:
        for agent in Agent:
            name = principal_of(settings, agent)
            self.made.append(name)
            given = ("reset", "on", f">{name}-secret", *rules(settings, agent).split())
            await self.admin.execute_command("ACL", "SETUSER", name, *given)  # type: ignore[no-untyped-call]
        await self.admin.acl_log_reset()

    async def refused(self) -> list[str]:
        """What was refused to them until now."""
        log = await self.admin.acl_log()
        ours = (each for each in log if each["username"] in self.made)
        return [f"{each['username']}: {each['reason']} {each['object']}" for each in ours]


@pytest.fixture
async def redis_users(redis_url: str) -> AsyncIterator[RedisUsers]:
    async with Redis.from_url(redis_url, decode_responses=True) as admin:
        users = RedisUsers(admin)
        try:
            yield users
        finally:
            if users.made:
                await admin.acl_deluser(*users.made)


def as_agent(settings: Settings, address: str, agent: Agent) -> Settings:
    """``settings`` of a process that logs in as ``agent``."""
    name = principal_of(settings, agent)
    return replace(
        settings,
        kafka=address,
        kafka_security_protocol=SecurityProtocol.SASL_SSL,
        kafka_sasl_mechanism=SaslMechanism.SCRAM_SHA_512,
        kafka_username=name,
        kafka_password=f"{name}-secret",
        redis=settings.redis.replace("://", f"://{name}:{name}-secret@"),
    )


def login(settings: Settings, address: str, agent: Agent) -> dict[str, Any]:
    return connecting(as_agent(settings, address, agent).brokers)


@asynccontextmanager
async def producer(settings: Settings, address: str, agent: Agent) -> AsyncIterator[AIOKafkaProducer]:
    made = AIOKafkaProducer(**login(settings, address, agent), acks="all")
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


async def taken(made: AIOKafkaProducer, topic: str) -> bool:
    try:
        await made.send_and_wait(topic, value=b"x", key=b"k", partition=0)
    except REFUSED:
        return False
    return True


async def test_each_role_writes_what_the_table_says_and_nothing_else(applied: tuple[Settings, str]) -> None:
    settings, address = applied
    async with producer(settings, address, Agent.PRODUCER) as made:
        # The controller's answer is before the broker's knowledge of it.
        await until(lambda: taken(made, settings.topics.name(Topic.EVENTS)))
    found = {(agent, topic): await written(settings, address, agent, topic) for agent in Agent for topic in Topic}
    assert found == {(agent, topic): topic in WRITES[agent] for agent, topic in ALL}
    assert not found[Agent.PRODUCER, Topic.LIFECYCLE], "only the decider decides"


async def written(settings: Settings, address: str, agent: Agent, topic: Topic) -> bool:
    async with producer(settings, address, agent) as made:
        return await taken(made, settings.topics.name(topic))


async def test_only_the_decider_may_use_the_deciders_transactions(applied: tuple[Settings, str]) -> None:
    settings, address = applied
    for agent, allowed in ((Agent.DECIDER, True), (Agent.PRODUCER, False), (Agent.ATTESTER, False)):
        name = f"{settings.prefix}{settings.group}-decide-0"
        made = AIOKafkaProducer(**login(settings, address, agent), transactional_id=name, acks="all")
        try:
            await made.start()
            done = True
        except REFUSED:
            done = False
        finally:
            await made.stop()
        assert done is allowed, agent


async def test_a_producer_reads_no_commands_and_the_decider_does(applied: tuple[Settings, str]) -> None:
    settings, address = applied
    place = TopicPartition(settings.topics.name(Topic.EVENTS), 0)
    for agent, allowed in ((Agent.DECIDER, True), (Agent.PRODUCER, False)):
        reader = AIOKafkaConsumer(**login(settings, address, agent), auto_offset_reset="earliest")
        await reader.start()
        try:
            reader.assign([place])
            done = bool((await reader.getmany(place, timeout_ms=3_000))[place])
        except REFUSED:
            done = False
        finally:
            await reader.stop()
        assert done is allowed, agent


WRITTEN: Final[dict[str, Any]] = {
    "tenant": "acme",
    "agent": "bot",
    "purposes": ["support"],
    "visibility": "shared",
    "kind": "fact",
    "source": {"kind": "user_explicit", "uri": "crm://tickets/1", "event_ids": ["e-1"]},
    "ttl": "P30D",
    "subject": "anna",
}
ASKED: Final[dict[str, Any]] = {"tenant": "acme", "agent": "bot", "purpose": "support", "subject": "anna"}


WORKERS: Final = {
    Role.PROJECT: Agent.PROJECTOR,
    Role.DECIDE: Agent.DECIDER,
    Role.SHRED: Agent.SHREDDER,
    Role.ATTEST: Agent.ATTESTER,
}


async def test_a_whole_installation_works_with_a_user_for_each_role(
    guarded: tuple[Settings, str],
    signed: Certificates,
    redis_url: str,
    redis_users: RedisUsers,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Every worker role, a writer, a searcher and an operator, each logged in as itself and allowed no more."""
    open_to_all, address = guarded
    bare = replace(open_to_all, redis=redis_url, prefix=f"whole-{secrets.token_hex(4)}-")  # also where it is run again
    async with within(60, "topics and users"):
        await apply(bare, address)
        await redis_users.apply(bare)
        installation = await open_installation(bare.brokers, bare.topics)
        settings = replace(await apply_development(bare, installation, tmp_path), principal=PrincipalName(AGENT))
    there = urlsplit(redis_url)
    async with AsyncExitStack() as running:
        way = await running.enter_async_context(encrypted(there.hostname or "", there.port or 0, signed))
        url = f"rediss://127.0.0.1:{way}{there.path}?ssl_ca_certs={signed.authority}"
        settings = replace(settings, redis=url)
        for role, agent in WORKERS.items():
            async with within(60, f"a worker with the role {role}"):
                mine = as_agent(settings, address, agent)
                worker = await running.enter_async_context(running_services(mine, frozenset({role})))
                await worker.ready(50.0)
        async with within(60, "clients"):
            await remembered_and_found(settings, address)
        async with within(70, "forgetting and its proof"):
            await forgotten(as_agent(settings, address, Agent.OFFICER))
        async with within(30, "measuring lag"), measuring_lag(as_agent(settings, address, Agent.OPERATOR)) as meter:
            assert await meter.measure()
        async with within(60, "rebuilding a read model"):
            await rebuilt(as_agent(settings, address, Agent.OPERATOR))
        async with within(30, "forgetting a tenant"):
            await tenant_forgotten(as_agent(settings, address, Agent.OFFICER))
        assert await redis_users.refused() == [], "what the work needs, the users may"
        async with within(30, "asking Redis"):
            await only_what_is_theirs(installation, lambda agent: as_agent(settings, address, agent).redis)
    assert "-secret" not in caplog.text


async def remembered_and_found(settings: Settings, address: str) -> None:
    """By who does both, by who only writes and by who only searches."""
    async with Memory.connect(as_agent(settings, address, Agent.CLIENT)) as memory:
        outcome = await memory.remember("Prefers delivery after 18:00.", **WRITTEN)
        assert (outcome.kind, outcome.reason) == ("MemoryAccepted", None)
        found = await memory.search("delivery", **ASKED, after=outcome.token)
        assert [each.statement for each in found.records] == ["Prefers delivery after 18:00."]
        writer = memory.reading.tracer.writer
        assert writer is not None
        assert await writer.flushed(10.0), "traces are written, too"
    async with Memory.connect(as_agent(settings, address, Agent.PRODUCER)) as memory:
        assert (await memory.remember("Lives in Oslo.", **WRITTEN)).kind == outcome.kind
    async with Memory.connect(as_agent(settings, address, Agent.READER)) as memory:
        found = await memory.search("delivery", **ASKED)
        assert [each.statement for each in found.records] == ["Prefers delivery after 18:00."]
        with pytest.raises(NotSent, match="Authorization"):
            await memory.remember("Likes tea.", **WRITTEN)


async def forgotten(settings: Settings) -> None:
    """A person's keys are destroyed and that is proved: the shredder's and the attester's work."""
    async with Memory.connect(settings, principal="dev-officer") as officer:
        asked = await officer.forget_subject("anna", tenant="acme")
        found = await receipts_until(
            settings, officer.installation, TenantId("acme"), [asked.command_id], Stage.COMPACTED, 60.0
        )
        assert Stage.COMPACTED.value in [json.loads(each.body)["stage"] for each in found]


async def tenant_forgotten(settings: Settings) -> None:
    """What the decider and the projectors have of it is looked for, and removed."""
    async with Memory.connect(settings, principal="dev-officer") as officer:
        ended = await officer.forget_tenant("acme")
        with pytest.raises(ReadRefused, match="tenant_forgotten"):
            await officer.search("delivery", **ASKED, after=ended.token)


async def rebuilt(settings: Settings) -> None:
    """What the operator does: a model filled anew, switched to, taken back, and the other one removed."""
    officer = replace(settings, principal=PrincipalName("dev-officer"))
    async with rebuilding(officer, "history", lambda _: None) as at:
        report = await at.rebuild(Wishes(patience=10.0))
        assert {each.serving for each in report.switched} == {2}
        await at.roll_back()
        assert (await at.remove("kept")).keys > 0


async def only_what_is_theirs(installation: Installation, url: Callable[[Agent], str]) -> None:
    """In Redis: by agent, what each may do with a key of a model, asked with commands that do what they say."""

    prefix = f"eunoe:{installation.log_id}:{{{{p0}}}}:{{}}"

    async def may(agent: Agent, command: str, model: str) -> bool:
        async with Redis.from_url(url(agent)) as redis:
            try:
                await redis.execute_command(*command.format(prefix.format(model)).split())  # type: ignore[no-untyped-call]
            except NoPermissionError:
                return False
            return True

    reads, writes, scan = "HGETALL {}:g1:hash", "HSET {}:g9:hash field value", "SCAN 0"
    load = "FUNCTION LOAD #!lua"
    asked = {
        (Agent.READER, reads, "recall"): True,
        (Agent.READER, writes, "recall"): False,
        (Agent.READER, reads, "review"): False,
        (Agent.READER, scan, "recall"): False,
        (Agent.CLIENT, reads, "review"): True,
        (Agent.CLIENT, writes, "outcomes"): False,
        (Agent.CLIENT, "FCALL any 1 {}:g1:watermark", "recall"): False,
        (Agent.CLIENT, load, ""): False,
        (Agent.PRODUCER, reads, "recall"): False,
        (Agent.PRODUCER, reads, "outcomes"): True,
        (Agent.PROJECTOR, writes, "recall"): True,
        (Agent.PROJECTOR, reads, "ledger"): False,
        (Agent.PROJECTOR, "HGETALL {}:g1:watermark", "ledger"): True,
        (Agent.PROJECTOR, "HSET {}:g1:watermark position 9", "ledger"): False,
        (Agent.PROJECTOR, "FLUSHALL", ""): False,
        (Agent.PROJECTOR, "FUNCTION FLUSH", ""): False,
        (Agent.DECIDER, writes, "ledger"): True,
        (Agent.DECIDER, writes, "recall"): False,
        (Agent.DECIDER, reads, "recall"): False,
        (Agent.SHREDDER, writes, "keys"): False,
        (Agent.SHREDDER, writes, "shred"): True,
        (Agent.ATTESTER, writes, "recall"): False,
        (Agent.CLIENT, "HSET {}:g1:of:eunoe-client name x", "holders"): True,
        (Agent.CLIENT, "HSET {}:g1:of:eunoe-decider name x", "holders"): False,
        (Agent.DECIDER, "HDEL {}:g1:of:eunoe-client name", "holders"): False,
        (Agent.CLIENT, "SADD {}:g1:users eunoe-client", "holders"): True,
        (Agent.CLIENT, "SREM {}:g1:users eunoe-client", "holders"): False,
        (Agent.SHREDDER, "SREM {}:g1:users eunoe-client", "holders"): False,
        (Agent.SHREDDER, "DEL {}:g1:users", "holders"): False,
        (Agent.OPERATOR, "HDEL {}:g1:of:eunoe-client name", "holders"): True,
        (Agent.OPERATOR, reads, "ledger"): True,
        (Agent.OPERATOR, writes, "ledger"): False,
        (Agent.OPERATOR, scan, ""): True,
    }
    assert {each: await may(*each) for each in asked} == asked


async def test_a_producer_whose_right_was_taken_for_a_while_goes_on_by_itself(
    applied: tuple[Settings, str], tmp_path: Path
) -> None:
    """The same object, without being made anew: aiokafka's producer is of no use after Kafka refused a record."""
    settings, address = applied
    events = settings.topics.name(Topic.EVENTS)
    mine = as_agent(settings, address, Agent.PRODUCER)
    installation = await read_installation(mine.brokers, mine.topics)
    signers = Signers(PrincipalName(AGENT), [HmacSecret(SecretId("one"), b"s" * 32)])
    envelopes = EnvelopeMaker(installation, signers, SystemClock())

    async with CommandPublisher(mine.brokers, installation, envelopes, 10_000) as publisher:

        async def written() -> bool:
            try:
                await publisher.publish(ASK, CommandId(new_id()))
            except NotSent:
                return False
            return True

        async def refused() -> bool:
            return not await written()

        await until(written)
        await deny(settings, events, denied=True)
        await until(refused)
        assert await refused(), "as long as the right is away"
        await deny(settings, events, denied=False)
        await until(written)
        assert await written()
        assert await written()


async def deny(settings: Settings, topic: str, *, denied: bool) -> None:
    """Whether the producer is refused to write ``topic`` whatever it is granted."""
    name, principal = f"{topic}", f"User:{principal_of(settings, Agent.PRODUCER)}"
    client = AIOKafkaAdminClient(bootstrap_servers=settings.kafka)
    await client.start()
    try:
        if denied:
            request: Any = CreateAclsRequest(
                _KINDS[Kind.TOPIC], name, _LITERAL, principal, "*", _ACTS[Act.WRITE], _DENY
            )
        else:
            request = DeleteAclsRequest(_KINDS[Kind.TOPIC], name, _LITERAL, principal, "*", _ACTS[Act.WRITE], _DENY)
        await client._send_to_controller(request)
    finally:
        await client.close()


async def test_a_wrong_password_says_who_was_refused_and_not_the_password(applied: tuple[Settings, str]) -> None:
    settings, address = applied
    wrong = replace(as_agent(settings, address, Agent.CLIENT), kafka_password="hunter2")
    with pytest.raises(LoginRefused) as refused:
        await read_installation(wrong.brokers, wrong.topics)
    assert f"{settings.group}-client" in str(refused.value)
    assert "EUNOE_KAFKA_PASSWORD" in str(refused.value)
    assert "hunter2" not in repr(refused.value) + str(refused.value)


async def test_a_broker_that_another_authority_signed_is_refused_and_the_right_one_is_not(
    applied: tuple[Settings, str], signed: Certificates, tmp_path: Path
) -> None:
    settings, address = applied
    mine = as_agent(settings, address, Agent.CLIENT)
    assert (await read_installation(mine.brokers, mine.topics)).partitions == 1
    stranger = replace(mine, kafka_ca=certificates(tmp_path).authority)
    with pytest.raises(LoginRefused, match=r"SSLCertVerificationError.*_CA"):
        await read_installation(stranger.brokers, stranger.topics)


async def test_a_redis_that_another_authority_signed_is_refused_and_the_right_one_is_not(
    redis_url: str, signed: Certificates, tmp_path: Path
) -> None:
    there = urlsplit(redis_url)
    async with encrypted(there.hostname or "", there.port or 0, signed) as port:
        url = f"rediss://127.0.0.1:{port}{there.path}?ssl_ca_certs="
        redis = await connect(f"{url}{signed.authority}")
        try:
            assert await redis.ping()
        finally:
            await redis.aclose()
        with pytest.raises(RedisConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            await connect(f"{url}{certificates(tmp_path).authority}")


def test_a_prefix_of_the_installation_is_one_of_its_groups() -> None:
    settings = replace(Settings(), prefix="t1-")
    groups = {each.name for each in grants(settings) if each.kind is Kind.GROUP and each.agent is Agent.DECIDER}
    assert groups == {"t1-eunoe-decide"}


def test_a_command_is_what_kafkas_tool_takes(tmp_path: Path) -> None:
    settings = Settings(kafka="broker:9092")
    (grant,) = [each for each in grants(settings) if each.agent is Agent.PRODUCER and each.act is Act.WRITE]
    assert grant.command(settings.kafka, "eunoe-producer") == (
        "kafka-acls.sh --bootstrap-server broker:9092 --add --allow-principal User:eunoe-producer "
        "--operation Write --topic memory-events"
    )
