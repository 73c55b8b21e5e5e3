"""``memory-control`` on a real broker: read in full at start, in force everywhere at once, first writer wins."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from eunoe.crypto.signatures import Ed25519Signer
from eunoe.runtime.clock import SystemClock
from eunoe.runtime.control import ControlFollower, following_control, publish_control
from eunoe.runtime.control_state import ControlState, Ignored, switch_body
from eunoe.runtime.errors import BrokerAway, ControlRefused, NotASigner, StaleControl
from eunoe.runtime.installation import Installation, open_installation
from eunoe.runtime.kafka import apply_topics, topic_admin
from eunoe.runtime.principals import DevelopmentSecrets, control_signer, create_development_secrets
from eunoe.schemas.control import POLICY, Switch
from eunoe.schemas.ids import LogId, SecretId, TenantId, new_id
from eunoe.schemas.policy_file import read_policy
from eunoe.schemas.topics import Topic, TopicNames
from eunoe.schemas.values import Writing

ACME = TenantId("acme")
NO_WRITES = switch_body(Switch(writes=False))

Publish = Callable[..., Awaitable[ControlState]]


@pytest.fixture
async def installation(kafka_bootstrap: str, topic_names: TopicNames) -> Installation:
    async with topic_admin(kafka_bootstrap) as admin:
        await apply_topics(admin, topic_names, 1, 1)
    return await open_installation(kafka_bootstrap, topic_names)


@pytest.fixture
def secrets(tmp_path: Path) -> DevelopmentSecrets:
    return create_development_secrets(tmp_path / "secrets")


@pytest.fixture
def publish(kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets) -> Publish:
    """Publishes against what the given follower has read, signed with the development control key."""

    async def with_follower(
        follower: ControlFollower, name: str, body: bytes, signer: Ed25519Signer | None = None
    ) -> ControlState:
        return await publish_control(
            kafka_bootstrap,
            follower,
            installation,
            signer=signer or control_signer(secrets.control_key),
            clock=SystemClock(),
            name=name,
            body=body,
        )

    return with_follower


async def test_an_empty_topic_has_no_policy_and_everything_on(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets
) -> None:
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as follower:
        assert follower.state == ControlState()


async def test_a_published_policy_is_in_force_for_who_starts_later(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as follower:
        state = await publish(follower, POLICY, secrets.policy)
        assert state.policy == read_policy(secrets.policy)
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as later:
        assert later.state == state
        assert later.state.in_force(POLICY) == later.state.offset == 0


async def test_a_change_is_in_force_in_another_process_within_two_seconds(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    async with (
        following_control(kafka_bootstrap, installation, secrets.control_signers) as here,
        following_control(kafka_bootstrap, installation, secrets.control_signers) as there,
    ):
        assert there.state.writing(ACME) is Writing.ON
        began = time.monotonic()
        state = await publish(here, "switch/acme", NO_WRITES)
        await asyncio.wait_for(there.passed(state.offset), 2)
        assert there.state.writing(ACME) is Writing.OFF
        assert there.state.reads_allowed(ACME)
        assert time.monotonic() - began < 2


async def test_of_two_that_replace_the_same_record_the_first_wins_in_every_process(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    reported: list[Ignored] = []
    async with (
        following_control(kafka_bootstrap, installation, secrets.control_signers) as one,
        following_control(kafka_bootstrap, installation, secrets.control_signers) as other,
    ):
        outcomes = await asyncio.gather(
            publish(one, "switch/acme", NO_WRITES),
            publish(other, "switch/acme", switch_body(Switch(reads=False))),
            return_exceptions=True,
        )
    won = [each for each in outcomes if isinstance(each, ControlState)]
    lost = [each for each in outcomes if isinstance(each, StaleControl)]
    assert (len(won), len(lost)) == (1, 1)
    assert (lost[0].name, lost[0].replaces, lost[0].current) == ("switch/acme", -1, 0)
    async with following_control(kafka_bootstrap, installation, secrets.control_signers, reported.append) as later:
        assert later.state.switches == won[0].switches
        assert later.state.offset == 1
    assert [(each.offset, each.name) for each in reported] == [(1, "switch/acme")]


async def test_a_policy_with_an_error_is_refused_and_the_old_one_stays(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    reported: list[Ignored] = []
    async with following_control(kafka_bootstrap, installation, secrets.control_signers, reported.append) as follower:
        good = await publish(follower, POLICY, secrets.policy)
        with pytest.raises(ControlRefused):
            await publish(follower, POLICY, b"version = 2\n")
        assert follower.state.policy == good.policy
        assert "the policy on memory-control:1: " in reported[0].problem
        again = await publish(follower, POLICY, secrets.policy.replace(b"version = 1", b"version = 2"))
        assert again.policy is not None
        assert again.policy.version == 2


async def test_who_is_no_control_signer_is_told_before_anything_is_written(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as follower:
        with pytest.raises(NotASigner, match="stranger"):
            await publish(follower, POLICY, secrets.policy, Ed25519Signer(SecretId("stranger"), b"3" * 32))
        assert await follower.end() == 0


async def test_a_key_that_only_has_a_signers_name_is_refused_by_every_process(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    name = secrets.control_signers[0].signer
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as follower:
        with pytest.raises(ControlRefused):
            await publish(follower, POLICY, secrets.policy, Ed25519Signer(name, b"3" * 32))
        assert follower.state.policy is None


async def test_what_is_no_control_record_is_reported_and_passed(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    reported: list[Ignored] = []
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap)
    await producer.start()
    try:
        for value in (b"garbage", None, b""):
            await producer.send_and_wait(installation.topic(Topic.CONTROL), value, key=b"policy")
    finally:
        await producer.stop()
    async with following_control(kafka_bootstrap, installation, secrets.control_signers, reported.append) as follower:
        assert len(reported) == 3
        assert (await publish(follower, POLICY, secrets.policy)).policy is not None


async def test_a_record_of_another_log_counts_for_nothing(
    kafka_bootstrap: str, installation: Installation, secrets: DevelopmentSecrets, publish: Publish
) -> None:
    async with following_control(kafka_bootstrap, installation, secrets.control_signers) as follower:
        await publish(follower, POLICY, secrets.policy)
    elsewhere = Installation(log_id=LogId(new_id()), partitions=1, names=installation.names)
    async with following_control(kafka_bootstrap, elsewhere, secrets.control_signers) as follower:
        assert follower.state.policy is None


async def test_an_absent_broker_is_away(
    installation: Installation, secrets: DevelopmentSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eunoe.runtime.control.TIMEOUT_SECONDS", 0.5)
    with pytest.raises(BrokerAway, match="reading memory-control"):
        async with following_control("127.0.0.1:1", installation, secrets.control_signers):
            pass
