"""Sends the sweeper's proposals: commands like any other, under the sweeper's own principal and secret."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiokafka import AIOKafkaProducer
from msgspec.structs import replace

from eunoe.crypto.signatures import Signer
from eunoe.processors.sweeper import Publish
from eunoe.runtime.principals import SWEEPER, secrets_of
from eunoe.schemas.codec import COMMANDS, ENVELOPES
from eunoe.schemas.commands import ExpireMemory
from eunoe.schemas.envelope import Envelope, signed_bytes
from eunoe.schemas.ids import CommandId, MessageId, Millis, new_id
from eunoe.schemas.topics import Topic
from eunoe.worker.foundation import Foundation

_VALID_MS: Final = 3_600_000
"""How long a proposal may wait to be judged: several windows, so that a backlog does not make it a dead letter."""


@asynccontextmanager
async def sweeper_publisher(foundation: Foundation) -> AsyncIterator[Publish]:
    """What the sweepers publish with. Raises ``SecretUnusable`` where the sweeper's secret cannot be read."""
    signer = secrets_of(foundation.settings, SWEEPER)[0]
    installation = foundation.installation
    topic = installation.topic(Topic.EVENTS)
    producer = AIOKafkaProducer(
        bootstrap_servers=foundation.settings.kafka,
        acks="all",
        enable_idempotence=True,
        request_timeout_ms=foundation.settings.delivery_timeout,
    )

    async def publish(command: ExpireMemory, command_id: CommandId) -> None:
        value = _signed(command, command_id, foundation, signer, topic)
        partition = installation.partition_of(command.tenant)
        await producer.send_and_wait(topic, value, key=command.tenant.encode(), partition=partition)

    try:
        await producer.start()
        yield publish
    finally:
        await producer.stop()


def _signed(command: ExpireMemory, command_id: CommandId, foundation: Foundation, signer: Signer, topic: str) -> bytes:
    unsigned = Envelope(
        command_id=command_id,
        message_id=MessageId(new_id()),
        principal=SWEEPER,
        secret_id=signer.secret_id,
        not_after=Millis(foundation.clock.now() + _VALID_MS),
        command=COMMANDS.encode(command),
        mac=b"",
    )
    mac = signer.sign(signed_bytes(unsigned, foundation.installation.log_id, topic))
    return ENVELOPES.encode(replace(unsigned, mac=mac))
