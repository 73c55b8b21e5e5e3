"""What is called once and ends: a broker that hangs in the middle of it holds up neither it nor its process."""

import asyncio
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
