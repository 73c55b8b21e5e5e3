"""What a test sees of a shredded log: the values that are still there, by key, whoever committed them."""

from collections.abc import Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from eunoe.client.memory import Memory
from eunoe.processors.shredding.issued import keys_of_generation
from eunoe.runtime.settings import Settings
from eunoe.schemas.codec import EVENTS
from eunoe.schemas.events import Event, SubjectForgotten, SubjectRef
from eunoe.schemas.ids import KeyId, TenantId
from eunoe.schemas.outcomes import OutcomeStatus
from eunoe.schemas.topics import Topic

ACME = TenantId("acme")
SOURCE = {"kind": "user_explicit", "uri": "crm://1"}
WHERE: dict[str, Any] = {"tenant": "acme", "agent": "bot", "purposes": ["support"], "source": SOURCE, "ttl": "P30D"}
SCOPE = {"tenant": "acme", "agent": "bot", "purpose": "support"}


async def raw(settings: Settings, topic: Topic) -> list[tuple[bytes | None, bytes | None]]:
    """Everything that is in partition 0 now, uncommitted records too."""
    at = TopicPartition(settings.topics.name(topic), 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([at])
        end = (await consumer.end_offsets([at]))[at]
        await consumer.seek_to_beginning(at)
        found: list[tuple[bytes | None, bytes | None]] = []
        while await consumer.position(at) < end:
            batch = await consumer.getmany(at, timeout_ms=200)
            found += [(each.key, each.value) for each in batch.get(at, ())]
        return found
    finally:
        await consumer.stop()


async def log_of(settings: Settings) -> list[Event]:
    return [EVENTS.decode(value) for _, value in await raw(settings, Topic.LIFECYCLE) if value is not None]


async def key_values(settings: Settings) -> Mapping[KeyId, list[bytes | None]]:
    found: dict[KeyId, list[bytes | None]] = {}
    for key, value in await raw(settings, Topic.KEYS):
        found.setdefault(KeyId((key or b"").decode()), []).append(value)
    return found


async def held(settings: Settings) -> set[KeyId]:
    """The ids of which any value is still in the log."""
    return {key for key, values in (await key_values(settings)).items() if any(each is not None for each in values)}


async def forgotten(settings: Settings, officer: Memory, subject: str) -> frozenset[KeyId]:
    """The keys of the subject that has just been forgotten, from the log."""
    outcome = await officer.forget_subject(subject, tenant="acme")
    assert outcome.status is OutcomeStatus.DONE
    events = await log_of(settings)
    fact = next(each.fact for each in reversed(events) if isinstance(each.fact, SubjectForgotten))
    return keys_of_generation(events, ACME, SubjectRef(subject=fact.subject, generation=fact.generation)).all


async def gone(settings: Settings, keys: frozenset[KeyId]) -> bool:
    """Whether no value of any of them is left in the log."""
    return not keys & await held(settings)
