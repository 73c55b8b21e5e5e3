"""Looking a command id up among the dead letters, which are sealed: this needs the installation's KEK.

A dead letter proves nothing: nobody authenticated it. It is named beside `no_outcome`, never instead of an outcome.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.crypto.errors import CryptoError
from eunoe.crypto.keyring import Keyring
from eunoe.processors.dead_letters import KEY_HEADER, ORIGIN_HEADER, REASON_HEADER, DeadLetter
from eunoe.runtime.brokers import Bootstrap, connecting
from eunoe.runtime.closing import close_in_time
from eunoe.runtime.deadline import within
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import ENVELOPES
from eunoe.schemas.errors import SchemaError
from eunoe.schemas.ids import CommandId, KeyId
from eunoe.schemas.topics import Topic

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """``reason``: why the record could not be judged. ``origin``: ``topic:partition:offset`` where it had been."""

    reason: str
    origin: str


async def letters_of(
    bootstrap: Bootstrap, installation: Installation, keyring: Keyring, command_id: CommandId
) -> tuple[Letter, ...]:
    """The dead letters that claim to be this command, oldest first. Reads the whole topic (14 days). Raises
    `BrokerAway`. Letters that cannot be opened any more are passed over: their key is destroyed, or their record has
    no envelope."""
    consumer = AIOKafkaConsumer(
        **connecting(bootstrap),
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    topic = installation.topic(Topic.DEAD_LETTERS)
    places = [TopicPartition(topic, number) for number in range(installation.partitions)]
    found: list[Letter] = []
    async with within(TIMEOUT_S, "reading dead letters"):
        try:
            await consumer.start()
            consumer.assign(places)
            ends = await consumer.end_offsets(places)
            waiting = [place for place in places if ends[place]]
            while waiting:
                for records in (await consumer.getmany(*waiting, timeout_ms=200)).values():
                    for record in records:
                        headers = {name: value.decode("utf-8", "replace") for name, value in record.headers}
                        if await _claims(keyring, headers, record.value, command_id):
                            found.append(Letter(reason=headers[REASON_HEADER], origin=headers[ORIGIN_HEADER]))
                waiting = [place for place in waiting if await consumer.position(place) < ends[place]]
        finally:
            await close_in_time(consumer.stop())
    return tuple(found)


async def _claims(keyring: Keyring, headers: Mapping[str, str], sealed: bytes, command_id: CommandId) -> bool:
    place = _place(headers.get(ORIGIN_HEADER, ""))
    if place is None or KEY_HEADER not in headers or REASON_HEADER not in headers:
        return False
    try:
        cipher = await keyring.dead_letter_cipher(KeyId(headers[KEY_HEADER]))
        letter = msgspec.msgpack.decode(cipher.open(place, sealed), type=DeadLetter)
        return ENVELOPES.decode(letter.value or b"").command_id == command_id
    except (CryptoError, SchemaError, msgspec.MsgspecError) as error:
        log.debug("a dead letter cannot be looked into: %s", type(error).__name__)
        return False


def _place(origin: str) -> tuple[str | int, ...] | None:
    parts = origin.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
        return None
    return (parts[0], int(parts[1]), int(parts[2]))
