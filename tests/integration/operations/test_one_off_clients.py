"""What is called once and ends: a broker that hangs in the middle of it holds up neither it nor its process."""

import asyncio
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from aiokafka import AIOKafkaProducer

from eunoe.client.switching import SwitchSubject, set_switch
from eunoe.runtime import control
from eunoe.runtime.errors import BrokerAway
from eunoe.schemas.ids import PrincipalName, TenantId
from eunoe.schemas.topics import TopicNames
from eunoe.schemas.values import Writing
from eunoe.stack.local import LocalStack
from eunoe.testing.platform import install

SUBJECT: Final = SwitchSubject(tenant=TenantId("acme"))
PATIENCE_S: Final = 2.0
END_S: Final = 15.0
"""Above what is waited for: for an answer, and for a client to close."""


@pytest.mark.timeout(120)
def test_a_broker_that_hangs_while_a_record_is_written_does_not_keep_the_process(
    own_stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform = asyncio.run(install(own_stack.kafka, own_stack.redis, TopicNames(), tmp_path, partitions=1))
    settings = replace(platform.settings, principal=PrincipalName("dev-officer"))

    def switched(writes: Writing) -> float:
        """Seconds until a process that does only this would be gone."""
        began = time.monotonic()
        asyncio.run(set_switch(settings, SUBJECT, reads=None, writes=writes, reason="maintenance"))
        return time.monotonic() - began

    assert switched(Writing.OFF) < END_S, "while the broker answers"
    send = AIOKafkaProducer.send_and_wait

    async def send_to_nobody(self: AIOKafkaProducer, topic: str, *given: Any, **more: Any) -> Any:
        await self.partitions_for(topic)  # or the record would never get into the buffer
        assert own_stack.broker.pause()
        return await send(self, topic, *given, **more)

    monkeypatch.setattr(AIOKafkaProducer, "send_and_wait", send_to_nobody)
    monkeypatch.setattr(control, "TIMEOUT_SECONDS", PATIENCE_S)
    began = time.monotonic()
    try:
        with pytest.raises(BrokerAway):
            switched(Writing.ON)
    finally:
        own_stack.broker.resume()
    assert time.monotonic() - began < END_S


@pytest.mark.timeout(180)
def test_lag_of_what_hangs_is_told_as_that_in_ten_seconds_or_so(own_stack: LocalStack, tmp_path: Path) -> None:
    platform = asyncio.run(install(own_stack.kafka, own_stack.redis, TopicNames(), tmp_path, partitions=1))

    def asked() -> tuple[subprocess.CompletedProcess[str], float]:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "eunoe.cli.main", "lag"],
            env=platform.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        return done, time.monotonic() - began

    done, _ = asked()
    assert (done.returncode, done.stderr) == (0, ""), "while both answer"
    for server, said in (
        (own_stack.broker, ("Kafka did not answer within 8 s", "`eunoe status`", "docs/runbooks/broker-lost.md")),
        (own_stack.redis_server, ("Redis cannot be reached", "`eunoe status`")),
    ):
        assert server.pause()
        try:
            done, took = asked()
        finally:
            server.resume()
        assert done.returncode == 3, done.stderr
        assert [each for each in said if each not in done.stderr] == [], done.stderr
        assert took < END_S
