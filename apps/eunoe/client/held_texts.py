"""Opening what the log holds: with the key models past all of it, so that a key they lack is lost and not late."""

from redis.asyncio import Redis

from eunoe.crypto.errors import KeyClosed, KeyUnknown
from eunoe.crypto.keyring import Keyring
from eunoe.readmodels import keys, subjects
from eunoe.readmodels.recall.errors import KeyStillUnknown
from eunoe.readmodels.serving import Serving
from eunoe.readmodels.source import PartitionSource
from eunoe.readmodels.waiting import wait_for_position, wait_until
from eunoe.runtime.brokers import Brokers
from eunoe.runtime.installation import Installation
from eunoe.schemas.codec import BODIES
from eunoe.schemas.commands import Draft, MemoryBody
from eunoe.schemas.ids import Offset, Partition, TenantId
from eunoe.schemas.outcomes import Token
from eunoe.schemas.topics import Topic


async def keys_passed(
    brokers: Brokers, installation: Installation, redis: Redis, partition: Partition, position: Offset, timeout: float
) -> None:
    """Return once `subjects` is past ``position`` of the log and `keys` past all keys. Raises what waiting raises."""
    reached = Token(log_id=installation.log_id, partition=partition, position=position)
    await wait_until(redis, installation, subjects.NAME, reached, timeout=timeout)
    source = PartitionSource(brokers, installation, Topic.KEYS, partition, {})
    try:
        await source.start()
        _, end = await source.bounds()
    finally:
        await source.stop()
    await wait_for_position(Serving(redis, installation, keys.NAME), partition, end, timeout)


async def opened(keyring: Keyring, tenant: TenantId, draft: Draft) -> tuple[MemoryBody, int] | None:
    """The body and its bytes; None where its key was destroyed. Raises `KeyStillUnknown`, ``SealBroken``."""
    try:
        cipher = await keyring.data_cipher(tenant, draft.key_id, draft.subject, draft.generation, draft.expires_at)
    except KeyClosed:
        return None
    except KeyUnknown as error:
        raise KeyStillUnknown(tenant, draft.key_id) from error
    plain = cipher.open(draft.memory_id, draft.body_version, draft.body)
    return BODIES.decode(plain), len(plain)
